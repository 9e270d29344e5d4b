"""Health checks as figures. One plain gauge for the alert; what tells checks apart has other names.

Sums over a gauge with and without labels would count twice (gaps.md 7).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from health_app.metrics.figures import Family, Figure
from health_app.metrics.sources import Sources

_FAILING: Final = Family("health_checks_failing", "Health checks that fail.")
_FAILING_OF_TAG: Final = Family(
    "health_checks_failing_of_tag", "Health checks with a tag that fail.", labels=("tag",)
)
_FAILS: Final = Family("health_check_fails", "Whether a health check fails.", labels=("check",))
_RUN: Final = Family(
    "health_check_duration_seconds", "Time that the last run of a check took.", labels=("check",)
)
_CONTIGUOUS: Final = Family(
    "health_check_contiguous_failures", "Runs of a check that failed in a row.", labels=("check",)
)


def read(sources: Sources) -> Iterator[Figure]:
    """Walk the results of the checks that this process runs; nothing where it runs none."""
    if sources.checks is None:
        return
    states = sources.checks()
    yield _FAILING.of(sum(state.fails for state in states))
    by_tag = Counter({tag: 0 for state in states for tag in state.tags})
    by_tag.update(tag for state in states if state.fails for tag in state.tags)
    for tag, failing in sorted(by_tag.items()):
        yield _FAILING_OF_TAG.of(failing, tag)
    for state in states:
        yield _FAILS.of(state.fails, state.name)
        yield _RUN.of(state.seconds, state.name)
        yield _CONTIGUOUS.of(state.contiguous_failures, state.name)

"""Health as figures: the plain gauge of the alert, and what tells checks and tags apart."""

from health_app.metrics import health
from health_app.metrics.sources import CheckState, Sources

STATES = [
    CheckState("C", frozenset({"all", "chain"}), fails=True, seconds=0.25, contiguous_failures=3),
    CheckState("P", frozenset({"all", "chain"}), fails=False, seconds=0.5, contiguous_failures=0),
    CheckState("router", frozenset({"all", "application"}), False, 0.0, 0),
]


def figures(sources: Sources) -> dict[str, float]:
    return {
        one.family.full_name + "".join(f"/{label}" for label in one.labels): float(one.value)
        for one in health.read(sources)
    }


def test_a_process_that_runs_no_checks_says_nothing_of_them() -> None:
    assert figures(Sources()) == {}


def test_the_plain_gauge_counts_each_failing_check_once() -> None:
    sources = Sources()
    sources.checks = lambda: STATES
    found = figures(sources)
    assert found["svc_health_checks_failing"] == 1
    assert found["svc_health_checks_failing_of_tag/all"] == 1
    assert found["svc_health_checks_failing_of_tag/chain"] == 1
    assert found["svc_health_checks_failing_of_tag/application"] == 0
    assert [found[f"svc_health_check_fails/{name}"] for name in ("C", "P", "router")] == [1, 0, 0]
    assert found["svc_health_check_duration_seconds/P"] == 0.5
    assert found["svc_health_check_contiguous_failures/C"] == 3

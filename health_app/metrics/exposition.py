"""The page at /ext/metrics, put together from all that is known of the node's processes and rows."""

from collections.abc import Iterator
from functools import cache

from prometheus_client import REGISTRY, disable_created_metrics, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from typing_extensions import override

from health_app.metrics import counted, files, health, machine, shared
from health_app.metrics.figures import PREFIX, metrics
from health_app.metrics.rows import Reader
from health_app.metrics.sources import SOURCES

# A series more for each figure, that nobody reads.
disable_created_metrics()  # type: ignore[no-untyped-call]


def exposition() -> tuple[str, bytes]:
    """Return content type and text of the page. It may wait for the database: for a thread."""
    return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(_Page())


class _Page(Collector):
    """Everything, in the client library's form."""

    @override
    def collect(self) -> Iterator[Metric]:
        yield from metrics([*health.read(SOURCES), *machine.build(), *_reader().figures()])
        yield from _processes()
        yield from machine.processes()


def _processes() -> Iterator[Metric]:
    """Walk what the processes have counted: all of them, or the one that there is."""
    place = files.directory()
    if place is not None:
        shared.write()
        yield from shared.read(place)
        return
    figures = [one for one in counted.read(SOURCES) if one.family is not counted.OLDEST_CALL]
    yield from metrics([*figures, counted.LONGEST_CALL.of(SOURCES.router()[1])])
    yield from (one for one in REGISTRY.collect() if one.name.startswith(PREFIX))


@cache
def _reader() -> Reader:
    return Reader()

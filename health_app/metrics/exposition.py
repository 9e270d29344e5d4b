"""The page at /ext/metrics, assembled from the counts of the node's processes and from the database."""

import platform
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import django
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django_prometheus.middleware import (  # type: ignore[import-untyped]
    PrometheusAfterMiddleware,
    PrometheusBeforeMiddleware,
)
from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from typing_extensions import override

from cchain_app.apps import evm_chain
from health_app.metrics.instruments import NAMESPACE, gauge, grouped
from health_app.metrics.rows import RowCounts
from health_app.metrics.sharing import Alone, Process, SharedProcesses
from health_app.result import CheckResult
from info_app.version import COMMIT, PRODUCT

_NANOSECONDS: Final = 1_000_000_000

Checks = Callable[[], tuple[Mapping[str, CheckResult], Mapping[str, Collection[str]]]]
"""Returns the results of this process's health checks, and their tags, both by name."""


class MetricsCollector(Collector):
    """All metrics as a collector of the client library.

    Args:
        processes: The counts of the processes.
        rows: Reads metrics from the database.
        checks: Returns the results of the health checks.
    """

    def __init__(self, processes: Alone | SharedProcesses, rows: RowCounts, checks: Checks) -> None:
        self._processes = processes
        self._rows = rows
        self._checks = checks

    def text(self) -> tuple[str, bytes]:
        """Return content type and text of the page. It may wait for the database, so call it in a thread."""
        return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self)

    @override
    def collect(self) -> Iterator[Metric]:
        yield from grouped([*of_checks(*self._checks()), *of_build(), *self._rows.metrics()])
        yield from self._processes.collect()
        yield from grouped(of_processes(self._processes.living()))


def of_checks(
    results: Mapping[str, CheckResult], tags: Mapping[str, Collection[str]]
) -> Iterator[Metric]:
    """Yield the results of health checks: one gauge without labels for alerts, gauges with labels under other names.

    A sum over a gauge with and without labels would count twice (gaps.md 7).
    """
    yield gauge("health_checks_failing", sum(not result.healthy for result in results.values()))
    failing = Counter({tag: 0 for name in results for tag in tags[name]})
    failing.update(
        tag for name, result in results.items() if not result.healthy for tag in tags[name]
    )
    for tag, number in sorted(failing.items()):
        yield gauge("health_checks_failing_of_tag", number, tag=tag)
    for name, result in results.items():
        yield gauge("health_check_fails", not result.healthy, check=name)
        yield gauge("health_check_duration_seconds", result.duration / _NANOSECONDS, check=name)
        yield gauge("health_check_contiguous_failures", result.contiguous_failures, check=name)


def of_build() -> Iterator[Metric]:
    """Yield versions and settings as labels of a gauge that is always 1."""
    node = settings.NODE
    yield gauge(
        "build_info",
        1,
        version=PRODUCT.rpartition("/")[2],
        commit=COMMIT,
        python=platform.python_version(),
        django=django.get_version(),
        engine=evm_chain().engine.name,
        database=connection.vendor,
        profile=node.common.profile,
        network_id=str(node.common.network_id),
    )


def of_processes(living: Iterable[Process]) -> Iterator[Metric]:
    """Yield the operating system's metrics of each process of the node, with role and pid as labels."""
    for role, pid in living:
        collector = ProcessCollector(NAMESPACE, pid=lambda pid=pid: pid, registry=None)  # type: ignore[misc]
        for metric in collector.collect():
            labels = {"role": role, "pid": str(pid)}
            metric.samples = [sample._replace(labels=labels) for sample in metric.samples]
            yield metric


class BeforeMiddleware(PrometheusBeforeMiddleware):  # type: ignore[misc]  # untyped
    """Outermost middleware: measures a request including all other middleware."""


class After(PrometheusAfterMiddleware):  # type: ignore[misc]  # untyped
    """Innermost middleware: measures the view."""

    @override
    def label_metric(
        self, metric: Any, request: HttpRequest, response: HttpResponse | None = None, **labels: str
    ) -> Any:
        """Return a metric's child with these labels.

        The base class would create a series for any word that a client sends as the HTTP method.
        """
        if "method" in labels:
            labels["method"] = self._method(request)
        return super().label_metric(metric, request, response, **labels)

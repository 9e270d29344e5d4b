"""Memory, processor time and files of the node's processes, and what the node is made of."""

import platform
from collections.abc import Iterator
from functools import cache
from typing import Final

import django
from django.conf import settings
from django.db import connection
from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from cchain_app.apps import evm_chain
from health_app.metrics import shared
from health_app.metrics.figures import Family, Figure
from info_app.commit import COMMIT
from info_app.version import PRODUCT

_BUILD: Final = Family(
    "build_info",
    "What the node is made of.",
    labels=("version", "commit", "python", "django", "engine", "database", "profile", "network_id"),
)
_LABELS: Final = ("role", "pid")


def build() -> Iterator[Figure]:
    """Return versions and choices as labels of a figure that is always 1."""
    yield _BUILD.of(1, *_parts())


@cache
def _parts() -> tuple[str, ...]:
    node = settings.NODE
    return (
        PRODUCT.rpartition("/")[2], COMMIT, platform.python_version(), django.get_version(),
        evm_chain().engine.name, connection.vendor, node.profile, str(node.network_id),
    )  # fmt: skip


def processes() -> list[Metric]:
    """Return what the system says of each process of the node, told apart by labels."""
    found: dict[str, Metric] = {}
    for one in shared.processes():
        collector = ProcessCollector("svc", pid=lambda pid=one.pid: pid, registry=None)  # type: ignore[misc]
        for metric in collector.collect():
            _add(found, metric, (one.role, str(one.pid)))
    return list(found.values())


def _add(found: dict[str, Metric], metric: Metric, labels: tuple[str, str]) -> None:
    made = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
    labelled = found.setdefault(
        metric.name, made(metric.name, metric.documentation, labels=_LABELS)
    )
    assert isinstance(labelled, CounterMetricFamily | GaugeMetricFamily)
    for sample in metric.samples:
        labelled.add_metric(labels, sample.value)

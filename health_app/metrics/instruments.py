"""Metrics of one process that count events, and metrics that are read when monitoring asks."""

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.utils import floatToGoString

from health_app.metrics.catalogue import HELP
from jsonrpc.dispatch.tally import BOUNDS, Durations

NAMESPACE: Final = "svc"
"""The prefix of each name."""

# Without this every metric would have an additional `_created` series that has no use.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Total(Counter):
    """A counter that follows a total which is counted elsewhere."""

    _reached = 0.0

    def reach(self, total: float) -> None:
        """Add the increase since the last call; a total that fell has been reset to 0 in between."""
        self.inc(total - self._reached if total >= self._reached else total)
        self._reached = total


class TalliedHistogram(Histogram):
    """A histogram that follows a tally with the same bounds."""

    _reached: Sequence[float] = ()

    def reach(self, durations: Durations) -> None:
        """Add the observations since the last call."""
        totals = (*durations.counts, durations.seconds)
        before = self._reached or (0.0,) * len(totals)
        for value, total, reached in zip((*self._buckets, self._sum), totals, before, strict=True):
            if total != reached:
                value.inc(total - reached)
        self._reached = totals


class Instruments:
    """Counters, gauges and histograms by name; each is created, and appears on the page, on its first use."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}

    def counter(self, name: str, /, **labels: str) -> Total:
        """Return a counter."""
        counter: Total = self._of(Total, name, labels)
        return counter

    def gauge(self, name: str, /, *, mode: str = "livesum", **labels: str) -> Gauge:
        """Return a gauge; `mode` is the client library's rule for combining the values of several processes."""
        gauge: Gauge = self._of(Gauge, name, labels, multiprocess_mode=mode)
        return gauge

    def histogram(
        self, name: str, bounds: Sequence[float] = BOUNDS, /, **labels: str
    ) -> TalliedHistogram:
        """Return a histogram with these upper bounds, in seconds."""
        histogram: TalliedHistogram = self._of(TalliedHistogram, name, labels, buckets=bounds)
        return histogram

    def _of(self, kind: Any, name: str, labels: dict[str, str], **options: Any) -> Any:
        with self._lock:
            metric = self._made.get(name)
            if metric is None:
                options |= {"namespace": NAMESPACE, "registry": self.registry}
                metric = self._made[name] = kind(name, HELP[name], tuple(labels), **options)
        return metric.labels(*labels.values()) if labels else metric


def gauge(name: str, value: float, /, **labels: str) -> Metric:
    """Return a metric with a value that was read now."""
    family = GaugeMetricFamily(f"{NAMESPACE}_{name}", HELP[name], labels=tuple(labels))
    family.add_metric(tuple(labels.values()), value)
    return family


def counter(name: str, value: float, /, **labels: str) -> Metric:
    """Return a metric with a value that was read now and only increases."""
    family = CounterMetricFamily(f"{NAMESPACE}_{name}", HELP[name], labels=tuple(labels))
    family.add_metric(tuple(labels.values()), value)
    return family


def summary(name: str, count: int, total: float, /, **labels: str) -> Metric:
    """Return a metric with a number of observations and their sum, read now; both only increase."""
    family = SummaryMetricFamily(f"{NAMESPACE}_{name}", HELP[name], labels=tuple(labels))
    family.add_metric(tuple(labels.values()), count, total)
    return family


def histogram(
    name: str, bounds: Sequence[float], counts: Sequence[int], total: float, /, **labels: str
) -> Metric:
    """Return a metric with observations counted per bucket, and their sum, read now.

    There is one more count than there are bounds: the last one counts observations above the last bound.
    """
    family = HistogramMetricFamily(f"{NAMESPACE}_{name}", HELP[name], labels=tuple(labels))
    format_bound: Callable[[float], str] = floatToGoString
    ends = (*map(format_bound, bounds), "+Inf")
    buckets = list(zip(ends, accumulate(counts), strict=True))
    family.add_metric(tuple(labels.values()), buckets, total)
    return family


def grouped(metrics: Iterable[Metric]) -> list[Metric]:
    """Return one metric per name with all of its samples, because a name may appear only once on the page."""
    families: dict[str, Metric] = {}
    for metric in metrics:
        family = families.setdefault(
            metric.name, Metric(metric.name, metric.documentation, metric.type)
        )
        family.samples.extend(metric.samples)
    return list(families.values())

"""Figures before they are Prometheus' text: what they are called, and how several processes' add up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final, NamedTuple

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

from jsonrpc.tally import BOUNDS, Durations

PREFIX: Final = "svc_"


class Kind(StrEnum):
    """What a figure is to Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Across(StrEnum):
    """What the gauges of several processes make together, in the words of the client library."""

    SUM = "livesum"
    """Of the processes that live."""
    LEAST = "livemin"
    """Of the processes that live."""
    LATEST = "max"
    """Of all that ever were: for moments of time."""


@dataclass(frozen=True, slots=True)
class Family:
    """A figure's name, without prefix and `_total`, and what it means; labels tell its values apart."""

    name: str
    meaning: str
    kind: Kind = Kind.GAUGE
    labels: tuple[str, ...] = ()
    across: Across = Across.SUM
    bounds: tuple[float, ...] = BOUNDS
    """Of a histogram, in seconds."""

    @property
    def full_name(self) -> str:
        """The name as Prometheus knows it, but for the ending of counters."""
        return PREFIX + self.name

    @property
    def limits(self) -> tuple[str, ...]:
        """A histogram's upper bounds as they stand in the label `le`."""
        return (*map(floatToGoString, self.bounds), "+Inf")

    def of(self, value: float, *labels: str) -> "Figure":
        """Return one of its values."""
        return Figure(self, labels, value)

    def took(self, durations: Durations, *labels: str) -> "Figure":
        """Return one of a histogram's values."""
        return Figure(self, labels, durations)


class Figure(NamedTuple):
    """One value of a family."""

    family: Family
    labels: tuple[str, ...]
    """Their values, in the family's order."""
    value: float | Durations


def metrics(figures: Iterable[Figure]) -> list[Metric]:
    """Return figures in the client library's form, those of a family together."""
    found: dict[Family, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.family, []).append(figure)
    return [_metric(family, values) for family, values in found.items()]


def _metric(family: Family, figures: Sequence[Figure]) -> Metric:
    if family.kind is Kind.HISTOGRAM:
        return _histogram(family, figures)
    made = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = made(family.full_name, family.meaning, labels=family.labels)
    for figure in figures:
        assert not isinstance(figure.value, Durations)
        metric.add_metric(figure.labels, figure.value)
    return metric


def _histogram(family: Family, figures: Sequence[Figure]) -> Metric:
    metric = HistogramMetricFamily(family.full_name, family.meaning, labels=family.labels)
    for figure in figures:
        assert isinstance(figure.value, Durations)
        buckets = list(zip(family.limits, accumulate(figure.value.counts), strict=True))
        metric.add_metric(figure.labels, buckets, figure.value.seconds)
    return metric

"""Writes a process's figures into files that all processes of the node can read.

The files are those of the client library's multiprocess mode. What is written are differences, once
a second, so that nothing that is counted waits for a file.
"""

import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from prometheus_client import values

from health_app.metrics.figures import Across, Family, Figure, Kind
from jsonrpc.tally import Durations

_Key = tuple[str, tuple[str, ...]]

_NOTHING: Final[Mapping[Across, float]] = {Across.SUM: 0.0, Across.LEAST: math.inf}
"""What a gauge that a process does not have any more adds to those of the others. The latest moment
of something that once was stays what it is."""


class _Gauge(NamedTuple):
    """A number in the files that goes up and down."""

    value: Any
    across: Across

    def leave(self) -> None:
        """Say that there is no such figure in this process any more."""
        if self.across in _NOTHING:
            self.value.set(_NOTHING[self.across])


class _Rising:
    """A number in the files that only rises."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._written = 0.0

    def reach(self, total: float) -> None:
        """Add what has come since the last time; a total that fell was counted anew from 0."""
        more = total - self._written if total >= self._written else total
        if more:
            self._value.inc(more)
        self._written = total


class Ledger:
    """The present process's part of the files. After a fork the child makes a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rising: dict[_Key, list[_Rising]] = {}
        self._gauges: dict[_Key, _Gauge] = {}

    def write(self, figures: Iterable[Figure]) -> None:
        """Bring the files up to date; gauges that are not there any more say nothing."""
        with self._lock:
            gone = set(self._gauges)
            for figure in figures:
                family, labels, value = figure
                if family.kind is Kind.GAUGE:
                    gone.discard((family.name, labels))
                    self._gauge(figure).value.set(value)
                    continue
                totals = _totals(value)
                for rising, total in zip(self._of(figure), totals, strict=True):
                    rising.reach(total)
            for key in gone:
                self._gauges[key].leave()

    def _gauge(self, figure: Figure) -> _Gauge:
        family, labels, _ = figure
        key = (family.name, labels)
        found = self._gauges.get(key)
        if found is None:
            mode = family.across.value
            value = _value(family, family.full_name, family.labels, labels, multiprocess_mode=mode)
            found = self._gauges[key] = _Gauge(value, family.across)
        return found

    def _of(self, figure: Figure) -> list[_Rising]:
        family, labels, _ = figure
        key = (family.name, labels)
        found = self._rising.get(key)
        if found is None:
            found = self._rising[key] = [_Rising(one) for one in _values(family, labels)]
        return found


def _totals(value: float | Durations) -> tuple[float, ...]:
    """Return what the numbers of a figure have risen to: of a histogram ranges, then seconds."""
    return (*value.counts, value.seconds) if isinstance(value, Durations) else (value,)


def _values(family: Family, labels: tuple[str, ...]) -> Iterator[Any]:
    if family.kind is Kind.COUNTER:
        yield _value(family, f"{family.full_name}_total", family.labels, labels)
        return
    for limit in family.limits:
        yield _value(family, f"{family.full_name}_bucket", (*family.labels, "le"), (*labels, limit))
    yield _value(family, f"{family.full_name}_sum", family.labels, labels)


def _value(
    family: Family, name: str, names: tuple[str, ...], labels: tuple[str, ...], **mode: str
) -> Any:
    return values.ValueClass(
        family.kind.value, family.full_name, name, names, labels, family.meaning, **mode
    )

"""The verdict of a soak: measured figures with their bars, and whether all pass."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import NamedTuple

from benchmarks.report import NOTHING, number

MAX_GROWTH = 0.05
"""Maximum growth of memory as a fraction, from the first minute to the end."""
MAX_DELAY = 0.25
"""Maximum seconds of 99 % of the notifications."""


@dataclass(frozen=True, slots=True)
class SentTransactions:
    """Transactions of one chain."""

    chain: str
    accepted: int
    """Transactions that the node admitted."""
    found: Counter[str]
    """How often each of these is in a block."""
    strangers: int = 0
    """Transactions in blocks that no client sent."""

    @property
    def lost(self) -> int:
        """Transactions that are in no block."""
        return self.accepted - len(self.found)

    @property
    def doubled(self) -> int:
        """Additional occurrences of transactions in blocks."""
        return self.found.total() - len(self.found) + self.strangers


@dataclass(frozen=True, slots=True)
class SoakResult:
    """All measured values."""

    seconds: float
    sent: Sequence[SentTransactions]
    subscribers: int
    blocks: int
    """C-Chain blocks during the subscriptions."""
    lost: int
    """Lost notifications."""
    doubled: int
    """Repeated notifications."""
    delays: Sequence[float]
    """Seconds of each notification, sorted."""
    reads: Sequence[float]
    """Seconds of each call, sorted."""
    pages: Sequence[float]
    """Seconds of each page, sorted."""
    errors: Counter[str]
    memory_early: int
    """Bytes."""
    memory_late: int
    """Bytes."""

    @property
    def growth(self) -> float:
        """The fraction by which memory has grown."""
        return self.memory_late / self.memory_early - 1


class Figure(NamedTuple):
    """A row of the table."""

    title: str
    value: str
    bar: str = ""
    passed: bool = True


def percentile(ordered: Sequence[float], part: float) -> float:
    """Return the value that this fraction of a sorted sequence does not exceed; infinite if it is empty."""
    return ordered[max(0, ceil(len(ordered) * part) - 1)] if ordered else inf


def figures(soaked: SoakResult) -> Iterator[Figure]:
    """Yield the rows of the table."""
    yield Figure("Duration, s", number(soaked.seconds))
    for item in soaked.sent:
        rate = f"{item.accepted:,} ({number(item.accepted / soaked.seconds)} a second)"
        yield Figure(f"{item.chain}: transactions", rate, "> 0", item.accepted > 0)
        yield zero(f"{item.chain}: lost", item.lost)
        yield zero(f"{item.chain}: doubled", item.doubled)
    wanted = soaked.blocks * soaked.subscribers
    yield Figure(
        f"newHeads of {soaked.blocks:,} blocks to {soaked.subscribers:,} subscribers",
        f"{wanted - soaked.lost + soaked.doubled:,}", "> 0", wanted > 0,
    )  # fmt: skip
    yield zero("Notifications: lost", soaked.lost)
    yield zero("Notifications: doubled", soaked.doubled)
    yield _delay("Notification, p50, ms", soaked.delays, 0.5)
    slow = percentile(soaked.delays, 0.99)
    yield _delay("Notification, p99, ms", soaked.delays, 0.99)._replace(
        bar=f"< {MAX_DELAY * 1e3:.0f}", passed=slow < MAX_DELAY
    )
    yield _delay(f"Answer to one of {len(soaked.reads):,} calls, p50, ms", soaked.reads, 0.5)
    yield _delay(f"One of {len(soaked.pages):,} pages of the explorer, p50, ms", soaked.pages, 0.5)
    yield _delay("The same, p99, ms", soaked.pages, 0.99)
    yield zero("Errors", soaked.errors.total())
    yield Figure("Memory after a minute, MiB", number(soaked.memory_early / 2**20))
    yield Figure("Memory in the end, MiB", number(soaked.memory_late / 2**20))
    yield Figure(
        "Growth of memory", f"{100 * soaked.growth:.1f} %", f"< {100 * MAX_GROWTH:.0f} %",
        soaked.growth < MAX_GROWTH,
    )  # fmt: skip


def passes(soaked: SoakResult) -> bool:
    """Return whether every bar is passed."""
    return all(figure.passed for figure in figures(soaked))


def markdown(soaked: SoakResult, machine: Sequence[str]) -> str:
    """Return the table, the errors by kind and the machine as Markdown."""
    head = [*(f"- {item}" for item in machine), ""]
    return "\n".join([*head, *table(figures(soaked)), "", *errors(soaked.errors)]).rstrip() + "\n"


def table(rows: Iterable[Figure]) -> Iterator[str]:
    """Yield the lines of a table of figures."""
    yield "| Figure | Value | Bar |"
    yield "| --- | ---: | ---: |"
    for row in rows:
        yield f"| {row.title} | {row.value} | {f'{row.bar} {_mark(row)}' if row.bar else NOTHING} |"


def errors(counts: Counter[str]) -> Iterator[str]:
    """Yield a line for each kind of error, the most frequent one first."""
    for kind, count in counts.most_common():
        yield f"- {count:,} × {kind}"


def _mark(figure: Figure) -> str:
    return "✓" if figure.passed else "✗"


def zero(title: str, count: int) -> Figure:
    """Return the row of a count that has to be 0."""
    return Figure(title, f"{count:,}", "0", count == 0)


def _delay(title: str, ordered: Sequence[float], part: float) -> Figure:
    return Figure(title, number(percentile(ordered, part) * 1e3) if ordered else NOTHING)

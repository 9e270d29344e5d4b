"""The verdict of a day in virtual time: the costs of each hour, and a comparison of the last hours with earlier ones."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.report import NOTHING, number
from benchmarks.soak_verdict import (
    Figure,
    SentTransactions,
    errors,
    percentile,
    table,
    zero,
)

MAX_DAY_GROWTH = 0.02
"""Maximum growth of memory as a fraction, from the end of the settled hours to the end of the day."""
MAX_SLOWER = 1.25
"""How many times as long the slowest hundredth of the reads, and a block, may take in the last third of the hours."""
SETTLED = 0.25
"""The fraction of the day after which the node's caches are full."""
MAX_DISK_ERROR = 0.15
"""Maximum difference of the growth on disk from the document, as a fraction."""


class HourSample(NamedTuple):
    """The state of the node at the end of an hour, and the times of the requests in that hour."""

    blocks: int
    """C-Chain blocks since the beginning."""
    memory: int
    """Bytes, without pages of files."""
    mapped: int
    """Bytes of pages of files: programs, and the part of the database that is mapped."""
    disk: int
    """Bytes of the data directory."""
    processor: float
    """Seconds of the node's processor time since the beginning."""
    reads: Sequence[float]
    """Seconds of each read of the hour, sorted."""
    pages: Sequence[float]
    """Seconds of each page of the hour, sorted."""


class DiskPrediction(NamedTuple):
    """The disk space of the load according to the document."""

    document: str
    per_block: float
    """Bytes of a block with the day's transactions."""


@dataclass(frozen=True, slots=True)
class SoakedDay:
    """All measured values of a day."""

    hours: Sequence[HourSample]
    """The first is the state before the load."""
    sent: Sequence[SentTransactions]
    subscribers: int
    lost: int
    doubled: int
    """Lost and repeated notifications."""
    errors: Counter[str]
    prediction: DiskPrediction

    @property
    def settled(self) -> int:
        """The index of the first sample after the caches are full."""
        return max(1, round((len(self.hours) - 1) * SETTLED))

    @property
    def growth(self) -> float:
        """The fraction by which memory has grown since the caches were full."""
        return self.hours[-1].memory / self.hours[self.settled].memory - 1

    @property
    def disk_per_block(self) -> float:
        """Bytes of disk for each block since the caches were full."""
        first, last = self.hours[self.settled], self.hours[-1]
        return (last.disk - first.disk) / (last.blocks - first.blocks)

    def thirds(self) -> tuple[Sequence[HourSample], Sequence[HourSample]]:
        """Return the first and the last third of the hours since the caches were full."""
        after = self.hours[self.settled :]
        size = max(1, len(after) // 3)
        return after[:size], after[-size:]

    def slower(self) -> float:
        """Return how many times as long the slowest hundredth of the reads takes in the last third of the hours."""
        first, last = ([time for hour in third for time in hour.reads] for third in self.thirds())
        return percentile(sorted(last), 0.99) / percentile(sorted(first), 0.99)

    def dearer(self) -> float:
        """Return how many times as much processor time a block takes in the last third of the hours."""
        size = len(self.thirds()[0])
        return _per_block(self.hours[-size - 1], self.hours[-1]) / _per_block(
            self.hours[self.settled], self.hours[self.settled + size]
        )


def day_figures(day: SoakedDay) -> Iterator[Figure]:
    """Yield the rows of the table with the bars."""
    last, said = day.hours[-1], day.prediction
    yield Figure("Blocks of the C-Chain", f"{last.blocks:,}")
    for chain in day.sent:
        yield Figure(
            f"{chain.chain}: transactions", f"{chain.accepted:,}", "> 0", chain.accepted > 0
        )
        yield zero(f"{chain.chain}: lost", chain.lost)
        yield zero(f"{chain.chain}: doubled", chain.doubled)
    yield zero(f"Notifications to {day.subscribers} subscribers: lost", day.lost)
    yield zero("Notifications: doubled", day.doubled)
    yield Figure("Calls", f"{sum(len(hour.reads) for hour in day.hours):,}")
    yield Figure("Pages of the explorer", f"{sum(len(hour.pages) for hour in day.hours):,}")
    yield zero("Errors", day.errors.total())
    yield Figure(
        "Growth of memory since the caches are full", f"{100 * day.growth:.1f} %",
        f"< {100 * MAX_DAY_GROWTH:.0f} %", day.growth < MAX_DAY_GROWTH,
    )  # fmt: skip
    yield _times("Read, p99, last third of the hours ÷ first", day.slower())
    yield _times("Processor time of a block, likewise", day.dearer())
    difference = day.disk_per_block / said.per_block - 1
    yield Figure(
        f"Disk for a block, kB ({said.document}: {said.per_block / 1e3:.2f})",
        f"{day.disk_per_block / 1e3:.2f}",
        f"± {100 * MAX_DISK_ERROR:.0f} %", abs(difference) <= MAX_DISK_ERROR,
    )  # fmt: skip


def day_passes(day: SoakedDay) -> bool:
    """Return whether every bar is passed."""
    return all(figure.passed for figure in day_figures(day))


def day_markdown(day: SoakedDay, machine: Sequence[str]) -> str:
    """Return the bars, the errors by kind and the hours as Markdown."""
    head = [*(f"- {item}" for item in machine), ""]
    failed = [*errors(day.errors)]
    lines = [*head, *table(day_figures(day)), "", *failed, *([""] if failed else []), *_hours(day)]
    return "\n".join(lines).rstrip() + "\n"


def _hours(day: SoakedDay) -> Iterator[str]:
    """Yield the lines of the table of hours."""
    yield (
        "| Blocks | Memory, MiB | Mapped files, MiB | Disk, MB | Processor for a block, ms "
        "| Read, p50, ms | p99 | Page, p50, ms | p99 |"
    )
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for before, hour in zip(day.hours, day.hours[1:], strict=False):
        cells = [
            f"{hour.blocks:,}",
            *(number(size / 2**20) for size in (hour.memory, hour.mapped)),
            number(hour.disk / 1e6),
            number(_per_block(before, hour) * 1e3),
            *(
                number(percentile(times, part) * 1e3) if times else NOTHING
                for times in (hour.reads, hour.pages)
                for part in (0.5, 0.99)
            ),
        ]
        yield f"| {' | '.join(cells)} |"


def _per_block(first: HourSample, last: HourSample) -> float:
    return (last.processor - first.processor) / (last.blocks - first.blocks)


def _times(title: str, times: float) -> Figure:
    return Figure(title, number(times), f"≤ {MAX_SLOWER}", times <= MAX_SLOWER)

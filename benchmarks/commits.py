"""Commit times of blocks, observed by a separate process in the nodes' databases, on one clock.

A row becomes visible to others when its transaction is committed. The nodes get no requests, and
delays of their interfaces are not measured. `python -m benchmarks.commits FILE …` watches until it is
terminated.
"""

import signal
import sqlite3
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.node import ROOT

PERIOD = 0.0005
"""Seconds between two polls. An observed time is late by at most this, on all nodes alike."""
DATABASE = "node.sqlite3"
HEADS = {
    "P": "SELECT max(height) FROM platform_app_block",
    "C": "SELECT max(number) FROM cchain_app_block",
}


class HeadWatch:
    """The heads of a node's chains in its database."""

    def __init__(self, directory: Path) -> None:
        """Open a node's database, which may appear later.

        Args:
            directory: The node's data directory.
        """
        self._path = directory / DATABASE
        self._connection: sqlite3.Connection | None = None
        self._version = -1

    def read(self) -> dict[str, int]:
        """Return the heights of the chains that have a block; empty while there are no tables."""
        try:
            return {
                chain: height
                for chain, question in HEADS.items()
                if (height := self._ask(question)) is not None
            }
        except sqlite3.OperationalError:  # no file or no tables yet
            return {}

    def news(self) -> dict[str, int]:
        """Return the heights if anything was committed since the last call, else nothing."""
        with suppress(sqlite3.OperationalError):
            version = self._ask("PRAGMA data_version")
            if version != self._version and (heads := self.read()):
                self._version = version or 0
                return heads
        return {}

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()

    def _ask(self, question: str) -> int | None:
        if self._connection is None:
            self._connection = sqlite3.connect(
                f"file:{self._path}?mode=ro", uri=True, isolation_level=None
            )
        ((answer,),) = self._connection.execute(question).fetchall()
        return None if answer is None else int(answer)


@dataclass(slots=True)
class ChainHeights:
    """ChainHeights of one chain on one node: heights, and when each was first seen."""

    heights: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """Times of `time.perf_counter`."""

    def reached(self, height: int) -> float:
        """Return when a height was reached."""
        return self.times[bisect_left(self.heights, height)]

    @property
    def head(self) -> int:
        """The last height that was seen."""
        return self.heights[-1]


@dataclass(slots=True)
class CommitWatch:
    """Observations of a completed watch, by index of the node and by chain."""

    growth: dict[tuple[int, str], ChainHeights] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Parse a line of the watching process about one commit."""
        node, chain, height, seen = line.split()
        growth = self.growth.setdefault((int(node), chain), ChainHeights())
        growth.heights.append(int(height))
        growth.times.append(float(seen))


@contextmanager
def watching(directories: Sequence[Path]) -> Iterator[CommitWatch]:
    """Watch the nodes' databases; the observations are available at the end of the body."""
    watch = CommitWatch()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.commits", *map(str, directories)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()  # the process is ready
        yield watch
    finally:
        process.terminate()
        for line in process.communicate()[0].splitlines():
            watch.take(line)


def main() -> None:
    """Watch until SIGTERM, then print the observations."""
    nodes = [HeadWatch(Path(name)) for name in sys.argv[1:]]
    seen: list[tuple[int, str, int, float]] = []
    last: dict[tuple[int, str], int] = {}
    ended = False

    def end(_signal: int, _frame: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)

    def poll() -> None:
        for place, node in enumerate(nodes):
            heads = node.news()
            now = time.perf_counter()
            for chain, height in heads.items():
                if height > last.get((place, chain), -1):
                    last[place, chain] = height
                    seen.append((place, chain, height, now))

    print("watching", flush=True)
    while not ended:
        poll()
        time.sleep(PERIOD)
    poll()  # do not miss commits that other processes have seen already
    for place, chain, height, moment in seen:
        print(place, chain, height, moment)


if __name__ == "__main__":
    main()

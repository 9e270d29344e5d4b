"""The nodes of the network rows: a producer, with or without a history, and a node that joins it."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.node import DATA_DIR, NODE, seed
from benchmarks.server import Kind, Server

STAKING_PORT = "NODE_STAKING_PORT"


@dataclass(frozen=True, slots=True)
class History:
    """Blocks that a producer has made before another node joins."""

    empty: int
    """Empty C-Chain blocks."""
    light: int
    """C-Chain blocks with some transfers."""
    transfers: int
    """Transfers in each of these."""
    platform: int
    """P-Chain blocks with payments."""
    payments: int
    """Payments in each of these."""


@dataclass(frozen=True, slots=True)
class SeededBlocks:
    """Similar blocks of one chain: those above `low`, up to `high`."""

    chain: str
    low: int
    high: int
    transactions: int
    seconds: float
    """Seconds that their production took: admitting the transactions and building the blocks."""
    processor: float
    """Seconds of processor time that their production took."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.high - self.low

    @property
    def each(self) -> int:
        """Transactions in each block."""
        return self.transactions // self.blocks


class SeededTimings(NamedTuple):
    """How a history was produced."""

    empty: SeededBlocks
    light: SeededBlocks
    platform: SeededBlocks

    @property
    def heads(self) -> dict[str, int]:
        """The heights of the chains at the end of the history."""
        return {"P": self.platform.high, "C": self.light.high}


def past(history: History) -> SeededTimings:
    """Return how a history was produced. It is produced once in a run."""
    stretches = json.loads((_made(history) / "made.json").read_text())
    return SeededTimings(*(SeededBlocks(**item) for item in stretches))


def producer(history: History) -> Kind:
    """Return a node on a copy of the history."""

    def fill(environment: Mapping[str, str]) -> None:
        shutil.copytree(_made(history) / "data", environment[DATA_DIR], dirs_exist_ok=True)

    return replace(NODE, fill=fill)


def joiner(followed: Server) -> Kind:
    """Return a node with an empty data directory and the address of another node."""

    def environment(port: int, scratch: Path) -> Mapping[str, str]:
        bootstrap = f"127.0.0.1:{followed.environment[STAKING_PORT]}"
        return {**NODE.environment(port, scratch), "NODE_BOOTSTRAP": bootstrap}

    return replace(NODE, environment=environment)


def data_directory(server: Server) -> Path:
    """Return a node's data directory."""
    return Path(server.environment[DATA_DIR])


@cache
def _made(history: History) -> Path:
    """Return a directory with the data of a history and its timings, made once in a run.

    Raises:
        StartFailed: The history could not be made.
    """
    directory = Path(_directory().name) / "-".join(map(str, asdict(history).values()))
    (directory / "data").mkdir(parents=True)
    settings = {DATA_DIR: str(directory / "data"), "NODE_MINING": "manual"}
    (directory / "made.json").write_text(seed("history", asdict(history), settings))
    return directory


@cache
def _directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="bench-history-")

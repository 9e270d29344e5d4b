"""`python -m benchmarks.soak_day`: 24 hours of 2-second blocks in virtual time, with reads, subscribers and pages.

The clock of the node is moved by `evm_increaseTime` before each block, so the day takes as long as its requests.
Periodic work of the node (health checks, cleaning up) follows the wall clock.
"""

import argparse
import itertools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from benchmarks import capacity_document
from benchmarks.contracts import TRANSFER_TOPIC
from benchmarks.machine import allow_many_sockets, description
from benchmarks.node import DATA_DIR, NODE
from benchmarks.report import put_between
from benchmarks.scale import FULL
from benchmarks.scene import Scene
from benchmarks.server import Server, running
from benchmarks.soak import on_cchain, on_platform
from benchmarks.soak_clients import (
    TOKEN_TRANSFERS,
    TRANSFERS,
    Reader,
    SoakClient,
    SoakPayer,
    SoakSender,
    SoakTally,
    Visitor,
)
from benchmarks.soak_hours import DiskPrediction, HourSample, SoakedDay, day_markdown, day_passes
from benchmarks.soak_subscribers import subscribed

BLOCK_SECONDS = 2
HOURS = 24
DAY = HOURS * 3600 // BLOCK_SECONDS
"""Blocks of a day."""
SUBSCRIBERS = 20
READS = 8
"""Reads of the head for each block."""
RARELY = 10
"""Blocks for each read of an old block, each page and each payment on the P-Chain."""
NEW_ACCOUNTS = 10
"""Transactions for each that pays a new account."""
OLD_LOGS = 100
"""Blocks whose logs are read together."""
LEAST_SAMPLES = 3
"""Samples that a verdict needs: the beginning and two hours."""
CACHES = {"NODE_CACHE_ACCOUNTS": "1000", "NODE_CACHE_SLOTS": "1000"}
"""Settings with which the caches of the state, whose entries a day adds all the time, are full within the first hour."""
BEGIN, END = "<!-- day: begin -->", "<!-- day: end -->"


class TooShort(Exception):
    """There are too few hours for a verdict."""


class DaySender(SoakSender):
    """A sender that also pays accounts that did not exist before."""

    @override
    def recipient(self, nonce: int) -> bytes:
        if nonce % NEW_ACCOUNTS:
            return super().recipient(nonce)
        return (0xDA7 << 128 | nonce).to_bytes(20, "big")


class Historian(SoakClient):
    """Reads of blocks anywhere in the history, and polls of a filter."""

    def __init__(self, server: Server, tally: SoakTally, sender: SoakSender) -> None:
        super().__init__(server, tally)
        self._sender = sender.account.text
        self._places = itertools.count(1)
        self._filter = self.scene.client.call("eth_newBlockFilter")

    @override
    def step(self) -> None:
        client = self.scene.client
        head = client.height()
        at = next(self._places) * 7919 % head
        block = self._timed("eth_getBlockByNumber", hex(at), True)
        if block["transactions"]:
            self._timed("eth_getTransactionReceipt", block["transactions"][0]["hash"])
        self._timed("eth_getBalance", self._sender, hex(at))
        self._timed("eth_feeHistory", hex(20), hex(at), [50])
        bounds = {"fromBlock": hex(at), "toBlock": hex(min(at + OLD_LOGS, head))}
        self._timed("eth_getLogs", {**bounds, "topics": [TRANSFER_TOPIC]})
        self._timed("eth_getFilterChanges", self._filter)

    def _timed(self, method: str, *params: object) -> Any:
        began = time.perf_counter()
        result = self.scene.client.call(method, *params)
        self.tally.reads.append(time.perf_counter() - began)
        return result


@dataclass
class DayLoad:
    """The clients of the day, one step after the other, and the samples of its hours.

    Attributes:
        first: Height before the load.
        head: Height when it was last requested.
    """

    server: Server
    hours: int
    ending: threading.Event
    """Set when no further block should be made."""
    tally: SoakTally = field(default_factory=SoakTally)
    samples: list[HourSample] = field(default_factory=list)
    _reads: int = 0
    _pages: int = 0

    def __post_init__(self) -> None:
        self.scene = Scene(self.server, FULL)
        self.scene.deploy()
        token = self.scene.contract("Token")
        self.sender = DaySender(self.server, self.tally, 0, token)
        self.scene.fund([self.sender.account])
        self.sender.prepare()
        self.payer = SoakPayer(self.server, self.tally)
        self._reader = Reader(self.server, self.tally, self.sender, token)
        self._rare: Sequence[SoakClient] = (
            Historian(self.server, self.tally, self.sender),
            Visitor(self.server, self.tally, self.sender, token),
            self.payer,
        )
        self.first = self.head = self.scene.client.height()

    def run(self, blocks: int) -> None:
        """Make the blocks until the end is asked for, and take a sample at the end of each hour.

        Errors are counted. An hour whose sample fails is part of the next one.
        """
        self._sample()
        for place in range(1, blocks + 1):
            if self.ending.is_set():
                break
            with self.tally.mishaps(self):
                self.scene.client.call("evm_increaseTime", BLOCK_SECONDS)
            self.sender.attempt()
            for _ in range(READS):
                self._reader.attempt()
            if place % RARELY == 0:
                for client in self._rare:
                    client.attempt()
            if place * self.hours // blocks > (place - 1) * self.hours // blocks:
                self._sample()
        self._ask_head()

    def _ask_head(self) -> None:
        with self.tally.mishaps(self):
            self.head = self.scene.client.height()

    def _sample(self) -> None:
        with self.tally.mishaps(self):
            self._take_sample()

    def _take_sample(self) -> None:
        tally, server = self.tally, self.server
        self.head = self.scene.client.height()
        memory = server.anonymous_memory()
        reads, pages = sorted(tally.reads[self._reads :]), sorted(tally.pages[self._pages :])
        sample = HourSample(
            self.head - self.first, memory, server.memory() - memory,
            _size(Path(server.environment[DATA_DIR])), server.processor_seconds(), reads, pages,
        )  # fmt: skip
        self.samples.append(sample)
        self._reads, self._pages = len(tally.reads), len(tally.pages)
        print(
            f"{sample.blocks:,} blocks: {memory / 2**20:.1f} and {sample.mapped / 2**20:.1f} MiB,"
            f" {sample.disk / 1e6:.1f} MB, {sample.processor:.1f} s of processor,"
            f" {tally.errors.total():,} errors",
            file=sys.stderr,
            flush=True,
        )


def main() -> int:
    """Soak a node for a day; return 1 if a bar is missed."""
    options = _parse()
    allow_many_sockets()
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # the verdict is that of the hours until then
        signal.signal(number, lambda _signal, _frame: ending.set())
    said = prediction(capacity_document.read_costs(capacity_document.DOCUMENT.read_text()))
    machine = description([])
    kind = replace(NODE, environment=_environment)
    try:
        with running(kind) as server:
            day = soak_day(server, options.blocks, said, ending)
    except TooShort as error:
        print(error, file=sys.stderr)
        return 1
    text = day_markdown(day, machine)
    print(text)
    if options.markdown:
        put_between(options.markdown, text, BEGIN, END)
    return 0 if day_passes(day) else 1


def soak_day(
    server: Server, blocks: int, said: DiskPrediction, ending: threading.Event
) -> SoakedDay:
    """Load a node with a number of blocks, and compare its chains with the transactions that were sent.

    Raises:
        TooShort: The end was asked for before two hours were over.
    """
    load = DayLoad(server, min(HOURS, blocks), ending)
    with subscribed(server.endpoint, SUBSCRIBERS, load.first) as listening:
        load.run(blocks)
        heard = listening.finish(load.head)
    if len(load.samples) < LEAST_SAMPLES:
        raise TooShort("the soak was ended before two hours of blocks were over")
    tally = load.tally
    return SoakedDay(
        hours=load.samples,
        sent=[
            on_cchain(load.scene, tally, load.first, load.head),
            on_platform(load.payer, tally),
        ],
        subscribers=SUBSCRIBERS,
        lost=heard.lost,
        doubled=heard.doubled,
        errors=tally.errors + Counter({"a subscriber's connection was ended": heard.closed}),
        prediction=said,
    )


def prediction(costs: capacity_document.Costs) -> DiskPrediction:
    """Return the disk space of a block of this load according to the document."""
    disk = {
        "block": 1.0,
        "transfer": TRANSFERS,
        "token-transfer": TOKEN_TRANSFERS,
        "payment": 1 / RARELY,
    }
    per_block = sum(count * costs.disk(name) for name, count in disk.items())
    return DiskPrediction(f"docs/{capacity_document.DOCUMENT.name}", per_block)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak_day", description=__doc__)
    parser.add_argument(
        "--blocks", type=int, default=DAY, help=f"blocks of 2 s (default: {DAY:,}, a day)"
    )
    parser.add_argument(
        "--markdown", type=Path, help=f"put the table into this file, between {BEGIN} and {END}"
    )
    return parser.parse_args()


def _environment(port: int, scratch: Path) -> Mapping[str, str]:
    return {**NODE.environment(port, scratch), **CACHES}


def _size(directory: Path) -> int:
    """Return the bytes of all files below a directory; the node may delete some of them meanwhile."""
    size = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(folder, name).stat().st_size
    return size


if __name__ == "__main__":
    sys.exit(main())

"""Reads while others send transactions: four senders at a fixed pace, readers at full speed."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Event

from benchmarks.generator import Pace
from benchmarks.rpc import Client, WrongAnswer
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import account, sign
from benchmarks.wire import Framing
from benchmarks.workload import Better, Measurement, Workload
from benchmarks.workloads_read import CONNECTIONS, read_balance

SENDERS = 4
RATE = 200
"""Transfers per second of all senders together."""
LONGER = 4
"""Duration relative to other rows: few answers give no 99th percentile."""
AHEAD = 3.0
"""Factor of signed transfers over the pace: senders catch up after late first answers."""
GRACE = 10.0
"""Seconds in which sent transactions may still be mined."""


@dataclass(slots=True)
class PacedStream:
    """Result of all senders' transfers."""

    seconds: float = 0.0
    """Seconds for which they were sent."""
    sent: list[int] = field(default_factory=list)
    """Number of transfers of each sender that the server accepted."""

    @property
    def rate(self) -> float:
        """Accepted transfers per second."""
        return sum(self.sent) / self.seconds


def prepare(scene: Scene) -> None:
    """Fund the senders of both rows."""
    scene.fund([account(_purpose(count), i) for count in (1, CONNECTIONS) for i in range(SENDERS)])


def _purpose(connections: int) -> str:
    return f"stream beside {connections}"


def _beside(connections: int) -> Callable[[Scene], Measurement]:
    """Return a function that measures the 99th percentile of reads over this many connections."""

    def measure(scene: Scene) -> Measurement:
        pace = Pace(scene.scale.pace.warm_up, LONGER * scene.scale.pace.seconds, 1)
        purpose = _purpose(connections)
        raws = _transfers(purpose, int(AHEAD * RATE / SENDERS * (pace.warm_up + pace.seconds)))
        with streaming(scene.http, raws, RATE / SENDERS) as stream:
            reads = read_balance(scene, connections=connections, pace=pace)
        assert reads.p99 is not None
        mined = _await_mined(scene, purpose, sum(stream.sent))
        note = f"beside {stream.rate:,.0f} transfers a second"
        if mined < sum(stream.sent):
            note += f"; {sum(stream.sent) - mined:,} of {sum(stream.sent):,} never mined"
        return replace(reads, value=reads.p99 * 1e3, processor=None, note=note)

    return measure


@contextmanager
def streaming(
    framing: Framing, raws: Sequence[Sequence[str]], pace: float
) -> Iterator[PacedStream]:
    """Send each sender's transactions while the body runs.

    Args:
        framing: Framing of the calls; each sender has its own connection.
        raws: Signed transactions of each sender, in nonce order.
        pace: Transactions per second of each sender. After a late answer the next one is sent immediately.

    Raises:
        RpcFailed: A transaction was refused.
        WrongAnswer: A sender ran out of transactions.
    """
    stream, over = PacedStream(), Event()
    started = time.perf_counter()
    with ThreadPoolExecutor(len(raws)) as threads:
        senders = [threads.submit(_send, framing, own, pace, over) for own in raws]
        try:
            yield stream
        finally:
            over.set()
            stream.seconds = time.perf_counter() - started
        stream.sent = [sender.result() for sender in senders]


def _send(framing: Framing, raws: Sequence[str], pace: float, over: Event) -> int:
    with closing(Client(framing)) as client:
        started = time.perf_counter()
        for number, raw in enumerate(raws):
            wait = started + number / pace - time.perf_counter()
            if over.wait(max(0.0, wait)):
                return number
            client.call("eth_sendRawTransaction", raw)
        if not over.is_set():
            raise WrongAnswer(f"{len(raws)} transactions of a sender were not enough")
    return len(raws)


def _await_mined(scene: Scene, purpose: str, wanted: int) -> int:
    """Return how many of the senders' transactions are in blocks, after at most GRACE seconds."""
    question = [[account(purpose, index).text, "latest"] for index in range(SENDERS)]
    deadline = time.perf_counter() + GRACE
    while True:
        counts = scene.client.call_many("eth_getTransactionCount", question)
        mined = sum(int(count, 16) for count in counts)
        if mined >= wanted or time.perf_counter() > deadline:
            return mined
        time.sleep(0.02)


@cache
def _transfers(purpose: str, count: int) -> list[list[str]]:
    """Sign each sender's transfers, once for all servers."""
    return [
        [sign(who, nonce, FUNDER.address, value=1) for nonce in range(count)]
        for who in (account(purpose, index) for index in range(SENDERS))
    ]


def _row(name: str, connections: int) -> Workload:
    title = f"eth_getBalance beside {RATE} transfers a second, p99, {connections}"
    return Workload(name, title, "ms", _beside(connections), None, None, Better.LESS)


BUSY = (_row("balance-busy", 1), _row("balance-busy-16", CONNECTIONS))

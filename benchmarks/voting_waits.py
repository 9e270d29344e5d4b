"""Time from issue to acceptance by five voting nodes, and the rate of accepted transactions.

A node has accepted a transaction when its block's row is committed. A separate process watches all five
databases.
"""

import random
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from benchmarks.commits import CommitWatch, watching
from benchmarks.generator import send_streams
from benchmarks.rpc import WrongAnswer
from benchmarks.scene import Scene
from benchmarks.voting_network import NODES, Voters, client_of
from benchmarks.wire import Framing

PATHS = {"P": "/ext/P", "C": "/ext/bc/C/rpc"}
PAUSES = {"C": (0.05, 0.25), "P": (1.0, 1.25)}
"""Range of seconds from a block to the next transaction. P-Chain blocks are a second apart, and an
earlier transaction would wait for that."""
BETWEEN = 0.1
"""Seconds between the transactions of an issuer that issues steadily."""


@dataclass(frozen=True, slots=True)
class IssuedTransaction:
    """An issued transaction."""

    key: str
    """Its hash or ID."""
    at: float
    """Time of `time.perf_counter` before it was sent."""


@dataclass(slots=True)
class PaymentSupply:
    """Independent transactions of a chain, which it issues."""

    voters: Voters
    chain: str
    raws: Iterator[tuple[str, bytes]]
    """Hash or ID, and the call that issues the transaction."""
    node: int | None = None
    """Index of the node that gets the transactions. None: all nodes in turn, if each acceptance is awaited."""
    issued: list[IssuedTransaction] = field(default_factory=list)

    def issue(self) -> None:
        """Issue the next transaction.

        Raises:
            WrongAnswer: The node refuses it.
        """
        key, call = next(self.raws)
        place = len(self.issued) if self.node is None else self.node
        with closing(client_of(self.voters.at(place, PATHS[self.chain]))) as client:
            started = time.perf_counter()
            answer = client.ask(call)
        if "error" in answer:
            raise WrongAnswer(str(answer["error"]))
        self.issued.append(IssuedTransaction(key, started))


@dataclass(frozen=True, slots=True)
class AcceptanceTimes:
    """Times from issue to acceptance by the last node."""

    p50: float
    """Seconds."""
    p99: float
    count: int
    """Transactions that were timed."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rate at which all nodes accept transactions under overload."""

    rate: float
    """Transactions a second."""
    blocks: int


def one_by_one(supply: PaymentSupply, count: int) -> AcceptanceTimes:
    """Issue transactions sequentially, each after all nodes have accepted the previous one.

    Raises:
        WrongAnswer: A transaction is refused, or two of them share a block.
    """
    voters, chain = supply.voters, supply.chain
    height = voters.head(chain)
    voters.await_height(chain, height)
    with watching(voters.directories) as watch:
        first = len(supply.issued)
        for place in range(count):
            time.sleep(random.uniform(*PAUSES[chain]))
            supply.issue()
            voters.await_height(chain, height + place + 1)
    issued = supply.issued[first:]
    heights = range(height + 1, height + 1 + len(issued))
    if voters.head(chain) != heights[-1]:
        raise WrongAnswer(f"{len(issued)} transactions are not in {len(issued)} blocks")
    return AcceptanceTimes(*_waited(watch, chain, issued, heights))


def steadily(scene: Scene, issuers: Sequence[PaymentSupply]) -> AcceptanceTimes:
    """Let each issuer issue transactions with a pause between them; all are timed.

    Raises:
        WrongAnswer: A transaction is refused, or is in no block.
    """
    voters, chain = issuers[0].voters, issuers[0].chain
    before = voters.head(chain)
    with watching(voters.directories) as watch:
        with _issuing(issuers):
            time.sleep(scene.scale.voting_seconds)
        issued = [each for issuer in issuers for each in issuer.issued]
        heights = _all_included(scene, voters, chain, before, len(issued))
        voters.await_height(chain, max(heights.values()))
    return AcceptanceTimes(*_waited(watch, chain, issued, [heights[item.key] for item in issued]))


def flooded(
    scene: Scene, chain: str, framing: Framing, streams: Sequence[Sequence[bytes]]
) -> Throughput:
    """Send streams to the first node as fast as it answers; return the rate of acceptance by all.

    Raises:
        WrongAnswer: A transaction is refused, or is in no block.
    """
    voters: Voters = scene.facts["voters"]
    before = voters.head(chain)
    with watching(voters.directories) as watch:
        sent = send_streams(framing, streams, scene.scale.voting_seconds)
        count = sum(sent.answered)
        top = max(_all_included(scene, voters, chain, before, count).values())
        voters.await_height(chain, top)
    if sent.failures:
        raise WrongAnswer(sent.failures[0].decode(errors="replace"))
    last = max(watch.growth[place, chain].reached(top) for place in range(NODES))
    return Throughput(count / (last - sent.started), top - before)


@contextmanager
def _issuing(issuers: Sequence[PaymentSupply]) -> Iterator[None]:
    """Issue transactions while the body runs, each issuer in its thread. Raises as `PaymentSupply.issue`."""
    ended = threading.Event()

    def go_on(supply: PaymentSupply) -> None:
        while not ended.wait(BETWEEN):
            supply.issue()

    with ThreadPoolExecutor(len(issuers)) as threads:
        issuing_them = [threads.submit(go_on, issuer) for issuer in issuers]
        try:
            yield
        finally:
            ended.set()
        for item in issuing_them:
            item.result()


def _all_included(
    scene: Scene, voters: Voters, chain: str, above: int, count: int
) -> dict[str, int]:
    """Wait until all transactions are in blocks; return the block's height of each, by key.

    Raises:
        WrongAnswer: Some are in no block.
    """
    heights: dict[str, int] = {}
    read, deadline = above, time.perf_counter() + 120.0
    while len(heights) < count:
        if time.perf_counter() > deadline:
            raise WrongAnswer(f"{len(heights):,} of {count:,} transactions were accepted")
        head = voters.head(chain)
        voters.await_height(chain, head)
        for height in range(read + 1, head + 1):
            heights |= dict.fromkeys(_transactions(scene, chain, height), height)
        read = head
        time.sleep(0.1)
    return heights


def _transactions(scene: Scene, chain: str, height: int) -> list[str]:
    """Return the keys of an accepted block's transactions."""
    if chain == "C":
        return list(scene.client.call("eth_getBlockByNumber", hex(height), False)["transactions"])
    asked = scene.facts["platform"].client
    block = asked.call_named("platform.getBlockByHeight", height=height, encoding="json")["block"]
    return [tx["id"] for tx in block["txs"]]


def _waited(
    watch: CommitWatch, chain: str, issued: Sequence[IssuedTransaction], heights: Sequence[int]
) -> tuple[float, float, int]:
    """Return p50 and p99 of the times to acceptance by the last node, and the number of transactions."""
    seconds = [
        max(watch.growth[place, chain].reached(height) for place in range(NODES)) - one.at
        for one, height in zip(issued, heights, strict=True)
    ]
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return cuts[49], cuts[98], len(seconds)

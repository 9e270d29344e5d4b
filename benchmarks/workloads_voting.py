"""Five nodes whose validators vote: from the issue of a transaction to its acceptance on all five, and what that costs.

A transaction is accepted where its block's row is committed: a process of its own watches all five databases.
"""

import json
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from benchmarks.coins import FEE, Coin, Tx, owner, transfer
from benchmarks.commits import Watch, watching
from benchmarks.generator import send_streams
from benchmarks.node import told_by
from benchmarks.platform_rpc import issuing, take
from benchmarks.rpc import WrongAnswer, body
from benchmarks.scale import Scale
from benchmarks.scene import ALLOWANCE, FUNDER, Scene
from benchmarks.server import Kind
from benchmarks.signing import account, hash_of, sign
from benchmarks.texts import cb58
from benchmarks.voting_network import NODES, VOTERS, Spent, Voters, client_of, found
from benchmarks.workload import Bar, Better, Measurement, Workload

SENDERS = 32
SINGLES = 150
"""Transactions prepared for each sender under load; enough for 1,200 a second."""
AMOUNT = 2 * FEE
PAUSES = {"C": (0.05, 0.25), "P": (1.0, 1.25)}
"""Seconds after a block before the next transaction, of differing length. On the P-Chain blocks are a second
apart, and a transaction that comes earlier waits for that."""
BETWEEN = 0.1
"""Seconds between the single transactions that are timed under load."""
QUIET = 4.0
"""Seconds in which it is seen what five nodes send and use while nothing happens."""
P_CHAIN, C_CHAIN = "/ext/P", "/ext/bc/C/rpc"


@dataclass(frozen=True, slots=True)
class Issued:
    """A transaction that was issued."""

    key: str
    """Its hash, or its ID."""
    at: float
    """By `time.perf_counter`, before it was sent."""


@dataclass(slots=True)
class Supply:
    """Makes transactions of a chain that do not wait for each other, and issues them through all nodes by turns."""

    voters: Voters
    chain: str
    raws: Iterator[tuple[str, bytes]]
    """Hash or ID, and the call that issues it."""
    issued: list[Issued] = field(default_factory=list)

    def issue(self) -> None:
        """Issue the next one, through the next node.

        Raises:
            WrongAnswer: The node refuses it.
        """
        key, call = next(self.raws)
        endpoint = self.voters.at(len(self.issued), C_CHAIN if self.chain == "C" else P_CHAIN)
        with closing(client_of(endpoint)) as client:
            started = time.perf_counter()
            answer = client.ask(call)
        if "error" in answer:
            raise WrongAnswer(str(answer["error"]))
        self.issued.append(Issued(key, started))


def alone(_scale: Scale) -> Kind:
    """Return five nodes that have just begun to vote."""
    return VOTERS


def prepare(scene: Scene) -> None:
    """Wait until all vote, and give the senders what they send."""
    voters = scene.facts["voters"] = found(scene.server)
    for heads in voters.heads:
        scene.ending.enter_context(closing(heads))
    voters.await_ready()
    timed, count = scene.scale.decisions, SENDERS * SINGLES
    platform = Scene(replace(scene.server, endpoint=voters.at(0, P_CHAIN)), scene.scale)
    scene.facts["platform"] = platform
    coins = take(platform, owner("voting"), AMOUNT, count + 3 * timed)
    scene.facts["load P"] = _payments(coins[:count])
    scene.facts["P"] = Supply(voters, "P", iter(_keyed(_payments(coins[count:]))))
    senders = [account("voting", number) for number in range(SENDERS + 1)]
    for one in senders:
        scene.from_funder(one.address, value=ALLOWANCE)
    scene.facts["load C"] = senders[:-1]
    single = senders[-1]
    raws = (sign(single, nonce, FUNDER.address, value=1) for nonce in range(1_000_000))
    scene.facts["C"] = Supply(voters, "C", ((hash_of(raw), _sending(raw)) for raw in raws))


def _idle(scene: Scene, chain: str) -> Measurement:
    """Issue one transaction at a time, each when all have accepted the one before it."""
    voters, supply = _voters(scene), _supply(scene, chain)
    height = voters.head(chain)
    voters.await_height(chain, height)
    with watching(voters.directories) as watch:
        first = len(supply.issued)
        for place in range(scene.scale.decisions):
            time.sleep(random.uniform(*PAUSES[chain]))
            supply.issue()
            voters.await_height(chain, height + place + 1)
    issued = supply.issued[first:]
    heights = range(height + 1, height + 1 + len(issued))
    if voters.head(chain) != heights[-1]:
        raise WrongAnswer(f"{len(issued)} transactions are not in {len(issued)} blocks")
    return _waited(watch, chain, issued, heights)


def _loaded(scene: Scene, chain: str) -> Measurement:
    """Send as fast as the first node answers, and single ones beside it that are timed."""
    voters, supply = _voters(scene), _supply(scene, chain)
    streams = scene.facts[f"load {chain}"]
    if chain == "C":
        streams = [
            [_sending(sign(one, nonce, FUNDER.address, value=1)) for nonce in range(SINGLES)]
            for one in streams
        ]
    else:
        calls = [call for _, call in _keyed(streams)]
        streams = [calls[place::SENDERS] for place in range(SENDERS)]
    framing = scene.http if chain == "C" else scene.facts["platform"].http
    before, first = voters.head(chain), len(supply.issued)
    with watching(voters.directories) as watch:
        with _issuing_beside(supply, scene.scale.decisions):
            sent = send_streams(framing, streams, scene.scale.send_seconds)
        issued = supply.issued[first:]
        count = sum(sent.answered) + len(issued)
        heights = _all_included(scene, chain, before, count)
        voters.await_height(chain, max(heights.values()))
    if sent.failures:
        raise WrongAnswer(sent.failures[0].decode(errors="replace"))
    last = max(watch.growth[place, chain].reached(max(heights.values())) for place in range(NODES))
    waited = _waited(watch, chain, issued, [heights[one.key] for one in issued])
    blocks = max(heights.values()) - before
    note = f"{blocks} blocks; issue to acceptance on all, p50 {waited.value:,.0f} ms; {waited.note}"
    return Measurement(count / (last - sent.started), waited.p50, waited.p99, note=note)


@contextmanager
def _issuing_beside(supply: Supply, most: int) -> Iterator[None]:
    """Issue single transactions in a thread until the block ends. Raises as `Supply.issue`."""
    ended = threading.Event()

    def go_on() -> None:
        for _ in range(most):
            if ended.wait(BETWEEN):
                return
            supply.issue()

    with ThreadPoolExecutor(1) as thread:
        issuing_them = thread.submit(go_on)
        try:
            yield
        finally:
            ended.set()
        issuing_them.result()


def _all_included(scene: Scene, chain: str, above: int, count: int) -> dict[str, int]:
    """Return in which block each of so many transactions is, by key, once all are.

    Raises:
        WrongAnswer: Some are in none.
    """
    voters = _voters(scene)
    heights: dict[str, int] = {}
    read, deadline = above, time.perf_counter() + 60.0
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
    watch: Watch, chain: str, issued: Sequence[Issued], heights: Sequence[int]
) -> Measurement:
    """Return how long transactions were on their way to the last of the nodes."""
    seconds = [
        max(watch.growth[place, chain].reached(height) for place in range(NODES)) - one.at
        for one, height in zip(issued, heights, strict=True)
    ]
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    note = f"p99 {cuts[98] * 1e3:,.0f} ms, {len(seconds)} transactions"
    return Measurement(cuts[49] * 1e3, cuts[49], cuts[98], note=note)


def _costs(scene: Scene) -> tuple[Spent, int]:
    """Return what blocks of the C-Chain have cost all five, beyond what they spend anyway, and how many; once."""
    if "costs" not in scene.facts:
        voters, supply = _voters(scene), _supply(scene, "C")
        begun = voters.spent()
        time.sleep(QUIET)
        idle, height = voters.spent(), voters.head("C")
        for place in range(scene.scale.decisions):
            supply.issue()
            voters.await_height("C", height + place + 1)
        ended = voters.spent()
        share = (ended.at - idle.at) / (idle.at - begun.at)
        extra = (c - b - share * (b - a) for a, b, c in zip(begun, idle, ended, strict=True))
        scene.facts["costs"] = Spent(*extra), scene.scale.decisions
    costs: tuple[Spent, int] = scene.facts["costs"]
    return costs


def _messages(scene: Scene) -> Measurement:
    spent, blocks = _costs(scene)
    return Measurement(spent.messages / blocks, note=f"{blocks} blocks")


def _traffic(scene: Scene) -> Measurement:
    spent, blocks = _costs(scene)
    return Measurement(spent.bytes / blocks / 1024)


def _processor(scene: Scene) -> Measurement:
    spent, blocks = _costs(scene)
    return Measurement(spent.processor / blocks / NODES * 1e3)


def _record_poll(_scene: Scene) -> Measurement:
    """Have the node's own command count votes."""
    told = json.loads(told_by("time_record_poll"))
    return Measurement(told["ten"], note=f"one block: {told['one']:.1f} µs")


def _voters(scene: Scene) -> Voters:
    voters: Voters = scene.facts["voters"]
    return voters


def _supply(scene: Scene, chain: str) -> Supply:
    supply: Supply = scene.facts[chain]
    return supply


def _sending(raw: str) -> bytes:
    return body("eth_sendRawTransaction", raw)


def _payments(coins: Sequence[Coin]) -> list[Tx]:
    sender, taker = owner("voting"), owner("voting", 1)
    return [transfer(coin, sender, [(taker.short_id, FEE)]) for coin in coins]


def _keyed(txs: Sequence[Tx]) -> list[tuple[str, bytes]]:
    return [(cb58(tx.tx_id), issuing(tx)) for tx in txs]


def _latency(name: str, chain: str, measure: Callable[[Scene], Measurement]) -> Workload:
    title = f"{chain}-Chain transfer, five voters, issue to acceptance by all, p50, idle"
    return Workload(name, title, "ms", measure, Bar(500), Bar(300), Better.LESS)


def _cost(name: str, title: str, unit: str, measure: Callable[[Scene], Measurement]) -> Workload:
    return Workload(name, title, unit, measure, None, None, Better.LESS)


def _rate(name: str, chain: str, measure: Callable[[Scene], Measurement]) -> Workload:
    title = f"{chain}-Chain transfers, five voters, accepted by all, 32 connections"
    return Workload(name, title, "tx/s", measure, None, None)


VOTING = (
    _latency("vote", "C", lambda scene: _idle(scene, "C")),
    _latency("vote-platform", "P", lambda scene: _idle(scene, "P")),
    _cost("vote-messages", "five voters, messages for a C-Chain block", "", _messages),
    _cost("vote-bytes", "five voters, bytes for a C-Chain block", "KiB", _traffic),
    _cost("vote-processor", "each of five voters, processor for a C-Chain block", "ms", _processor),
    _cost("record-poll", "record_poll, ten blocks processing", "µs", _record_poll),
    # What comes under load comes after what wants nothing else to happen.
    _rate("vote-load", "C", lambda scene: _loaded(scene, "C")),
    _rate("vote-platform-load", "P", lambda scene: _loaded(scene, "P")),
)

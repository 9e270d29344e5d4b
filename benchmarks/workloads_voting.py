"""Five voting nodes: time from the issue of a transaction to its acceptance on all five, and its cost.

`voting_waits` measures the times.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from benchmarks.coins import FEE, Coin, Tx, owner, transfer
from benchmarks.node import run_command
from benchmarks.platform_rpc import issuing, take
from benchmarks.rpc import body
from benchmarks.scale import Scale
from benchmarks.scene import ALLOWANCE, FUNDER, Scene
from benchmarks.server import Kind
from benchmarks.signing import Account, account, hash_of, sign
from benchmarks.texts import cb58
from benchmarks.voting_network import NODES, VOTERS, NetworkUsage, Voters, found
from benchmarks.voting_waits import (
    BETWEEN,
    PATHS,
    AcceptanceTimes,
    PaymentSupply,
    Throughput,
    flooded,
    one_by_one,
    steadily,
)
from benchmarks.workload import Bar, Better, Measurement, Workload

SENDERS = 32
RATES = {"C": 1_200, "P": 600}
"""Transactions per second for which enough are prepared, if they are sent as fast as a node answers."""
ISSUERS = 2 * NODES
"""Steady issuers: two at each node."""
AMOUNT = 2 * FEE
HALF = Bar(500)
"""Milliseconds within which half of the transactions must be accepted."""
QUIET = 4.0
"""Seconds in which the idle traffic and processor time of five nodes are measured."""


def alone(_scale: Scale) -> Kind:
    """Return five nodes of a new network that votes."""
    return VOTERS


def prepare(scene: Scene) -> None:
    """Wait until all nodes vote, and prepare the senders' funds."""
    voters = scene.facts["voters"] = found(scene.server)
    for heads in voters.heads:
        scene.ending.enter_context(closing(heads))
    voters.await_ready()
    platform = Scene(replace(scene.server, endpoint=voters.at(0, PATHS["P"])), scene.scale)
    scene.facts["platform"] = platform
    _prepare_platform(scene, platform, voters)
    _prepare_evm(scene, voters)


def _prepare_platform(scene: Scene, platform: Scene, voters: Voters) -> None:
    count = int(RATES["P"] * scene.scale.voting_seconds)
    timed, single = scene.scale.decisions, _singles(scene.scale)
    coins = iter(take(platform, owner("voting"), AMOUNT, count + timed + ISSUERS * single))
    calls = [call for _, call in _keyed(_payments(coins, count))]
    scene.facts["load P"] = [calls[place::SENDERS] for place in range(SENDERS)]
    scene.facts["P"] = PaymentSupply(voters, "P", _keyed(_payments(coins, timed)))
    scene.facts["issuers P"] = [
        PaymentSupply(voters, "P", _keyed(_payments(coins, single)), node=place % NODES)
        for place in range(ISSUERS)
    ]


def _prepare_evm(scene: Scene, voters: Voters) -> None:
    senders = [account("voting", number) for number in range(SENDERS + ISSUERS + 1)]
    for sender in senders:
        scene.from_funder(sender.address, value=ALLOWANCE)
    one_by_one_sender, *rest = senders
    scene.facts["load C senders"] = rest[:SENDERS]
    scene.facts["C"] = PaymentSupply(voters, "C", _transfers(one_by_one_sender))
    scene.facts["issuers C"] = [
        PaymentSupply(voters, "C", _transfers(one), node=place % NODES)
        for place, one in enumerate(rest[SENDERS:])
    ]


def _singles(scale: Scale) -> int:
    """Return how many transactions one issuer can issue, at most."""
    return int(scale.voting_seconds / BETWEEN) + 1


def _idle(scene: Scene, chain: str) -> AcceptanceTimes:
    """Return the times of sequential transactions, measured once."""
    key = f"idle {chain}"
    if key not in scene.facts:
        scene.facts[key] = one_by_one(scene.facts[chain], scene.scale.decisions)
    waits: AcceptanceTimes = scene.facts[key]
    return waits


def _steady(scene: Scene, chain: str) -> AcceptanceTimes:
    """Return the times with ten issuers, measured once."""
    key = f"steady {chain}"
    if key not in scene.facts:
        scene.facts[key] = steadily(scene, scene.facts[f"issuers {chain}"])
    waits: AcceptanceTimes = scene.facts[key]
    return waits


def _flooded(scene: Scene, chain: str) -> Throughput:
    framing = scene.http if chain == "C" else scene.facts["platform"].http
    streams = _signed(scene) if chain == "C" else scene.facts["load P"]
    return flooded(scene, chain, framing, streams)


def _signed(scene: Scene) -> list[list[bytes]]:
    """Return the C-Chain transactions for the flood: a stream of each sender."""
    each = int(RATES["C"] * scene.scale.voting_seconds / SENDERS)
    senders: list[Account] = scene.facts["load C senders"]
    return [
        [_sending(sign(sender, nonce, FUNDER.address, value=1)) for nonce in range(each)]
        for sender in senders
    ]


def _p50(waits: AcceptanceTimes) -> Measurement:
    note = f"{waits.count} transactions"
    return Measurement(waits.p50 * 1e3, waits.p50, waits.p99, note=note)


def _p99(waits: AcceptanceTimes) -> Measurement:
    return Measurement(waits.p99 * 1e3, note=f"{waits.count} transactions")


def _accepted(throughput: Throughput) -> Measurement:
    return Measurement(throughput.rate, note=f"{throughput.blocks} blocks")


def _costs(scene: Scene) -> tuple[NetworkUsage, int]:
    """Return the cost of C-Chain blocks on all five nodes beyond their idle cost, and their number; measured once."""
    if "costs" not in scene.facts:
        voters: Voters = scene.facts["voters"]
        supply: PaymentSupply = scene.facts["C"]
        begun = voters.spent()
        time.sleep(QUIET)
        idle, height = voters.spent(), voters.head("C")
        for place in range(scene.scale.decisions):
            supply.issue()
            voters.await_height("C", height + place + 1)
        ended = voters.spent()
        share = (ended.at - idle.at) / (idle.at - begun.at)
        extra = (c - b - share * (b - a) for a, b, c in zip(begun, idle, ended, strict=True))
        scene.facts["costs"] = NetworkUsage(*extra), scene.scale.decisions
    costs: tuple[NetworkUsage, int] = scene.facts["costs"]
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
    """Measure the node's own command that counts votes."""
    timings = json.loads(run_command("time_record_poll"))
    return Measurement(timings["ten"], note=f"one block: {timings['one']:.1f} µs")


def _sending(raw: str) -> bytes:
    return body("eth_sendRawTransaction", raw)


def _transfers(sender: Account) -> Iterator[tuple[str, bytes]]:
    """Yield transfers without end, with their hashes."""
    raws = (sign(sender, nonce, FUNDER.address, value=1) for nonce in range(1_000_000))
    return ((hash_of(raw), _sending(raw)) for raw in raws)


def _payments(coins: Iterator[Coin], count: int) -> list[Tx]:
    """Return `count` payments, each from one coin."""
    sender, taker = owner("voting"), owner("voting", 1)
    return [transfer(next(coins), sender, [(taker.short_id, FEE)]) for _ in range(count)]


def _keyed(txs: Sequence[Tx]) -> Iterator[tuple[str, bytes]]:
    return ((cb58(tx.tx_id), issuing(tx)) for tx in txs)


def _latency(
    name: str,
    chain: str,
    when: str,
    waits: Callable[[Scene, str], AcceptanceTimes],
    half: Bar | None = HALF,
) -> tuple[Workload, Workload]:
    """Return the rows of p50 and p99 of the transactions."""
    title = f"{chain}-Chain transfer, five voters, issue to acceptance by all"
    return (
        Workload(
            name,
            f"{title}, p50, {when}",
            "ms",
            lambda scene: _p50(waits(scene, chain)),
            half,
            None,
            Better.LESS,
        ),
        Workload(
            f"{name}-p99",
            f"{title}, p99, {when}",
            "ms",
            lambda scene: _p99(waits(scene, chain)),
            Bar(2_000),
            None,
            Better.LESS,
        ),
    )


def _cost(name: str, title: str, unit: str, measure: Callable[[Scene], Measurement]) -> Workload:
    return Workload(name, title, unit, measure, None, None, Better.LESS)


def _rate(name: str, chain: str) -> Workload:
    title = f"{chain}-Chain transfers, five voters, accepted by all, 32 connections"
    return Workload(
        name, title, "tx/s", lambda scene: _accepted(_flooded(scene, chain)), None, None
    )


VOTING = (
    *_latency("vote", "C", "idle", _idle),
    *_latency("vote-platform", "P", "idle", _idle),
    _cost("vote-messages", "five voters, messages for a C-Chain block", "", _messages),
    _cost("vote-bytes", "five voters, bytes for a C-Chain block", "KiB", _traffic),
    _cost("vote-processor", "each of five voters, processor for a C-Chain block", "ms", _processor),
    _cost("record-poll", "record_poll, ten blocks processing", "µs", _record_poll),
    # The flood comes after the rows that need otherwise idle nodes.
    *_latency("vote-steady", "C", "ten issuers", _steady),
    # One block per second: half of the transactions wait half a second before it is built.
    *_latency("vote-platform-steady", "P", "ten issuers", _steady, half=None),
    _rate("vote-load", "C"),
    _rate("vote-platform-load", "P"),
)

"""Costs that must not grow with the chain: time to the receipt, sparse logs, frequent reads, memory."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.contracts import TRANSFER_TOPIC, call_data
from benchmarks.growth import NEEDLES, GrowthResult, grow_accounts, grow_blocks
from benchmarks.growth import prepare as prepare_growth
from benchmarks.rpc import Client, WrongAnswer, body
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import account, hash_of, sign
from benchmarks.workload import AS_EMBEDDED, Bar, Better, Measurement, Workload
from benchmarks.workloads_read import MINTED, read_balance, read_token_balance, repeat

TIME_LIMIT = 8.0
"""Seconds for the transactions that are timed."""
REST = 1.0
"""Seconds between growing and timing, in which a server may clean up."""
LOGS = 1_000
"""Logs in each of the old blocks."""
BURIED_UNDER = 600
"""Blocks after those: more than a server should keep in memory."""
RECEIPTS_FOR_A_BLOCK = 4
"""Receipts that other rows wait for, for each old block that is read here."""


def prepare(scene: Scene) -> None:
    """Fund the senders and make a token holder."""
    scene.fund([account(stage) for stage in ("fresh", "high", "wide", "holder")])
    mint = call_data("mint(uint256)", MINTED)
    scene.client.mine(sign(account("holder"), 0, scene.contract("Token"), data=mint, gas=150_000))
    prepare_growth(scene)


def _time_to_receipt(scene: Scene, stage: str) -> Measurement:
    """Send a transaction and request its receipt until it is available; repeat this."""
    sender = account(stage)
    times: list[float] = []
    deadline = time.perf_counter() + TIME_LIMIT
    for nonce in range(scene.scale.latencies):
        raw = sign(sender, nonce, FUNDER.address, value=1)
        transaction_hash = hash_of(raw)
        started = time.perf_counter()
        scene.client.call("eth_sendRawTransaction", raw)
        scene.client.receipt(transaction_hash)
        times.append(time.perf_counter() - started)
        if time.perf_counter() > deadline:
            break
    p50 = statistics.median(times)
    return Measurement(p50 * 1e3, p50, sorted(times)[int(len(times) * 0.99)])


def _fresh(scene: Scene) -> Measurement:
    """Measure once, for the median and for the 99th percentile."""
    if "fresh" not in scene.facts:
        scene.facts["fresh"] = _time_to_receipt(scene, "fresh")
    found: Measurement = scene.facts["fresh"]
    return found


def _fresh_p99(scene: Scene) -> Measurement:
    found = _fresh(scene)
    assert found.p99 is not None
    return replace(found, value=found.p99 * 1e3)


def _high(scene: Scene) -> Measurement:
    grown = _rested(scene, grow_blocks(scene))
    return replace(_time_to_receipt(scene, "high"), note=grown.note)


def _wide(scene: Scene) -> Measurement:
    grow_blocks(scene)
    grown = _rested(scene, grow_accounts(scene))
    return replace(_time_to_receipt(scene, "wide"), note=grown.note)


def _sparse_logs(scene: Scene) -> Measurement:
    grown = grow_blocks(scene)
    question = {
        "fromBlock": "0x0",
        "toBlock": "latest",
        "address": "0x" + scene.contract("Emitter").hex(),
        "topics": [TRANSFER_TOPIC],
    }
    speed = repeat(
        scene,
        [body("eth_getLogs", question)],
        lambda result: len(result) == NEEDLES,
        connections=1,
    )
    return replace(speed, value=1e3 / speed.value, note=grown.note)


def _memory(scene: Scene) -> Measurement:
    grow_blocks(scene)
    grown = _rested(scene, grow_accounts(scene))
    return Measurement(scene.server.memory() / 2**20, note=grown.note)


def _old_balance(scene: Scene) -> Measurement:
    grow_blocks(scene)
    grown = _rested(scene, grow_accounts(scene))
    return replace(read_balance(scene), note=grown.note)


def _old_token_balance(scene: Scene) -> Measurement:
    grow_blocks(scene)
    grown = _rested(scene, grow_accounts(scene))
    return replace(read_token_balance(scene), note=grown.note)


def _old_logs(scene: Scene) -> Measurement:
    """Request the logs of each of some old blocks once."""
    grown = grow_blocks(scene)
    count = 1 + scene.scale.latencies // RECEIPTS_FOR_A_BLOCK
    return replace(time_old_logs(scene.client, _bury_logs(scene, count)), note=grown.note)


def _bury_logs(scene: Scene, count: int) -> list[dict[str, Any]]:
    """Make blocks with a thousand logs each, and many after them; return a query for each block's logs."""
    emit = call_data("emitLogs(uint256)", LOGS)
    emitter = scene.contract("Emitter")
    heights = [scene.from_funder(emitter, data=emit)["blockNumber"] for _ in range(count)]
    head = scene.client.height()
    for _ in range(BURIED_UNDER):
        scene.client.call("evm_mine")
    if scene.client.height() < head + BURIED_UNDER:
        raise WrongAnswer(f"{scene.client.height() - head} of {BURIED_UNDER} blocks were mined")
    return [
        {
            "fromBlock": height,
            "toBlock": height,
            "address": "0x" + emitter.hex(),
            "topics": [TRANSFER_TOPIC],
        }
        for height in heights
    ]


def time_old_logs(client: Client, questions: Sequence[dict[str, Any]]) -> Measurement:
    """Return the milliseconds of an eth_getLogs, p50, without the first one.

    Args:
        client: Client of a chain with LOGS logs for each query.
        questions: Queries, each for another block, so that no answer uses data cached by an earlier one.

    Raises:
        WrongAnswer: An answer does not have the logs of its block.
    """
    times = []
    for question in questions:
        request = body("eth_getLogs", question)
        started = time.perf_counter()
        answer = client.ask_raw(request)
        times.append(time.perf_counter() - started)
        logs = json.loads(answer).get("result") or []
        if len(logs) != LOGS or {log["blockNumber"] for log in logs} != {question["fromBlock"]}:
            raise WrongAnswer(f"{len(logs)} logs of {question}")
    counted = sorted(times[1:])
    p50 = statistics.median(counted)
    return Measurement(p50 * 1e3, p50, counted[int(len(counted) * 0.99)])


def _rested(scene: Scene, grown: GrowthResult) -> GrowthResult:
    if scene.facts.get("rested") is not grown:
        scene.facts["rested"] = grown
        time.sleep(REST)
    return grown


ANVIL, HARDHAT = Bar(peers=("anvil",)), Bar(peers=("hardhat",))
IN_PRODUCTION = Bar(15)
"""Milliseconds to the receipt in the production profile, p50."""

FRESH = Workload(
    "receipt-time",
    "send to receipt, p50, fresh chain",
    "ms",
    _fresh,
    Bar(20),
    Bar(3),
    Better.LESS,
    IN_PRODUCTION,
)
FRESH_P99 = Workload(
    "receipt-time-p99",
    "send to receipt, p99, fresh chain",
    "ms",
    _fresh_p99,
    None,
    Bar(15),
    Better.LESS,
)
HIGH = Workload(
    "receipt-time-high",
    "send to receipt, p50, at 5,000 blocks",
    "ms",
    _high,
    Bar(20),
    Bar(3),
    Better.LESS,
    IN_PRODUCTION,
)
WIDE = Workload(
    "receipt-time-wide",
    "send to receipt, p50, and 50,000 accounts",
    "ms",
    _wide,
    Bar(20),
    Bar(3),
    Better.LESS,
    IN_PRODUCTION,
)
SPARSE = Workload(
    "sparse-logs",
    "sparse eth_getLogs over 5,000 blocks, 1",
    "ms",
    _sparse_logs,
    Bar(5),
    Bar(1),
    Better.LESS,
)
MEMORY = Workload(
    "memory", "memory at 50,000 accounts", "MiB", _memory, Bar(600), Bar(300), Better.LESS
)
OLD_BALANCE = Workload(
    "balance-aged",
    "eth_getBalance at 5,000 blocks, 50,000 accounts, 16",
    "req/s",
    _old_balance,
    HARDHAT,
    ANVIL,
    production=AS_EMBEDDED,
)
OLD_CALL = Workload(
    "call-aged",
    "eth_call balanceOf at 5,000 blocks, 50,000 accounts, 16",
    "req/s",
    _old_token_balance,
    HARDHAT,
    ANVIL,
    production=AS_EMBEDDED,
)
OLD_LOGS = Workload(
    "old-logs",
    "eth_getLogs, 1,000 logs of an old block, p50, 1",
    "ms",
    _old_logs,
    None,
    Bar(3),
    Better.LESS,
)

"""Reads over HTTP: single methods, a batch, a mix, big answers, and execution without a transaction."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.contracts import TRANSFER_TOPIC, call_data, transfer
from benchmarks.generator import Pace, closed_loop
from benchmarks.rpc import RpcFailed, WrongAnswer, batch, body
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import CHAIN_ID, account, hash_of, sign
from benchmarks.wire import Framing
from benchmarks.workload import AS_EMBEDDED, Bar, Better, Measurement, Workload

CONNECTIONS = 16
FULL_BLOCK = 100
"""Transactions in the block that is read."""
EMITTING = 10
"""Transactions that emit LOGS_EACH logs."""
LOGS_EACH = 100
BURNT = 10_000_000
"""Gas of a long call."""
BATCHED = 100
"""Calls of a batch."""
MINTED = 10**18

YARDSTICK = "block-number"
"""The row that measures a machine's speed for rows that no peer supports."""

ANVIL, HARDHAT = Bar(peers=("anvil",)), Bar(peers=("hardhat",))

ANVIL_ANSWERS = 70_000
"""Calls of eth_blockNumber per second on the machine for which the goals of such rows are stated."""

Check = Callable[[Any], bool]


def beside_anvil(rate: int) -> Bar:
    """Return a bar of `rate` per second, in proportion to Anvil's rate over `ANVIL_ANSWERS`."""
    return Bar(peers=("anvil",), times=rate / ANVIL_ANSWERS, row=YARDSTICK)


def prepare(scene: Scene) -> None:
    """Make a token holder, a receipt, a block of a hundred transactions and a thousand logs."""
    holder, busy = account("holder"), account("busy")
    scene.fund([holder, busy])
    mint = sign(
        holder,
        0,
        scene.contract("Token"),
        data=call_data("mint(uint256)", MINTED),
        gas=150_000,
    )
    scene.client.mine(mint)
    scene.facts["transaction"] = hash_of(mint)
    raws = [sign(busy, nonce, holder.address, value=1) for nonce in range(FULL_BLOCK)]
    scene.facts["block"] = hex(scene.mine_in_one_block(busy, raws))
    emit = call_data("emitLogs(uint256)", LOGS_EACH)
    receipts = [scene.from_funder(scene.contract("Emitter"), data=emit) for _ in range(EMITTING)]
    scene.facts["logs"] = {
        "fromBlock": receipts[0]["blockNumber"],
        "toBlock": receipts[-1]["blockNumber"],
        "address": _text(scene, "Emitter"),
        "topics": [TRANSFER_TOPIC],
    }


def repeat(
    scene: Scene,
    bodies: Sequence[bytes],
    check: Check,
    *,
    connections: int = CONNECTIONS,
    framing: Framing | None = None,
    pace: Pace | None = None,
    in_flight: int = 1,
) -> Measurement:
    """Check the answer of each body once over HTTP, then repeat the bodies at full speed.

    Raises:
        RpcFailed: An answer is an error.
        WrongAnswer: An answer is not as the workload expects.
    """
    for request in bodies:
        answer = scene.client.ask(request)
        for single in answer if isinstance(answer, list) else [answer]:
            if "error" in single:
                raise RpcFailed(str(single["error"]))
            if not check(single["result"]):
                raise WrongAnswer(str(single["result"])[:200])
    return run_loop(
        scene,
        framing or scene.http,
        bodies,
        connections,
        pace or scene.scale.pace,
        in_flight=in_flight,
    )


def run_loop(
    scene: Scene,
    framing: Framing,
    bodies: Sequence[bytes],
    connections: int,
    pace: Pace,
    *,
    in_flight: int = 1,
) -> Measurement:
    """Repeat bodies at full speed, and measure the server's processor time.

    Raises:
        WrongAnswer: An answer held an error.
    """
    before = scene.server.processor_seconds()
    speed = closed_loop(framing, bodies, connections, pace, in_flight=in_flight)
    used = scene.server.processor_seconds() - before
    if speed.failed:
        raise WrongAnswer(f"{speed.failed} answers were errors")
    return Measurement(speed.rate, speed.p50, speed.p99, used / speed.answers, worst=speed.worst)


def read_balance(
    scene: Scene, *, connections: int = CONNECTIONS, pace: Pace | None = None
) -> Measurement:
    """Read the balances of ten accounts, some of which have none."""
    accounts = [FUNDER, account("holder"), *(account("nobody", index) for index in range(8))]
    bodies = [body("eth_getBalance", who.text, "latest") for who in accounts]
    return repeat(scene, bodies, _hex, connections=connections, pace=pace)


def read_token_balance(scene: Scene) -> Measurement:
    """Read a token balance, the most frequent call of wallets."""
    return repeat(scene, [balance_of(scene)], lambda result: int(result, 16) == MINTED)


def _block_number(scene: Scene) -> Measurement:
    return repeat(scene, [body("eth_blockNumber")], _hex)


def _chain_id(scene: Scene) -> Measurement:
    return repeat(scene, [body("eth_chainId")], lambda result: int(result, 16) == CHAIN_ID)


def _count(scene: Scene) -> Measurement:
    """Read the nonces of ten accounts, of which the second has sent most."""
    accounts = [FUNDER, account("busy"), *(account("nobody", index) for index in range(8))]
    bodies = [body("eth_getTransactionCount", who.text, "latest") for who in accounts]
    return repeat(scene, bodies, _hex)


def _receipt(scene: Scene) -> Measurement:
    question = body("eth_getTransactionReceipt", scene.facts["transaction"])
    return repeat(scene, [question], lambda result: result["status"] == "0x1")


def _block(scene: Scene) -> Measurement:
    question = body("eth_getBlockByNumber", scene.facts["block"], True)
    return repeat(scene, [question], _is_full_block, connections=1)


def _is_full_block(result: Any) -> bool:
    transactions = result["transactions"]
    return len(transactions) == FULL_BLOCK and all("v" in each for each in transactions)


def _logs(scene: Scene) -> Measurement:
    question = body("eth_getLogs", scene.facts["logs"])
    return repeat(
        scene, [question], lambda result: len(result) == EMITTING * LOGS_EACH, connections=1
    )


def estimate(scene: Scene) -> Measurement:
    call = {
        "from": account("holder").text,
        "to": _text(scene, "Token"),
        "data": "0x" + transfer(account("nobody").address, 5).hex(),
    }
    return repeat(
        scene, [body("eth_estimateGas", call)], lambda result: 40_000 < int(result, 16) < 60_000
    )


def _batch(scene: Scene) -> Measurement:
    batches = repeat(scene, [_balances()], _hex)
    return replace(batches, value=batches.value * BATCHED)


def _worst_batch(scene: Scene) -> Measurement:
    """Measure the slowest answer, those right after the connections were opened included."""
    pace = Pace(0.0, scene.scale.pace.seconds, scene.scale.pace.repeats)
    batches = repeat(scene, [_balances()], _hex, pace=pace)
    assert batches.worst is not None
    return replace(batches, value=batches.worst * 1e3)


def _balances() -> bytes:
    calls = [[account("nobody", index).text, "latest"] for index in range(BATCHED)]
    return batch("eth_getBalance", calls)


def _mixed(scene: Scene) -> Measurement:
    return repeat(scene, mixed(scene), lambda result: result is not None)


def mixed(scene: Scene) -> list[bytes]:
    """Return the mix of reads."""
    holder, transaction = account("holder").text, scene.facts["transaction"]
    return [
        body("eth_blockNumber"),
        body("eth_getBalance", holder, "latest"),
        balance_of(scene),
        body("eth_getTransactionReceipt", transaction),
        body("eth_getBlockByNumber", "latest", False),
        body("eth_chainId"),
        body("eth_getTransactionCount", holder, "pending"),
        body("eth_gasPrice"),
        body("eth_getTransactionByHash", transaction),
        body("eth_getCode", _text(scene, "Token"), "latest"),
    ]


def _long_call(scene: Scene) -> Measurement:
    return burn(scene, {"to": _text(scene, "Burner"), "data": "0x44df8e70"}, connections=1)


def burn(scene: Scene, call: dict[str, str], *, connections: int) -> Measurement:
    """Measure the gas per second, in millions, of a call that uses all of its gas."""
    # No warm-up, because the slowest peer takes seconds for one call.
    pace = Pace(0.0, 2 * scene.scale.pace.seconds, 1)
    request = body("eth_call", {**call, "gas": hex(BURNT)}, "latest")
    calls = repeat(scene, [request], _hex, connections=connections, pace=pace)
    return replace(calls, value=calls.value * BURNT / 1e6)


def balance_of(scene: Scene) -> bytes:
    """Return a call of the token's balanceOf for its holder."""
    data = "0x" + call_data("balanceOf(address)", account("holder").address).hex()
    return body("eth_call", {"to": _text(scene, "Token"), "data": data}, "latest")


def _hex(result: Any) -> bool:
    return isinstance(result, str) and result.startswith("0x")


def _text(scene: Scene, contract: str) -> str:
    return "0x" + scene.contract(contract).hex()


BLOCK_NUMBER = Workload(
    YARDSTICK, "eth_blockNumber, 16 connections", "req/s", _block_number, HARDHAT, ANVIL
)
BALANCE = Workload("balance", "eth_getBalance, 16", "req/s", read_balance, HARDHAT, ANVIL)
CHAIN_ID_READ = Workload("chain-id", "eth_chainId, 16", "req/s", _chain_id, None, ANVIL)
COUNT = Workload("count", "eth_getTransactionCount, 16", "req/s", _count, None, ANVIL)
CALL = Workload("call", "eth_call balanceOf, 16", "req/s", read_token_balance, HARDHAT, ANVIL)
RECEIPT = Workload("receipt", "eth_getTransactionReceipt, 16", "req/s", _receipt, HARDHAT, ANVIL)
BLOCK = Workload(
    "full-block",
    "eth_getBlockByNumber, 100 full transactions, 1",
    "req/s",
    _block,
    Bar(1_020),
    Bar(4_000),
)
LOGS = Workload("logs", "eth_getLogs, 1,000 logs, 1", "req/s", _logs, Bar(196), Bar(435))
ESTIMATE = Workload(
    "estimate",
    "eth_estimateGas ERC-20, 16",
    "req/s",
    estimate,
    Bar(4_000),
    Bar(peers=("anvil", "hardhat")),
)
BATCH = Workload("batch", "batch of 100 eth_getBalance, 16", "calls/s", _batch, Bar(60_000), ANVIL)
WORST_BATCH = Workload(
    "batch-worst",
    "batch of 100 eth_getBalance, 16, worst answer",
    "ms",
    _worst_batch,
    None,
    Bar(30),
    Better.LESS,
)
MIXED = Workload("mixed", "mixed reads, 16", "req/s", _mixed, HARDHAT, ANVIL)
LONG_CALL = Workload("long-call", "eth_call of 10 M gas, 1", "Mgas/s", _long_call, Bar(250), ANVIL)
_ROWS = (
    BLOCK_NUMBER,
    CHAIN_ID_READ,
    BALANCE,
    COUNT,
    CALL,
    RECEIPT,
    BLOCK,
    LOGS,
    ESTIMATE,
    BATCH,
    MIXED,
    LONG_CALL,
)
READS = tuple(replace(row, production=AS_EMBEDDED) for row in _ROWS)

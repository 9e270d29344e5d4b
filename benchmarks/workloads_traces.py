"""Traces over HTTP: of a transaction and a call of ten million gas, and of a block of a hundred transfers.

`TRACES` are for a node without cached answers (NODE_TRACE_CACHE=0), so that they measure tracing.
`KEPT_TRACES` are for a node with its defaults, and for peers as they are: the requests are repeated.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.contracts import call_data
from benchmarks.generator import Pace
from benchmarks.rpc import body
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import account, sign
from benchmarks.workload import Bar, Measurement, Workload
from benchmarks.workloads_read import FULL_BLOCK, repeat

PAID = 290
"""Addresses that one transaction pays, all of them new: ten million gas."""
FIRST_TRACED, FIRST_CALLED = 1 << 100, 1 << 101
"""The first of the addresses that the transaction pays, and of those that the call would pay."""
MIN_GAS = 9_500_000

CALLS = {"tracer": "callTracer"}


def prepare(scene: Scene) -> None:
    """Make the transaction and the block that are traced."""
    receipt = scene.from_funder(
        scene.contract("Disperser"), value=PAID, data=call_data(_FILL, FIRST_TRACED, PAID)
    )
    assert int(receipt["gasUsed"], 16) > MIN_GAS
    scene.facts["traced"] = receipt["transactionHash"]
    busy = account("busy")
    scene.fund([busy])
    raws = [sign(busy, nonce, FUNDER.address, value=1) for nonce in range(FULL_BLOCK)]
    scene.facts["block"] = hex(scene.mine_in_one_block(busy, raws))


_FILL = "fill(uint160,uint256)"


def _trace(scene: Scene, method: str, *params: Any, check: Callable[[Any], bool]) -> Measurement:
    # No warm-up, because the slowest peers take a second for one answer.
    pace = Pace(0.0, 2 * scene.scale.pace.seconds, 1)
    return repeat(scene, [body(method, *params)], check, connections=1, pace=pace)


def _calls_of_transaction(scene: Scene) -> Measurement:
    traced = scene.facts["traced"]
    return _trace(scene, "debug_traceTransaction", traced, CALLS, check=_has_calls)


def _calls_of_call(scene: Scene) -> Measurement:
    call = {
        "from": FUNDER.text,
        "to": "0x" + scene.contract("Disperser").hex(),
        "data": "0x" + call_data(_FILL, FIRST_CALLED, PAID).hex(),
        "value": hex(PAID),
        "gas": hex(16_000_000),
    }
    return _trace(scene, "debug_traceCall", call, "latest", CALLS, check=_has_calls)


def _steps_of_transaction(scene: Scene) -> Measurement:
    traced = scene.facts["traced"]
    return _trace(
        scene,
        "debug_traceTransaction",
        traced,
        {},
        check=lambda result: len(result["structLogs"]) > PAID * 20,
    )


def _calls_of_block(scene: Scene) -> Measurement:
    return _trace(
        scene,
        "debug_traceBlockByNumber",
        scene.facts["block"],
        CALLS,
        check=lambda result: len(result) == FULL_BLOCK,
    )


def _steps_of_block(scene: Scene) -> Measurement:
    return _trace(
        scene,
        "debug_traceBlockByNumber",
        scene.facts["block"],
        {},
        check=lambda result: len(result) == FULL_BLOCK,
    )


def _has_calls(result: Any) -> bool:
    return len(result["calls"]) == PAID


TWICE_ANVIL = Bar(peers=("anvil",), times=2.0)


def _row(name: str, title: str, measure: Callable[[Scene], Measurement]) -> Workload:
    return Workload(name, title, "req/s", measure, None, TWICE_ANVIL)


_TRANSACTION, _BLOCK = "transaction of 10 M gas", "block of 100 transfers"
TRACES = (
    _row("trace-calls", f"callTracer, {_TRANSACTION}, 1", _calls_of_transaction),
    _row("trace-calls-of-call", "callTracer, debug_traceCall of 10 M gas, 1", _calls_of_call),
    _row("trace-steps", f"struct logger, {_TRANSACTION}, 1", _steps_of_transaction),
    _row("trace-block", f"callTracer, {_BLOCK}, 1", _calls_of_block),
    _row("trace-block-steps", f"struct logger, {_BLOCK}, 1", _steps_of_block),
)
KEPT_TRACES = (
    _row("kept-calls", f"callTracer, {_TRANSACTION}, repeated, 1", _calls_of_transaction),
    _row("kept-steps", f"struct logger, {_TRANSACTION}, repeated, 1", _steps_of_transaction),
    _row("kept-block", f"callTracer, {_BLOCK}, repeated, 1", _calls_of_block),
    _row("kept-block-steps", f"struct logger, {_BLOCK}, repeated, 1", _steps_of_block),
)

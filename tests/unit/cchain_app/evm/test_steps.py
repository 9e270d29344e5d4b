"""The steps recorded by each engine: for the struct logger and for the vmTrace; preimages."""

import json
from typing import Any, Final

import pytest

from cchain_app.evm.tracing import Recording, StepOptions, TracingEngine, TransactionTrace
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders.bytecode import assemble
from tests.builders.cchain import MemoryState, block_env, call_message, genesis_state

CONTRACT: Final = Address(b"\xc0" * 20)
OTHER: Final = Address(b"\xd0" * 20)
GAS: Final = 100_000
PREIMAGES: Final = Recording(preimages=True)


def world(code: bytes, other: bytes = b"", **account: Any) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, **account)
    state.put(OTHER, code=other, nonce=1)
    return state


def trace(
    engine: TracingEngine,
    state: MemoryState,
    recording: Recording,
    fork: str = "prague",
    gas: int = GAS,
) -> TransactionTrace:
    return engine.trace_call(block_env(fork), call_message(CONTRACT, gas=gas), state, recording)


def steps(
    engine: TracingEngine, state: MemoryState, fork: str = "prague", gas: int = GAS, **options: Any
) -> list[dict[str, Any]]:
    recording = Recording(steps=StepOptions(**options))
    found: list[dict[str, Any]] = json.loads(
        b"[%b]" % trace(engine, state, recording, fork, gas).steps
    )
    return found


def last(
    engine: TracingEngine, code: bytes, fork: str = "prague", gas: int = GAS, **account: Any
) -> dict[str, Any]:
    """Return the last step of code without its stack."""
    return steps(engine, world(code, **account), fork, gas, stack=False)[-1]


def calling(address: bytes, kind: str = "CALL", gas: int = 50_000) -> bytes:
    values = [0] if kind == "CALL" else []
    return assemble(0, 0, 0, 0, *values, int.from_bytes(address), gas, kind)


def test_step_has_go_ethereums_format(engine: TracingEngine) -> None:
    state = world(assemble("1 0 MSTORE"))
    recording = Recording(steps=StepOptions(memory=True, return_data=True))
    word = "0" * 63 + "1"
    assert trace(engine, state, recording).steps.decode() == ",".join(
        [
            '{"pc":0,"op":"PUSH1","gas":79000,"gasCost":3,"depth":1,"stack":[]}',
            '{"pc":2,"op":"PUSH1","gas":78997,"gasCost":3,"depth":1,"stack":["0x1"]}',
            '{"pc":4,"op":"MSTORE","gas":78994,"gasCost":6,"depth":1,"stack":["0x1","0x0"]}',
            '{"pc":5,"op":"STOP","gas":78988,"gasCost":0,"depth":1,"stack":[],'
            f'"memory":["0x{word}"]}}',
        ]
    )


def test_recording_ends_above_the_limit_and_the_execution_continues(engine: TracingEngine) -> None:
    state = world(assemble("1 1 1 1 0 SSTORE"))
    whole = trace(engine, state, Recording(steps=StepOptions()))
    first = whole.steps.index(b",{")
    one = trace(engine, state, Recording(steps=StepOptions(limit=first - 1)))
    two = trace(engine, state, Recording(steps=StepOptions(limit=first)))
    assert one.steps == whole.steps[:first]
    assert two.steps.count(b"{") == 2
    assert one.gas_used == two.gas_used == whole.gas_used


def test_slots_are_shown_that_were_seen_in_the_contract_so_far(engine: TracingEngine) -> None:
    state = world(assemble("7 1 SSTORE 0 SLOAD"), storage={0: 5})
    zero, one, five, seven = (f"0x{number:064x}" for number in (0, 1, 5, 7))
    shown = [step["storage"] for step in steps(engine, state) if "storage" in step]
    assert shown == [{one: seven}, {zero: five, one: seven}]
    assert list(shown[1]) == [zero, one]


def test_the_refund_is_counted_over_frames_and_undone_with_them(engine: TracingEngine) -> None:
    clearing = assemble("0 0 SSTORE")
    state = world(clearing + calling(OTHER), storage={0: 1})
    state.put(OTHER, code=clearing + assemble("0 0 REVERT"), nonce=1, storage={0: 1})
    shown = [(step["depth"], step["op"], step.get("refund", 0)) for step in steps(engine, state)]
    assert (1, "SSTORE", 4_800) in shown
    assert (2, "REVERT", 9_600) in shown
    assert shown[-1] == (1, "STOP", 4_800)


def test_gas_cost_includes_forwarded_gas_of_calls_only(engine: TracingEngine) -> None:
    called = steps(engine, world(calling(OTHER)))
    assert called[-2]["gasCost"] == 50_000 + 2_600
    created = steps(engine, world(assemble("0 0 0 CREATE")))
    assert created[3]["gasCost"] == 32_000


@pytest.mark.parametrize(
    ("code", "cost", "error"),
    [
        (assemble("ADD"), 3, "stack underflow (0 <=> 2)"),
        (assemble("1 2 3 4 CALL"), 100, "stack underflow (4 <=> 7)"),
        (assemble("SLOAD"), 0, "stack underflow (0 <=> 1)"),
        (b"\x0c", 0, None),
        (b"\xfe", 0, None),
        (assemble("5 JUMP"), 8, None),
        (assemble("1 0 0 RETURNDATACOPY"), 3 + 3 + 3, None),
        (assemble(2**64, "MLOAD"), 3, "gas uint64 overflow"),
        (assemble(2**20, "MLOAD"), 3 + 3 * 32_769 + 32_769**2 // 512, "out of gas"),
        (assemble(2**20, "0 KECCAK256"), 30 + 9 * 2**15 + 2**21, "out of gas"),
        (assemble(2**20, "0 LOG0"), 375 + 8 * 2**20 + 3 * 2**15 + 2**21, "out of gas"),
    ],
)
def test_failed_step_has_its_gas_cost(
    engine: TracingEngine, code: bytes, cost: int, error: str | None
) -> None:
    found = last(engine, code)
    assert (found["gasCost"], found.get("error")) == (cost, error)


def test_unaffordable_step_has_its_full_gas_cost(engine: TracingEngine) -> None:
    address = int.from_bytes(OTHER)
    left = 21_000 + 3
    assert last(engine, assemble(address, "BALANCE"), gas=left + 50)["gasCost"] == 100
    assert last(engine, assemble(address, "BALANCE"), gas=left + 200)["gasCost"] == 2_600
    assert last(engine, assemble("0 SLOAD"), gas=left + 200)["gasCost"] == 2_100
    assert last(engine, assemble("0 SLOAD"), "istanbul", gas=left + 200)["gasCost"] == 800
    assert last(engine, assemble("7 0 SSTORE"), gas=left + 3 + 2_500)["gasCost"] == 22_100
    cleared = last(engine, assemble("0 0 SSTORE"), gas=left + 3 + 2_500, storage={0: 1})
    assert (cleared["gasCost"], cleared["refund"]) == (5_000, 4_800)
    assert last(engine, assemble(address, "SELFDESTRUCT"), gas=left + 6_000)["gasCost"] == 7_600


def test_below_a_staticcall_a_change_is_a_step_with_an_error(engine: TracingEngine) -> None:
    state = world(calling(OTHER, "STATICCALL"), assemble("1 2 SSTORE"))
    (failed,) = (step for step in steps(engine, state) if "error" in step)
    assert (failed["op"], failed["gasCost"], failed["error"]) == ("SSTORE", 0, "write protection")


@pytest.mark.parametrize("address", [bytes(19) + b"\x04", b"\x0e" * 20])
def test_accounts_without_code_have_no_steps(engine: TracingEngine, address: bytes) -> None:
    assert {step["depth"] for step in steps(engine, world(calling(address)))} == {1}


def test_empty_init_code_has_no_steps(engine: TracingEngine) -> None:
    found = engine.trace_call(
        block_env(), call_message(None), genesis_state(), Recording(steps=StepOptions(), vm=True)
    )
    assert (found.steps, found.vm) == (b"", b"null")


def vm(engine: TracingEngine, state: MemoryState) -> Any:
    return json.loads(trace(engine, state, Recording(vm=True)).vm)


def test_vm_trace_has_the_effect_of_each_instruction(engine: TracingEngine) -> None:
    code = assemble("7 3 SSTORE 0 SLOAD 0 MSTORE ADD")
    traced = vm(engine, world(code, storage={0: 5}))
    assert traced["code"] == "0x" + code.hex()
    ops = {op["op"]: op for op in traced["ops"]}
    assert ops["SSTORE"]["ex"]["store"] == {"key": "0x3", "val": "0x7"}
    assert ops["SLOAD"]["ex"]["push"] == ["0x5"]
    assert ops["MSTORE"]["ex"]["mem"] == {"data": f"0x{5:064x}", "off": 0}
    first = traced["ops"][0]
    assert (first["pc"], first["cost"], first["sub"]) == (0, 3, None)
    assert first["ex"] == {"mem": None, "push": ["0x7"], "store": None, "used": 78_997}
    assert ops["ADD"]["ex"] is None


def test_a_vm_trace_nests_frames_that_run_code(engine: TracingEngine) -> None:
    state = world(calling(OTHER) + calling(bytes(19) + b"\x04"), assemble("1 0 REVERT"))
    calls = [op for op in vm(engine, state)["ops"] if op["op"] == "CALL"]
    assert [op["op"] for op in calls[0]["sub"]["ops"]] == ["PUSH1", "PUSH1", "REVERT"]
    assert calls[0]["ex"]["push"] == ["0x0"]
    assert calls[1]["sub"] is None
    assert calls[1]["ex"]["push"] == ["0x1"]


def test_preimage_that_extends_memory_by_over_1_mib_is_not_recorded(
    engine: TracingEngine,
) -> None:
    for length, recorded in ((2**20, 1), (2**20 + 1, 0)):
        found = trace(engine, world(assemble(length, "0 KECCAK256")), PREIMAGES, gas=10_000_000)
        assert found.succeeded
        assert [len(preimage) for preimage in found.preimages] == [length] * recorded


def test_preimage_is_recorded_even_if_gas_runs_out(engine: TracingEngine) -> None:
    for gas in (21_020, 21_050):
        found = trace(engine, world(assemble("64 1 KECCAK256")), PREIMAGES, gas=gas)
        assert found.error == "out of gas"
        assert found.preimages == (bytes(64),)


def test_preimages_are_recorded_once_in_order(engine: TracingEngine) -> None:
    code = assemble("32 0 KECCAK256 0 0 KECCAK256 32 0 KECCAK256 0 MSTORE 32 0 KECCAK256")
    found = trace(engine, world(code), PREIMAGES)
    assert found.preimages == (bytes(32), b"", keccak256(bytes(32)))

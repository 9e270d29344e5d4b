"""Traces in the formats of go-ethereum's tracers, in cases that its vectors do not cover."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    Log,
    SlotChange,
    StateChanges,
)
from cchain_app.evm.tracing import (
    Frame,
    FrameLog,
    TouchedState,
    TraceTooLarge,
    TransactionTrace,
)
from cchain_app.tracing.options import TraceContext, parse_trace_config
from cchain_app.tracing.render import render
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256

ALICE, BOB, CAROL = (Address(bytes([number]) * 20) for number in (0xA1, 0xB0, 0xCA))
WORD = Word(bytes(31) + b"\x07")
SLOT = Slot(bytes(31) + b"\x01")
CODE = b"\x60\x00"
DEEPEST = 1024
NOWHERE = TraceContext()


def frame(depth: int = 0, **changes: Any) -> Frame:
    values: dict[str, Any] = {
        "depth": depth,
        "type": "CALL",
        "sender": ALICE,
        "to": BOB,
        "value": 0,
        "gas": 100 - depth,
        "gas_used": 50,
        "input": b"",
        "output": b"",
        "error": None,
        "precompile": False,
    }
    return Frame(**{**values, **changes})


def trace(*frames: Frame, state: TouchedState | None = None, **changes: Any) -> TransactionTrace:
    plain = TransactionTrace(
        succeeded=True,
        gas_limit=30_000,
        gas_used=25_000,
        gas_peak=26_000,
        output=b"",
        error=None,
        logs=(),
        contract_address=None,
        frames=frames,
        state=state,
    )
    return replace(plain, **changes)


def shown(
    traced: TransactionTrace,
    tracer: str | None = None,
    context: TraceContext = NOWHERE,
    **config: Any,
) -> Any:
    options = {"tracer": tracer, "tracerConfig": config}
    return json.loads(render(traced, parse_trace_config(options), context))


def test_frames_at_the_greatest_depth_are_shown_without_recursion() -> None:
    traced = trace(*map(frame, range(DEEPEST + 1)), frame(1))
    config = parse_trace_config({"tracer": "callTracer"})
    text = render(traced, config, TraceContext())
    assert text.count(b'"calls":[') == DEEPEST
    assert text.count(b"{") == text.count(b"}") == DEEPEST + 2
    entries = shown(traced, "flatCallTracer")
    assert entries[DEEPEST]["traceAddress"] == [0] * DEEPEST
    assert entries[-1]["traceAddress"] == [1]
    assert [entry["subtraces"] for entry in entries[:2]] == [2, 1]


def test_calls_are_nested_in_their_callers() -> None:
    found = shown(
        trace(frame(), frame(1, gas=1), frame(2, gas=2), frame(1, gas=3), frame(2, gas=4)),
        "callTracer",
    )
    assert found["gas"] == hex(30_000)
    assert found["gasUsed"] == hex(25_000)
    assert [call["gas"] for call in found["calls"]] == ["0x1", "0x3"]
    assert [call["calls"][0]["gas"] for call in found["calls"]] == ["0x2", "0x4"]


def test_logs_are_numbered_on_from_those_before_in_the_block() -> None:
    logged = frame(logs=(FrameLog(Log(BOB, (WORD,), b"\x01"), 1, 3),))
    context = TraceContext(first_log=16)
    (log,) = shown(trace(logged), "callTracer", context, withLog=True)["logs"]
    assert (log["index"], log["position"]) == ("0x11", "0x3")
    (log,) = shown(trace(logged), "callTracer", context, withLog=True, onlyTopCall=True)["logs"]
    assert (log["index"], log["position"]) == ("0x11", "0x0")
    assert "logs" not in shown(trace(logged), "callTracer", context)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (b"", None),
        (bytes.fromhex("08c379a0") + bytes(31) + b"\x20" + bytes(32), None),
        (bytes.fromhex("08c379a0") + bytes(31) + b"\x20" + bytes(31) + b"\x02\xe2\x82", "��"),
        (bytes.fromhex("4e487b71") + bytes(31) + b"\x99", "unknown panic code: 0x99"),
    ],
)
def test_reasons_of_reverts(output: bytes, reason: str | None) -> None:
    reverted = frame(error="execution reverted", output=output)
    found = shown(trace(reverted, succeeded=False), "callTracer")
    assert found.get("revertReason") == reason
    assert found.get("output") == ("0x" + output.hex() if output else None)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("out of gas: not enough gas for reentrancy sentry", "Out of gas"),
        ("stack underflow (0 <=> 2)", "Stack underflow"),
        ("stack limit reached 1024 (1023)", "Out of stack"),
        ("invalid opcode: INVALID", "Bad instruction"),
        ("write protection", "write protection"),
        ("precompiled failed", "Built-in failed"),
        ("point is not on curve", "point is not on curve"),
        ("max call depth exceeded", "max call depth exceeded"),
    ],
)
def test_errors_are_converted_on_request(error: str, word: str) -> None:
    traced = trace(frame(), frame(1, error=error))
    assert shown(traced, "flatCallTracer")[1]["error"] == error
    entry = shown(traced, "flatCallTracer", convertParityErrors=True)[1]
    assert entry["error"] == word
    assert "result" not in entry


def test_precompile_calls_are_omitted_and_not_counted() -> None:
    traced = trace(
        frame(),
        frame(1, precompile=True),
        frame(1, precompile=True, type="DELEGATECALL"),
        frame(1),
    )
    entries = shown(traced, "flatCallTracer")
    assert [entry["traceAddress"] for entry in entries] == [[], [0], [1]]
    assert entries[0]["subtraces"] == 2
    assert entries[1]["action"]["callType"] == "delegatecall"
    assert len(shown(traced, "flatCallTracer", includePrecompiles=True)) == 4
    assert len(shown(trace(frame(precompile=True)), "flatCallTracer")) == 1


def test_a_call_is_nowhere_in_the_chain() -> None:
    (entry,) = shown(trace(frame()), "flatCallTracer")
    place = ("blockHash", "blockNumber", "transactionHash", "transactionPosition")
    assert [entry[member] for member in place] == [None, 0, None, 0]


def account(balance: int, nonce: int = 0, code: bytes = b"") -> AccountState:
    return AccountState(nonce, balance, keccak256(code) if code else EMPTY_HASH)


def destroyed() -> TouchedState:
    """Return the touched state of a transaction that destroyed a contract with storage (before Cancun)."""
    gone = account(3, 1, CODE)
    return TouchedState(
        accounts={ALICE: account(9), BOB: gone, CAROL: None},
        slots={BOB: {SLOT: WORD, Slot(bytes(32)): ZERO_WORD}},
        codes={BOB: CODE},
        changes=StateChanges(
            accounts={
                ALICE: AccountChange(account(9), account(5, 1)),
                BOB: AccountChange(gone, None),
                CAROL: AccountChange(None, account(7)),
            },
            cleared=frozenset({BOB}),
        ),
    )


def test_destroyed_account_is_in_pre_only() -> None:
    found = shown(trace(frame(), state=destroyed()), "prestateTracer", diffMode=True)
    assert found["post"] == {
        "0x" + ALICE.hex(): {"balance": "0x5", "nonce": 1},
        "0x" + CAROL.hex(): {"balance": "0x7"},
    }
    assert found["pre"] == {
        "0x" + ALICE.hex(): {"balance": "0x9"},
        "0x" + BOB.hex(): {
            "balance": "0x3",
            "code": "0x6000",
            "codeHash": "0x" + keccak256(CODE).hex(),
            "nonce": 1,
            "storage": {"0x" + SLOT.hex(): "0x" + WORD.hex()},
        },
    }


def test_accounts_of_which_only_slots_changed_are_shown_with_these() -> None:
    contract = account(3, 1, CODE)
    state = TouchedState(
        accounts={BOB: contract},
        slots={BOB: {SLOT: WORD}},
        codes={BOB: CODE},
        changes=StateChanges(storage={(BOB, SLOT): SlotChange(WORD, ZERO_WORD)}),
    )
    found = shown(trace(frame(), state=state), "prestateTracer", diffMode=True)
    assert found["post"] == {"0x" + BOB.hex(): {}}
    assert found["pre"]["0x" + BOB.hex()]["storage"] == {"0x" + SLOT.hex(): "0x" + WORD.hex()}
    without = shown(
        trace(frame(), state=state), "prestateTracer", diffMode=True, disableStorage=True
    )
    assert without == {"post": {}, "pre": {}}


def test_code_that_an_account_shares_with_another_is_found() -> None:
    state = TouchedState(
        accounts={ALICE: account(1), BOB: account(0, 1, CODE)},
        codes={BOB: CODE},
        changes=StateChanges(accounts={ALICE: AccountChange(account(1), account(1, 1, CODE))}),
    )
    found = shown(trace(frame(), state=state), "prestateTracer", diffMode=True)
    assert found["post"]["0x" + ALICE.hex()]["code"] == "0x6000"


def test_struct_logger_returns_no_value_after_exceptional_halt() -> None:
    failed = trace(frame(), succeeded=False, error="out of gas", steps=b'{"pc":0},{"pc":1}')
    assert shown(failed) == {
        "gas": 25_000,
        "failed": True,
        "returnValue": "0x",
        "structLogs": [{"pc": 0}, {"pc": 1}],
    }
    reverted = trace(frame(), succeeded=False, error="execution reverted", output=b"\x01")
    assert shown(reverted)["returnValue"] == "0x01"


def test_an_answer_that_grows_too_long_is_aborted() -> None:
    config = parse_trace_config({"tracer": "flatCallTracer"})
    with pytest.raises(TraceTooLarge):
        render(trace(*[frame()] * 1000), config, TraceContext(Hash(bytes(32))), most_bytes=1000)

"""Traces of both engines compared to go-ethereum's: 45 transactions, each in 19 formats."""

import hashlib
import json
from typing import Any, cast

import pytest

from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import Recording, TraceTooLarge, TracingEngine, TransactionTrace
from cchain_app.tracing.options import TraceContext, parse_trace_config
from cchain_app.tracing.render import render
from primitives.evm import Address
from tests.builders.bytecode import assemble
from tests.builders.cchain import MemoryState, block_env, call_message
from tests.conformance.evm.tracing_vectors import (
    CALL_OPTIONS,
    NAMES,
    OPTIONS,
    Case,
    PrecompileError,
    precompile_errors,
    traced_calls,
    tracing_cases,
)

CALLS = traced_calls()
PRECOMPILE_ERRORS = precompile_errors()

CALLER = Address(b"\xc0" * 20)
FRAMES = Recording(frames=True)
PASS_INPUT_ON = "CALLDATASIZE 0 0 CALLDATACOPY 0 0 CALLDATASIZE 0"

MAX_STEPS = 400
"""The vectors keep only the two ends and a hash of longer lists."""


@pytest.fixture(scope="module", params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> TracingEngine:
    found = select_engine(request.param)
    if not hasattr(found, "trace_block"):
        pytest.skip(f"the {request.param} engine does not trace yet")
    return cast(TracingEngine, found)


class Traces:
    """The traces of one transaction, executed once per kind of recording."""

    def __init__(self, engine: TracingEngine, case: Case) -> None:
        self._engine = engine
        self._case = case
        self._traces: dict[Recording, TransactionTrace] = {}

    def of(self, recording: Recording) -> TransactionTrace:
        if recording not in self._traces:
            block = self._engine.trace_block(
                self._case.env, [self._case.transaction], self._case.state, recording
            )
            (self._traces[recording],) = block.transactions
        return self._traces[recording]

    def answer(self, name: str) -> Any:
        config = parse_trace_config(OPTIONS[name])
        context = TraceContext(
            self._case.block_hash, self._case.env.number, self._case.transaction.hash
        )
        return json.loads(render(self.of(config.recording()), config, context))


def shortened(answer: Any) -> Any:
    """Return an answer in the format of the vectors: long lists of steps by their two ends."""
    steps = answer.get("structLogs") if isinstance(answer, dict) else None
    if steps is None or len(steps) <= MAX_STEPS:
        return answer
    text = json.dumps(steps, sort_keys=True, separators=(",", ":"))
    summary = {
        "count": len(steps),
        "first": steps[:20],
        "last": steps[-20:],
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return answer | {"structLogs": summary}


@pytest.mark.parametrize("name", NAMES)
def test_traces_match_go_ethereum(engine: TracingEngine, name: str) -> None:
    case = tracing_cases()[name]
    traces = Traces(engine, case)
    assert case.answers.keys() == OPTIONS.keys()
    for option, expected in case.answers.items():
        found = shortened(traces.answer(option))
        assert found == expected, option
        # the order of members must equal go-ethereum's too
        assert json.dumps(found) == json.dumps(expected), option


@pytest.mark.parametrize("name", CALLS)
def test_call_traces_match_go_ethereum(engine: TracingEngine, name: str) -> None:
    case = CALLS[name]
    assert case.answers.keys() == CALL_OPTIONS.keys()
    for option, expected in case.answers.items():
        config = parse_trace_config(CALL_OPTIONS[option])
        trace = engine.trace_call(block_env(), case.message, case.state, config.recording())
        found = json.loads(render(trace, config, TraceContext()))
        assert json.dumps(found) == json.dumps(expected), option


@pytest.mark.parametrize("error", PRECOMPILE_ERRORS, ids=str)
def test_precompile_failures_match_go_ethereum(error: PrecompileError) -> None:
    """The reference engine does not know why a precompile failed."""
    native, env = cast(TracingEngine, select_engine("native")), block_env()
    precompile = Address(error.precompile.to_bytes(20, "big"))
    call = call_message(precompile, error.input, gas=error.gas)
    assert native.call(env, call, MemoryState()).error == error.error
    (top,) = native.trace_call(env, call, MemoryState(), FRAMES).frames
    state = MemoryState()
    state.put(CALLER, code=assemble(PASS_INPUT_ON, error.precompile, top.gas, "STATICCALL"))
    call = call_message(CALLER, error.input, gas=2 * error.gas)
    frames = native.trace_call(env, call, state, FRAMES).frames
    assert [frame.error for frame in (top, *frames)] == [error.error, None, error.error]


@pytest.mark.parametrize("name", NAMES)
def test_trace_matches_the_receipt(engine: TracingEngine, name: str) -> None:
    case = tracing_cases()[name]
    trace = Traces(engine, case).of(Recording())
    assert trace.succeeded == (case.receipt["status"] == "0x1")
    assert trace.gas_used == int(case.receipt["gasUsed"], 16)
    assert len(trace.logs) == len(case.receipt["logs"])
    for log, expected in zip(trace.logs, case.receipt["logs"], strict=True):
        assert "0x" + log.address.hex() == expected["address"]
        assert ["0x" + topic.hex() for topic in log.topics] == expected["topics"]
        assert "0x" + log.data.hex() == expected["data"]


def test_recording_ends_where_it_would_take_too_many_bytes(engine: TracingEngine) -> None:
    traces = Traces(engine, tracing_cases()["struct_loop"])
    for options in (OPTIONS["struct"], OPTIONS["call"]):
        recording = parse_trace_config(options).recording(most_bytes=20)
        with pytest.raises(TraceTooLarge):
            traces.of(recording)


def test_trace_above_the_size_limit_is_refused(engine: TracingEngine) -> None:
    case = tracing_cases()["nested_calls"]
    for name, options in OPTIONS.items():
        config = parse_trace_config(options)
        trace = Traces(engine, case).of(config.recording())
        whole = render(trace, config, TraceContext())
        assert render(trace, config, TraceContext(), most_bytes=len(whole)) == whole, name
        with pytest.raises(TraceTooLarge):
            render(trace, config, TraceContext(), most_bytes=len(whole) - 1)

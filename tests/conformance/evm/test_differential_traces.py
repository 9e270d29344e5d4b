"""Both engines on traces of the same blocks and calls: everything that they record must agree.

These tests need the native engine and fail if it has not been built.
"""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from cchain_app.evm.engine import BlockEnv, CallMessage, CallRejected, StateChanges
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import (
    Frame,
    Recording,
    StepOptions,
    TouchedState,
    TraceTimedOut,
    TraceTooLarge,
    TracingEngine,
    TransactionTrace,
)
from cchain_app.txs.signing import encode_authorization
from cchain_app.txs.transaction import LEGACY
from primitives.evm import Address
from tests.builders import bytecode, scenarios
from tests.builders.cchain import (
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    call_message,
    transaction,
)
from tests.builders.scenarios import CONTRACTS
from tests.searching import cases

FORKS = ("berlin", "london", "shanghai", "cancun", "prague", "osaka")
RETURNED = re.compile(rb',"returnData":"0x[0-9a-f]*"')
WITHOUT_RETURNED = ("homestead", "tangerine_whistle")
"""Before RETURNDATASIZE the reference does not keep return data; go-ethereum shows it for all forks."""
OLD_FORKS = ("homestead", "tangerine_whistle", "byzantium", "constantinople", "istanbul")
"""Only calls are tested for these forks, because scenarios sign for a chain ID and use typed transactions."""
GWEI = 10**9
EVERYTHING = Recording(
    frames=True,
    state=True,
    steps=StepOptions(memory=True, return_data=True),
    vm=True,
    preimages=True,
    opcodes=True,
)

TOO_DEAR = ("out of gas", "gas uint64 overflow")
TWO_REASONS = (
    *TOO_DEAR,
    "return data out of bounds",
    "stack underflow",
    "max initcode size",
    "write protection",
)
"""Errors of instructions that may also lack gas; the engines may report either."""


@pytest.fixture(scope="module")
def native() -> TracingEngine:
    return select_engine("native")


@pytest.fixture(scope="module")
def reference() -> TracingEngine:
    return select_engine("reference")


def same_failure(found: str | None, expected: str | None) -> bool:
    """Return whether an error equals the expected one or is another reason for the same failure."""
    if found == expected:
        return True
    words = (found or "", expected or "")
    return any(word in TOO_DEAR for word in words) and all(
        not word or word.startswith(TWO_REASONS) for word in words
    )


def assert_same_frame(found: Frame, expected: Frame) -> None:
    """Compare two frames in everything but the reason why a precompile failed (reference: unknown)."""
    failed = found.error is not None and expected.error is not None
    if (failed and found.precompile) or same_failure(found.error, expected.error):
        found = found._replace(error=expected.error)
    assert found == expected


def assert_same_step(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare two steps. The cost of an instruction with two errors is undefined."""
    if found.get("error") != expected.get("error"):
        assert same_failure(found.get("error"), expected.get("error"))
        unsure = {"error": None, "gasCost": None}
        found, expected = found | unsure, expected | unsure
    assert found == expected


def assert_same_vm(found: Any, expected: Any) -> None:
    """Compare two vmTraces without recursion; the cost of a failed instruction is compared in its step."""
    pairs = [(found, expected)]
    while pairs:
        one, other = pairs.pop()
        if one is None or other is None:
            assert one is other
            continue
        assert one["code"] == other["code"]
        for op, wanted in zip(one["ops"], other["ops"], strict=True):
            pairs.append((op.pop("sub"), wanted.pop("sub")))
            if wanted["ex"] is None:
                op["cost"] = wanted["cost"]
            assert op == wanted


def assert_same_state(found: TouchedState | None, expected: TouchedState | None) -> None:
    assert found is not None
    assert expected is not None
    assert dict(found.accounts) == dict(expected.accounts)
    assert {address: dict(slots) for address, slots in found.slots.items()} == {
        address: dict(slots) for address, slots in expected.slots.items()
    }
    assert dict(found.codes) == dict(expected.codes)
    assert_same_changes(found.changes, expected.changes)


def assert_same_changes(found: StateChanges, expected: StateChanges) -> None:
    assert dict(found.accounts) == dict(expected.accounts)
    assert dict(found.storage) == dict(expected.storage)
    assert found.cleared == expected.cleared
    assert dict(found.codes) == dict(expected.codes)


def assert_same_trace(found: TransactionTrace, expected: TransactionTrace) -> None:
    """Compare part by part, so that a failure shows the part."""
    for one, other in zip(steps(found), steps(expected), strict=True):
        assert_same_step(one, other)
    for one, other in zip(found.frames, expected.frames, strict=True):
        assert_same_frame(one, other)
    assert_same_state(found.state, expected.state)
    assert found.preimages == expected.preimages
    assert_same_vm(json.loads(found.vm), json.loads(expected.vm))
    assert same_failure(found.error, expected.error) or expected.frames[0].precompile
    assert without_records(found) == without_records(expected)


def steps(trace: TransactionTrace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(b"[" + trace.steps + b"]")
    return found


def without_records(trace: TransactionTrace) -> TransactionTrace:
    return replace(trace, error=None, frames=(), state=None, steps=b"", vm=b"", preimages=())


slow = settings(
    max_examples=cases(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("fork", FORKS)
@slow
@given(data=st.data())
def test_engines_agree_on_traces_of_random_blocks(
    native: TracingEngine, reference: TracingEngine, fork: str, data: st.DataObject
) -> None:
    state = scenarios.world(data.draw(scenarios.random_codes))
    actions = data.draw(scenarios.blocks)
    transactions = scenarios.as_transactions(actions, state, fork)
    env = block_env(fork)
    block = native.execute_block(env, transactions, state, skip_invalid=True)
    event(f"included {len(block.included)}")
    accepted = [transactions[index] for index in block.included]
    expected = reference.trace_block(env, accepted, state, EVERYTHING)
    found = native.trace_block(env, accepted, state, EVERYTHING)
    assert_same_changes(found.before, expected.before)
    for one, other in zip(found.transactions, expected.transactions, strict=True):
        assert_same_trace(one, other)


def trace_call(
    engine: TracingEngine,
    env: BlockEnv,
    message: CallMessage,
    state: MemoryState,
    *,
    validate: bool = False,
) -> TransactionTrace | str:
    try:
        return engine.trace_call(env, message, state, EVERYTHING, validate=validate)
    except CallRejected as error:
        return str(error)


def assert_same_call(found: TransactionTrace | str, expected: TransactionTrace | str) -> None:
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
    else:
        assert_same_trace(found, expected)


CALLS_IDENTITY = bytes.fromhex("60016000600160006000600460c8f1")
"""Makes the identity precompile write a byte of memory; forks before Byzantium keep no return data."""

messages = st.fixed_dictionaries(
    {
        "to": st.one_of(scenarios.parties, st.none()),
        "data": scenarios.datas,
        "gas": st.sampled_from([20_000, 21_000, 53_000, 100_000, 400_000]),
        "gas_price": st.sampled_from([0, 0, GWEI, 2 * GWEI]),
        "value": st.sampled_from([0, 0, 1, 2**200]),
        "sender": scenarios.parties,
        "access_list": st.one_of(st.just(()), scenarios.access_lists),
    }
)


@pytest.mark.parametrize("fork", [*OLD_FORKS, *FORKS])
@settings(slow, max_examples=cases(15))
@given(code=scenarios.random_codes, changes=messages)
@example(code=CALLS_IDENTITY, changes={"to": None})
def test_engines_agree_on_traces_of_random_calls(
    native: TracingEngine,
    reference: TracingEngine,
    fork: str,
    code: bytes,
    changes: dict[str, Any],
) -> None:
    state, env = scenarios.world(code), block_env(fork)
    if fork in OLD_FORKS:
        changes = changes | {"access_list": ()}
    for message in (call_message(**changes), call_message(CONTRACTS["random"], b"\x01\x02")):
        expected = trace_call(reference, env, message, state)
        found = trace_call(native, env, message, state)
        if fork in WITHOUT_RETURNED and isinstance(found, TransactionTrace):
            found = replace(found, steps=RETURNED.sub(b"", found.steps))
        assert_same_call(found, expected)


@pytest.mark.parametrize("fork", ["byzantium", "berlin", "osaka"])
def test_engines_agree_on_the_deepest_trace(
    native: TracingEngine, reference: TracingEngine, fork: str
) -> None:
    message, state = call_message(CONTRACTS["recursion"], gas=10**15), scenarios.world()
    recording = Recording(frames=True, state=True)
    found, expected = (
        engine.trace_call(block_env(fork), message, state, recording)
        for engine in (native, reference)
    )
    assert len(expected.frames) == 1026
    assert expected.frames[-1].error == "max call depth exceeded"
    for one, other in zip(found.frames, expected.frames, strict=True):
        assert_same_frame(one, other)


def test_engines_agree_on_traces_of_senders_with_code(
    native: TracingEngine, reference: TracingEngine
) -> None:
    for fork in FORKS:
        state = scenarios.world()
        state.put(SENDERS[0], balance=10**20, code=bytecode.COUNTER, storage={0: 4})
        sent = [transaction(to=SENDERS[0], gas=60_000, type=LEGACY)]
        expected = reference.trace_block(block_env(fork), sent, state, EVERYTHING)
        found = native.trace_block(block_env(fork), sent, state, EVERYTHING)
        assert len(steps(expected.transactions[0])) > 1
        for one, other in zip(found.transactions, expected.transactions, strict=True):
            assert_same_trace(one, other)


def test_engines_agree_on_traces_of_delegations(
    native: TracingEngine, reference: TracingEngine
) -> None:
    state = scenarios.world()
    entries = tuple(
        encode_authorization(authorization(signer, to, nonce))
        for signer, to, nonce in (
            (1, CONTRACTS["counter"], 0),
            (2, CONTRACTS["proxy"], 3),
            (1, Address(bytes(20)), 1),
            (2, CONTRACTS["counter"], 0),
        )
    )
    for fork in ("prague", "osaka"):
        for to in (SENDERS[1], SENDERS[2], CONTRACTS["proxy"]):
            message = call_message(to, bytecode.words(SENDERS[2]), authorizations=entries)
            expected = trace_call(reference, block_env(fork), message, state)
            assert_same_call(trace_call(native, block_env(fork), message, state), expected)


def test_only_the_requested_transaction_is_recorded(
    native: TracingEngine, reference: TracingEngine
) -> None:
    sent = [transaction(nonce=nonce, to=CONTRACTS["counter"], gas=90_000) for nonce in range(3)]
    for engine in (native, reference):
        trace = engine.trace_block(
            block_env(), sent, scenarios.world(), Recording(frames=True), first=2
        )
        (last,) = trace.transactions
        assert last.output == bytecode.words(6)
        assert (last.state, last.steps, last.vm, last.preimages) == (None, b"", b"", ())
        assert len(last.frames) == 1


def test_engines_agree_on_call_validation(native: TracingEngine, reference: TracingEngine) -> None:
    state, refusals = scenarios.world(), set()
    for price, nonce in (
        (0, None),
        (1, 0),
        (2 * GWEI, None),
        (2 * GWEI, 0),
        (2 * GWEI, 1),
        (2 * GWEI, 5),
    ):
        message = call_message(CONTRACTS["counter"], gas_price=price, nonce=nonce)
        for validate in (False, True):
            expected, found = (
                trace_call(engine, block_env(), message, state, validate=validate)
                for engine in (reference, native)
            )
            assert_same_call(found, expected)
            if isinstance(expected, str):
                refusals.add((validate, expected.split(":")[0]))
    too_low = "max fee per gas less than block base fee"
    assert refusals == {(False, too_low), (True, too_low), (True, "nonce too high")}


def test_changes_alone_are_those_of_the_touched_state(
    native: TracingEngine, reference: TracingEngine
) -> None:
    sent = [transaction(nonce=nonce, to=CONTRACTS["counter"], gas=90_000) for nonce in range(2)]
    message = call_message(CONTRACTS["counter"])
    for engine in (native, reference):
        traces = {
            recording: (
                *engine.trace_block(block_env(), sent, scenarios.world(), recording).transactions,
                engine.trace_call(block_env(), message, scenarios.world(), recording),
            )
            for recording in (Recording(state=True), Recording(changes=True, most_bytes=0))
        }
        for touched, changed in zip(*traces.values(), strict=True):
            assert touched.state is not None
            assert touched.state.changes.storage
            assert changed.state == TouchedState(changes=touched.state.changes)


def test_touched_state_counts_its_accounts_slots_and_code(
    native: TracingEngine, reference: TracingEngine
) -> None:
    alike = [Address(bytes([0xA0 + number]) * 20) for number in range(3)]
    code = bytecode.assemble(
        *(item for element in alike for item in (int.from_bytes(element), "EXTCODESIZE POP")),
        "0 SLOAD 1 SLOAD STOP",
    )
    state = scenarios.world(code)
    for one in alike:
        state.put(one, code=bytes(1000))
    to = CONTRACTS["random"]
    sent = [transaction(to=to, gas=90_000)]
    # The sender, the coinbase, the callee and the accounts that it reads; and two slots.
    size = 256 * 6 + 128 * 2 + 3 * 1000 + len(state.codes[state.accounts[to].code_hash])
    for engine in (native, reference):
        fits = Recording(state=True, most_bytes=size)
        (trace,) = engine.trace_block(block_env(), sent, state, fits).transactions
        assert trace.state is not None
        first, *others = (trace.state.codes[entry] for entry in alike)
        assert all(other is first for other in others)
        less = fits._replace(most_bytes=size - 1)
        with pytest.raises(TraceTooLarge):
            engine.trace_block(block_env(), sent, state, less)
        with pytest.raises(TraceTooLarge):
            engine.trace_call(block_env(), call_message(to), state, less)


def test_a_free_call_reads_the_base_fee_and_pays_nothing(
    native: TracingEngine, reference: TracingEngine
) -> None:
    state = scenarios.world(bytecode.assemble("BASEFEE 0 MSTORE GASPRICE 32 MSTORE 64 0 RETURN"))
    coinbase = block_env().coinbase
    for engine in (native, reference):
        read = {}
        for price, free in ((0, False), (0, True), (2 * GWEI, True)):
            message = call_message(CONTRACTS["random"], gas_price=price)
            found = engine.trace_call(
                block_env(), message, state, Recording(changes=True), free=free
            )
            assert found.state is not None
            read[price, free] = found.output, coinbase in found.state.changes.accounts
        assert read == {
            (0, False): (bytecode.words(0, 0), False),
            (0, True): (bytecode.words(GWEI, 0), False),
            (2 * GWEI, True): (bytecode.words(GWEI, 2 * GWEI), True),
        }
        low = call_message(CONTRACTS["random"], gas_price=1)
        with pytest.raises(CallRejected, match="max fee per gas less than block base fee"):
            engine.trace_call(block_env(), low, state, Recording(), free=True)
        due = call_message(CONTRACTS["random"], gas_price=0)
        with pytest.raises(CallRejected, match="max fee per gas less than block base fee"):
            engine.trace_call(block_env(), due, state, Recording(), free=True, validate=True)


def test_trace_above_the_time_limit_is_aborted(
    native: TracingEngine, reference: TracingEngine
) -> None:
    message = call_message(CONTRACTS["loop"], gas=10_000_000)
    sent = [transaction(to=CONTRACTS["loop"], gas=10_000_000)]
    for engine in (native, reference):
        with pytest.raises(TraceTimedOut):
            engine.trace_call(block_env(), message, scenarios.world(), EVERYTHING, time_limit=0.0)
        with pytest.raises(TraceTimedOut):
            engine.trace_block(block_env(), sent, scenarios.world(), EVERYTHING, time_limit=0.0)

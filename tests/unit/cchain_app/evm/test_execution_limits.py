"""Limits of gas, code and memory in which a chain differs from Ethereum, by each engine."""

import json
from typing import Any

import pytest

from cchain_app.config import ETHEREUM_LIMITS, ExecutionLimits
from cchain_app.evm.engine import CallRejected, ExecutedBlock, ExecutionInvalid, SkippedTransaction
from cchain_app.evm.tracing import Recording, StepOptions, TracingEngine
from cchain_app.txs.transaction import LEGACY
from primitives.evm import Address
from tests.builders.bytecode import assemble
from tests.builders.cchain import block_env, call_message, genesis_state, transaction

CAP = 2**24
CONTRACT = Address(b"\xc0" * 20)


def deploying(size: int) -> bytes:
    """Return init code that deploys this many zero bytes."""
    return assemble(size, "0 RETURN")


def execute(
    engine: TracingEngine, limits: ExecutionLimits, *transactions: Any, **env: Any
) -> ExecutedBlock:
    fork = env.pop("fork", "osaka")
    return engine.execute_block(
        block_env(fork, limits=limits, **env), transactions, genesis_state(), skip_invalid=True
    )


def creation(data: bytes, **changes: Any) -> Any:
    return transaction(to=None, value=0, gas=12_000_000, data=data, **changes)


@pytest.mark.parametrize("fork", ["prague", "osaka", "bpo1"])
def test_a_transaction_has_at_most_2_to_the_24_gas_since_osaka(
    engine: TracingEngine, fork: str
) -> None:
    above, at = transaction(gas=CAP + 1), transaction(gas=CAP)

    block = execute(engine, ETHEREUM_LIMITS, above, at, fork=fork)

    if fork == "prague":
        assert block.included == (0,)
        return
    assert block.included == (1,)
    words = f"transaction gas limit too high (cap: {CAP}, tx: {CAP + 1})"
    assert block.skipped == (SkippedTransaction(0, words, retry=False),)


@pytest.mark.parametrize("fork", ["osaka", "bpo1"])
def test_a_chain_may_have_no_limit_for_transactions(engine: TracingEngine, fork: str) -> None:
    free = ExecutionLimits(transaction_gas=False)

    assert execute(engine, free, transaction(gas=CAP + 1), fork=fork).included == (0,)
    # The limits of one block do not outlast it.
    assert execute(engine, ETHEREUM_LIMITS, transaction(gas=CAP + 1), fork=fork).included == ()


def test_calls_may_have_any_gas(engine: TracingEngine) -> None:
    message = call_message(None, assemble("GAS 0 MSTORE 32 0 RETURN"), gas=CAP + 10**6)
    result = engine.call(block_env("osaka"), message, genesis_state())

    assert int.from_bytes(result.output, "big") > CAP


def test_a_chain_may_have_no_limit_for_blocks(engine: TracingEngine) -> None:
    limits, limited = ExecutionLimits(block_gas=False), ExecutionLimits()
    block = [transaction(nonce=nonce, gas=50_000) for nonce in range(3)]

    assert execute(engine, limited, *block, gas_limit=60_000).included == (0,)
    executed = execute(engine, limits, *block, gas_limit=30_000)
    assert executed.included == (0, 1, 2)
    assert executed.gas_used == 63_000

    env = block_env("osaka", gas_limit=30_000, limits=limits)
    trace = engine.trace_block(env, block, genesis_state(), Recording())
    assert [traced.gas_used for traced in trace.transactions] == [21_000] * 3
    with pytest.raises(ExecutionInvalid, match="gas limit reached"):
        engine.execute_block(
            block_env("osaka", gas_limit=30_000), block, genesis_state(), skip_invalid=False
        )


def test_gaslimit_is_that_of_the_block_without_a_limit_too(engine: TracingEngine) -> None:
    code = assemble("GASLIMIT 0 SSTORE")
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1)
    env = block_env("osaka", gas_limit=30_000, limits=ExecutionLimits(block_gas=False))

    call = transaction(to=CONTRACT, value=0, gas=90_000)
    executed = engine.execute_block(env, [call], state, skip_invalid=False)

    (change,) = (
        change for (address, _), change in executed.changes.storage.items() if address == CONTRACT
    )
    assert int.from_bytes(change.after, "big") == 30_000


@pytest.mark.parametrize(
    ("limit", "size", "succeeds"),
    [(24_576, 24_576, True), (24_576, 24_577, False), (100, 100, True), (100, 101, False),
     (50_000, 50_000, True), (50_000, 50_001, False), (2**48, 50_001, True)],
)  # fmt: skip
@pytest.mark.parametrize("fork", ["spurious_dragon", "shanghai", "osaka"])
def test_a_contract_has_no_more_code_than_its_chain_allows(
    engine: TracingEngine, fork: str, limit: int, size: int, *, succeeds: bool
) -> None:
    limits = ExecutionLimits(code_size=limit, transaction_gas=False)

    sent = creation(deploying(size), type=LEGACY)
    block = execute(engine, limits, sent, fork=fork)
    assert [result.succeeded for result in block.results] == [succeeds]
    message = call_message(None, deploying(size), gas=12_000_000)
    called = engine.call(block_env(fork, limits=limits), message, genesis_state())
    words = f"max code size exceeded: code size {size} limit {limit}"
    assert called.error == (None if succeeds else words)


@pytest.mark.parametrize("limit", [100, 24_576, 60_000])
def test_init_code_has_at_most_twice_as_many_bytes(engine: TracingEngine, limit: int) -> None:
    limits = ExecutionLimits(code_size=limit)
    longest, longer = bytes(2 * limit), bytes(2 * limit + 1)
    words = f"max initcode size exceeded: code size {2 * limit + 1} limit {2 * limit}"

    block = execute(engine, limits, creation(longer), creation(longest))
    assert block.included == (1,)
    assert block.skipped[0].reason == words

    env = block_env("osaka", limits=limits)
    rejected = call_message(None, longer, gas=12_000_000)
    with pytest.raises(CallRejected) as caught:
        engine.call(env, rejected, genesis_state())
    assert str(caught.value) == words


def test_create_has_at_most_twice_as_many_bytes(engine: TracingEngine) -> None:
    env = block_env("osaka", limits=ExecutionLimits(code_size=100))
    state = genesis_state()
    for size, error in (
        (200, None),
        (201, "out of gas: max initcode size exceeded: code size 201 limit 200"),
    ):
        state.put(CONTRACT, code=assemble(size, "0 0 CREATE"), nonce=1)
        message = call_message(CONTRACT, gas=1_000_000)
        assert engine.call(env, message, state).error == error


LIMIT = 256
REACHED = f"memory limit of {LIMIT} bytes reached"
OUTER, INNER = Address(b"\xc1" * 20), Address(b"\xc2" * 20)
MCOPY = b"\x5e"
FORKS = ["frontier", "byzantium", "osaka"]


def in_memory(*code: str | bytes, fork: str = "osaka") -> tuple[Any, Any]:
    """Return the environment of a chain that limits memory, and a state with a contract."""
    state = genesis_state()
    state.put(CONTRACT, code=assemble(*code), nonce=1)
    return block_env(fork, limits=ExecutionLimits(memory=LIMIT)), state


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("0 224 MSTORE", None),
        ("0 225 MSTORE", REACHED),
        ("224 MLOAD", None),
        ("256 MLOAD", REACHED),
        ("0 255 MSTORE8", None),
        ("0 256 MSTORE8", REACHED),
        ("32 225 KECCAK256", REACHED),
        ("1 0 256 CALLDATACOPY", REACHED),
        ("1 0 255 CODECOPY", None),
        ("1 0 256 CODECOPY", REACHED),
        ("1 0 256 0 EXTCODECOPY", REACHED),
        ("257 0 LOG0", REACHED),
        ("256 0 LOG0", None),
        ("0 300 RETURN", None),
        ("257 0 RETURN", REACHED),
        ("257 0 0 CREATE", REACHED),
        ("257 0 0 0 0 0 9999 CALL", REACHED),
        ("0 0 257 0 0 0 9999 CALL", REACHED),
        (f"0 {2**37} MSTORE", REACHED),
        (f"0 {2**64 - 64} MSTORE", REACHED),
        ("0 0 NOT MSTORE", "gas uint64 overflow"),
    ],
)
@pytest.mark.parametrize("fork", FORKS)
def test_a_chain_may_limit_the_memory_of_a_call(
    engine: TracingEngine, fork: str, code: str, error: str | None
) -> None:
    env, state = in_memory(code, fork=fork)
    called = engine.call(env, call_message(CONTRACT, gas=1_000_000), state)

    assert called.error == error
    if error:
        assert called.gas_used == 1_000_000


@pytest.mark.parametrize(
    "code",
    [("257 0 REVERT",), ("1 0 256", MCOPY), ("1 256 0", MCOPY)],
    ids=["REVERT", "MCOPY to", "MCOPY from"],
)
def test_newer_instructions_have_the_limit_too(
    engine: TracingEngine, code: tuple[str | bytes, ...]
) -> None:
    env, state = in_memory(*code)

    assert engine.call(env, call_message(CONTRACT, gas=1_000_000), state).error == REACHED


@pytest.mark.parametrize(("inner", "outer", "succeeds"), [(64, 192, 1), (65, 192, 0), (64, 193, 0)])
@pytest.mark.parametrize("fork", FORKS)
def test_nested_calls_share_the_memory_of_a_chain(
    engine: TracingEngine, fork: str, inner: int, outer: int, succeeds: int
) -> None:
    env, state = in_memory("32 0 RETURN", fork=fork)
    state.put(INNER, code=assemble(f"{inner} 0 LOG0"), nonce=1)
    calling = f"0 0 0 0 0 {int.from_bytes(INNER, 'big')} 90000 CALL 0 MSTORE 32 0 RETURN"
    state.put(OUTER, code=assemble(f"{outer} 0 LOG0 {calling}"), nonce=1)

    # What one call has used is free again for the next one.
    for _ in range(2):
        called = engine.call(env, call_message(OUTER, gas=1_000_000), state)
        assert int.from_bytes(called.output, "big") == succeeds


def test_transactions_and_traces_have_the_limit_of_memory(engine: TracingEngine) -> None:
    env, state = in_memory("0 4096 MSTORE")
    sent = [transaction(to=CONTRACT, value=0, gas=90_000, nonce=nonce) for nonce in range(2)]

    executed = engine.execute_block(env, sent, state, skip_invalid=False)
    assert [(result.succeeded, result.gas_used) for result in executed.results] == [
        (False, 90_000)
    ] * 2
    recording = Recording(frames=True, steps=StepOptions())
    trace = engine.trace_block(env, sent[:1], state, recording).transactions[0]
    assert trace.frames[0].error == REACHED
    step = json.loads(f"[{trace.steps.decode()}]")[-1]
    assert (step["op"], step["gasCost"], step["error"]) == ("MSTORE", 3, REACHED)

    # Without the limit only gas limits memory.
    free = engine.execute_block(block_env("osaka"), sent, state, skip_invalid=False)
    assert [result.succeeded for result in free.results] == [True, True]


def test_an_estimate_names_the_limit_of_memory(engine: TracingEngine) -> None:
    env, state = in_memory("0 4096 MSTORE")
    found = engine.estimate(env, call_message(CONTRACT, gas=1_000_000), state, error_ratio=0)
    assert found.gas is None
    assert found.failure is not None
    assert found.failure.error == REACHED

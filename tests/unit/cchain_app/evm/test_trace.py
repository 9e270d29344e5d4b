"""Each engine's records of traced transactions: frames, logs, touched state, limits."""

import time
from typing import Any, Final

import pytest
from typing_extensions import override

from cchain_app.evm.engine import AccountState, CallMessage, CallRejected, ExecutionInvalid
from cchain_app.evm.tracing import (
    Frame,
    FrameLog,
    Recording,
    StepOptions,
    TouchedState,
    TraceTimedOut,
    TraceTooLarge,
    TracingEngine,
    TransactionTrace,
)
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash, Slot, Word
from tests.builders import bytecode
from tests.builders.bytecode import assemble, created, push
from tests.builders.cchain import (
    BASE_FEE,
    COIN,
    SENDERS,
    MemoryState,
    block_env,
    call_message,
    genesis_state,
    transaction,
)

CONTRACT: Final = Address(b"\xc0" * 20)
OTHER: Final = Address(b"\xd0" * 20)
NOBODY: Final = Address(b"\x0e" * 20)
FRAMES: Final = Recording(frames=True)
STATE: Final = Recording(state=True)


def world(code: bytes, other: bytes = b"", **account: Any) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, **{"nonce": 1, **account})
    state.put(OTHER, code=other, nonce=1)
    return state


def trace(
    engine: TracingEngine,
    state: MemoryState,
    recording: Recording = FRAMES,
    fork: str = "prague",
    options: dict[str, Any] | None = None,
    **message: Any,
) -> TransactionTrace:
    env = block_env(fork)
    message = {"to": CONTRACT, **message}
    return engine.trace_call(env, call_message(**message), state, recording, **(options or {}))


def calling(address: bytes, *, kind: str = "CALL", value: int = 0, gas: int = 100_000) -> bytes:
    """Return code that makes a call and leaves the success flag on the stack."""
    values = [value] if kind == "CALL" else []
    return assemble(0, 0, 0, 0, *values, int.from_bytes(address), gas, kind)


def touched(
    engine: TracingEngine, state: MemoryState, fork: str = "prague", **message: Any
) -> TouchedState:
    found = trace(engine, state, STATE, fork, **message).state
    assert found is not None
    return found


def words_of(
    engine: TracingEngine, code: bytes, fork: str = "prague", **account: Any
) -> str | None:
    """Return the error of a contract that is called by another one."""
    state = world(calling(OTHER), code)
    inner = trace(engine, state, fork=fork).frames[1]
    assert inner.gas_used == (inner.gas if inner.error else inner.gas_used)
    return inner.error


def test_transfer_is_one_frame_without_intrinsic_gas(engine: TracingEngine) -> None:
    found = trace(engine, genesis_state(), to=NOBODY, value=5, gas=30_000)
    frame = Frame(0, "CALL", SENDERS[0], NOBODY, 5, 9_000, 0, b"", b"", None, precompile=False)
    assert found.frames == (frame,)
    assert (found.gas_limit, found.gas_used, found.gas_peak) == (30_000, 21_000, 21_000)


def test_frames_are_in_depth_first_order(engine: TracingEngine) -> None:
    state = world(
        calling(OTHER) + calling(OTHER, kind="STATICCALL") + calling(OTHER, kind="DELEGATECALL"),
        calling(bytes(19) + b"\x04"),
    )
    frames = trace(engine, state, value=7, sender=SENDERS[1]).frames
    assert [(frame.depth, frame.type, frame.precompile) for frame in frames] == [
        (0, "CALL", False),
        (1, "CALL", False),
        (2, "CALL", True),
        (1, "STATICCALL", False),
        (2, "CALL", True),
        (1, "DELEGATECALL", False),
        (2, "CALL", True),
    ]
    assert [frame.sender for frame in frames[3:]] == [CONTRACT, OTHER, CONTRACT, CONTRACT]
    assert [frame.value for frame in frames] == [7, 0, 0, None, 0, 7, 0]
    assert frames[5].to == OTHER


def test_frames_that_never_start_are_frames_too(engine: TracingEngine) -> None:
    creating = assemble("0 0 5 CREATE")
    frames = trace(engine, world(calling(NOBODY, value=5) + creating)).frames
    assert [(frame.type, frame.to, frame.gas_used, frame.error) for frame in frames[1:]] == [
        ("CALL", NOBODY, 0, "insufficient balance for transfer"),
        ("CREATE", None, 0, "insufficient balance for transfer"),
    ]


def test_an_account_whose_nonce_cannot_rise_creates_nothing(engine: TracingEngine) -> None:
    frames = trace(engine, world(assemble("0 0 0 CREATE"), nonce=2**64 - 1)).frames
    assert (frames[1].to, frames[1].error) == (None, "nonce uint64 overflow")
    assert frames[1].gas_used == 0


def test_call_depth_is_limited_to_1024(engine: TracingEngine) -> None:
    recursion = assemble("0 0 0 0 0 ADDRESS GAS CALL")
    frames = trace(engine, world(recursion), gas=10**15).frames
    assert [frame.depth for frame in frames] == list(range(1_026))
    assert (frames[-1].error, frames[-1].gas_used) == ("max call depth exceeded", 0)


def test_a_collision_takes_all_gas_and_has_its_address(engine: TracingEngine) -> None:
    state = world(assemble("0 0 0 CREATE"))
    there = state.put(created(CONTRACT, 1), code=b"\x00", nonce=1)
    frame = trace(engine, state).frames[1]
    assert (frame.to, frame.error) == (there, "contract address collision")
    assert frame.gas_used == frame.gas


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (assemble("ADD"), "stack underflow (0 <=> 2)"),
        (assemble("1 2 3 4 CALL"), "stack underflow (4 <=> 7)"),
        (assemble("1 2 DELEGATECALL"), "stack underflow (2 <=> 6)"),
        (assemble("1 2 3 CREATE2"), "stack underflow (3 <=> 4)"),
        (assemble("0 0 LOG4"), "stack underflow (2 <=> 6)"),
        (assemble("JUMPDEST 1 0 JUMP"), "stack limit reached 1024 (1023)"),
        (assemble("5 JUMP"), "invalid jump destination"),
        (b"\x0c", "invalid opcode: opcode 0xc not defined"),
        (b"\xfe", "invalid opcode: INVALID"),
        (assemble("1 0 0 RETURNDATACOPY"), "return data out of bounds"),
        (assemble(2**64, "MLOAD"), "gas uint64 overflow"),
        (assemble(2**64 - 32, "MLOAD"), "gas uint64 overflow"),
        (assemble(2**40, "MLOAD"), "out of gas: gas uint64 overflow"),
        (assemble(2**32, "MLOAD"), "out of gas"),
    ],
)
def test_inner_frame_has_geths_error_message(
    engine: TracingEngine, code: bytes, words: str
) -> None:
    assert words_of(engine, code) == words


def test_an_instruction_of_a_later_fork_is_named(engine: TracingEngine) -> None:
    assert words_of(engine, b"\x5f", "london") == "invalid opcode: PUSH0"


@pytest.mark.parametrize(
    "code",
    ["0 0 SSTORE", "0 0 LOG0", "0 0 0 CREATE", "0 0 0 0 1 0 0 CALL", "0 SELFDESTRUCT"],
)
def test_state_change_in_staticcall_fails(engine: TracingEngine, code: str) -> None:
    frames = trace(engine, world(calling(OTHER, kind="STATICCALL"), assemble(code))).frames
    assert [frame.error for frame in frames] == [None, "write protection"]


def test_unaffordable_code_deposit_has_its_own_error(engine: TracingEngine) -> None:
    init_code = assemble("5000 0 RETURN")
    code = push(int.from_bytes(init_code)) + assemble("0 MSTORE", len(init_code))
    code += assemble(32 - len(init_code), "0 CREATE")
    frame = trace(engine, world(code), gas=200_000).frames[1]
    assert frame.error == "contract creation code storage out of gas"
    assert frame.to == created(CONTRACT, 1)
    assert frame.output == b""


def test_a_selfdestruct_is_the_last_frame_below_its_own(engine: TracingEngine) -> None:
    code = calling(OTHER) + assemble("ADDRESS SELFDESTRUCT")
    frames = trace(engine, world(code, balance=9)).frames
    expected = Frame(1, "SELFDESTRUCT", CONTRACT, CONTRACT, 9, 0, 0, b"", b"", None, False)
    assert frames[1].to == OTHER
    assert frames[2:] == (expected,)


def test_only_logs_of_successful_frames_have_positions(engine: TracingEngine) -> None:
    log = assemble("0 0 LOG0")
    state = world(
        log + calling(OTHER) + calling(NOBODY) + log,
        log + assemble("0 0 REVERT"),
    )
    found = trace(engine, state)
    assert [len(frame.logs) for frame in found.frames] == [2, 0, 0]
    assert [(log.number, log.position) for log in found.frames[0].logs] == [(0, 0), (1, 2)]
    assert tuple(log.log for log in found.frames[0].logs) == found.logs


def test_inner_frames_keep_their_logs(engine: TracingEngine) -> None:
    log = assemble("0 0 LOG0")
    found = trace(engine, world(calling(OTHER) + log, log))
    inner, outer = found.logs
    assert found.frames[0].logs == (FrameLog(outer, 1, 1),)
    assert found.frames[1].logs == (FrameLog(inner, 0, 0),)


def test_a_failed_transaction_has_no_logs(engine: TracingEngine) -> None:
    found = trace(engine, world(assemble("0 0 LOG0 0 0 REVERT")))
    assert (found.succeeded, found.error) == (False, "execution reverted")
    assert found.logs == found.frames[0].logs == ()


def test_touched_state_has_values_before_the_transaction(engine: TracingEngine) -> None:
    code = assemble(0, "SLOAD", 7, 1, "SSTORE", int.from_bytes(OTHER), "BALANCE")
    state = world(code, b"\x01\x02", storage={0: 5, 1: 6})
    found = touched(engine, state, gas_price=2 * BASE_FEE, gas=100_000)
    coinbase = block_env().coinbase
    assert set(found.accounts) == {SENDERS[0], CONTRACT, OTHER, coinbase}
    assert found.accounts[SENDERS[0]] == state.account(SENDERS[0])
    slots = {number: Slot(number.to_bytes(32, "big")) for number in (0, 1)}
    assert found.slots == {
        CONTRACT: {slot: state.storage(CONTRACT, slot) for slot in slots.values()}
    }
    assert found.codes == {CONTRACT: code, OTHER: b"\x01\x02"}
    (slot_change,) = found.changes.storage.values()
    assert slot_change.after == Word((7).to_bytes(32, "big"))
    assert set(found.changes.accounts) == {SENDERS[0], coinbase}


def test_a_step_that_fails_touches_nothing(engine: TracingEngine) -> None:
    state = world(assemble("SLOAD"), storage={0: 5})
    assert touched(engine, state).slots == {}
    poor = world(assemble(int.from_bytes(OTHER), "BALANCE"))
    assert OTHER not in touched(engine, poor, gas=21_100).accounts


def test_a_creation_touches_its_address_even_if_it_fails(engine: TracingEngine) -> None:
    found = touched(engine, world(assemble("0 0 9 CREATE")))
    assert found.accounts[created(CONTRACT, 1)] is None


def test_delegation_target_of_a_called_account_is_touched(engine: TracingEngine) -> None:
    state = world(calling(NOBODY))
    state.put(NOBODY, code=b"\xef\x01\x00" + OTHER, nonce=1)
    assert OTHER in touched(engine, state).accounts
    assert OTHER in touched(engine, state, to=NOBODY).accounts


def block(
    engine: TracingEngine,
    *transactions: Transaction,
    state: MemoryState,
    recording: Recording = STATE,
    **options: Any,
) -> tuple[TransactionTrace, ...]:
    env = block_env()
    return engine.trace_block(env, transactions, state, recording, **options).transactions


def increments(count: int) -> list[Transaction]:
    return [transaction(nonce=nonce, to=CONTRACT, gas=100_000) for nonce in range(count)]


def test_each_transaction_has_its_own_changes(engine: TracingEngine) -> None:
    state = world(bytecode.COUNTER)
    traced = engine.trace_block(block_env("cancun"), increments(3), state, STATE)
    whole = engine.execute_block(block_env("cancun"), increments(3), state, skip_invalid=False)
    after = state.copy()
    after.apply(traced.before)
    for found in traced.transactions:
        assert found.state is not None
        assert found.state.accounts[SENDERS[0]] == after.account(SENDERS[0])
        after.apply(found.state.changes)
    expected = state.copy()
    expected.apply(whole.changes)
    assert after == expected


def test_only_requested_data_is_recorded(engine: TracingEngine) -> None:
    state = world(bytecode.COUNTER)
    last = block(engine, *increments(3), state=state, first=2)
    assert last == block(engine, *increments(3), state=state)[2:]
    assert [
        found.state is None
        for found in block(engine, *increments(1), state=state, recording=FRAMES)
    ]


def test_system_calls_are_separate_from_transactions(engine: TracingEngine) -> None:
    contract = Address(bytes.fromhex("000F3df6D732807Ef1319fB7B8bB8522d0Beac02"))
    state = world(bytecode.COUNTER)
    state.put(contract, code=assemble("0 CALLDATALOAD 1 SSTORE"), nonce=1)
    traced = engine.trace_block(block_env(), increments(1), state, STATE)
    assert (contract, Slot((1).to_bytes(32, "big"))) in traced.before.storage
    (found,) = traced.transactions
    assert found.state is not None
    assert contract not in found.state.accounts


def test_block_with_transaction_sent_by_a_contract_is_traced(engine: TracingEngine) -> None:
    state = world(bytecode.COUNTER)
    state.put(SENDERS[0], code=b"\x00", balance=COIN)
    (found,) = block(engine, *increments(1), state=state)
    assert found.succeeded


def test_input_that_cannot_be_in_the_block_is_refused(engine: TracingEngine) -> None:
    with pytest.raises(ExecutionInvalid, match="nonce too high"):
        block(engine, increments(2)[1], state=world(b""))


def test_failed_creation_has_an_address(engine: TracingEngine) -> None:
    failed = transaction(to=None, data=b"\xfe", gas=100_000)
    (found,) = block(engine, failed, state=genesis_state(), recording=FRAMES)
    assert (found.succeeded, found.contract_address) == (False, created(SENDERS[0], 0))
    assert found.frames[0].to == found.contract_address


def test_coinbase_receives_the_fees_of_a_call(engine: TracingEngine) -> None:
    found = touched(engine, genesis_state(), to=NOBODY, gas_price=BASE_FEE + 3)
    change = found.changes.accounts[block_env().coinbase]
    before = 0 if change.before is None else change.before.balance
    assert isinstance(change.after, AccountState)
    assert change.after.balance - before == 3 * 21_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "max fee per gas less than block base fee"),
        ({"gas_price": BASE_FEE, "nonce": 4}, "nonce too high"),
    ],
)
def test_call_can_be_validated_like_a_transaction(
    engine: TracingEngine, changes: dict[str, Any], words: str
) -> None:
    validated = {"validate": True}
    with pytest.raises(CallRejected, match=words):
        trace(engine, genesis_state(), to=NOBODY, options=validated, **changes)
    assert trace(engine, genesis_state(), to=NOBODY, **changes).succeeded
    priced = {"gas_price": BASE_FEE, "nonce": 0}
    assert trace(engine, genesis_state(), to=NOBODY, options=validated, **priced).succeeded


def test_trace_result_equals_call_result(engine: TracingEngine) -> None:
    message: CallMessage = call_message(CONTRACT, b"why")
    state = world(bytecode.ECHO_REVERT)
    result = engine.call(block_env(), message, state)
    found = trace(engine, state, data=b"why")
    assert (found.output, found.error) == (result.output, result.error)
    assert (found.gas_used, found.gas_peak) == (result.gas_used, result.gas_peak)


@pytest.mark.parametrize(
    "recording",
    [
        Recording(frames=True, most_bytes=4_000),
        Recording(steps=StepOptions(), most_bytes=1_000),
        Recording(vm=True, most_bytes=1_000),
        Recording(preimages=True, most_bytes=100),
        Recording(frames=True, opcodes=True, most_bytes=6_000),
    ],
)
def test_recording_fails_above_the_byte_limit(engine: TracingEngine, recording: Recording) -> None:
    code = b"".join(assemble(number, "0 MSTORE 64 0 KECCAK256") for number in range(20))
    state = world(calling(OTHER) * 20 + code)
    with pytest.raises(TraceTooLarge):
        trace(engine, state, recording)
    assert trace(engine, state, recording._replace(most_bytes=10**6)).succeeded


def test_trace_size_limit_is_shared_by_a_requests_transactions(engine: TracingEngine) -> None:
    state = world(bytecode.COUNTER)
    steps = Recording(steps=StepOptions())
    (one,) = block(engine, *increments(1), state=state, recording=steps)
    bounded = steps._replace(most_bytes=3 * len(one.steps))
    assert len(block(engine, *increments(2), state=state, recording=bounded)) == 2
    with pytest.raises(TraceTooLarge):
        block(engine, *increments(4), state=state, recording=bounded)


@pytest.mark.parametrize("recording", [Recording(), FRAMES, Recording(steps=StepOptions())])
def test_a_trace_stops_in_time(engine: TracingEngine, recording: Recording) -> None:
    state = world(assemble("JUMPDEST 0 JUMP"))
    trace(engine, world(b""), recording)  # the reference engine imports the fork's modules once
    begun = time.thread_time()  # the time of other processes does not count
    with pytest.raises(TraceTimedOut):
        trace(engine, state, recording, gas=10**12, options={"time_limit": 0.05})
    assert time.thread_time() - begun < 1


class SlowState(MemoryState):
    """A state that takes long to return code."""

    @override
    def code(self, code_hash: Hash) -> bytes:
        time.sleep(0.3)
        return super().code(code_hash)


def test_each_transaction_has_its_own_time(engine: TracingEngine) -> None:
    state = genesis_state()
    places = [Address(bytes([0xE0 + number]) * 20) for number in range(4)]
    for number, place in enumerate(places):
        state.put(place, code=assemble(time.monotonic_ns(), number), nonce=1)
    slow = SlowState(state.accounts, state.storages, state.codes, state.hashes)
    each = [transaction(nonce=nonce, to=to, gas=50_000) for nonce, to in enumerate(places)]
    traced = engine.trace_block(
        block_env(parent_beacon_block_root=None, fork="cancun"), each, slow, FRAMES, time_limit=1
    )
    assert all(found.succeeded for found in traced.transactions)

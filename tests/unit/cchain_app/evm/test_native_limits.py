"""Limits of calls by the native engine: a gas allowance that programs do not see, and time."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Thread
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from cchain_app.evm.engine import CallInterrupted, CallMessage, CallResult, GasAllowance
from cchain_app.evm.native import NativeEngine
from cchain_app.txs.signing import encode_authorization
from primitives.evm import Address, Slot, Word
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.cchain import (
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    call_message,
    genesis_state,
)

ENGINE: Final = NativeEngine()
CONTRACT: Final = Address(b"\xc0" * 20)
OTHER: Final = Address(b"\xd0" * 20)

LOTS: Final = 2**62
"""Enough gas for every program."""

MEGABYTE: Final = 1 << 20


class Counted(GasAllowance):
    """An allowance that records its use."""

    def __init__(self, gas: int) -> None:
        super().__init__(gas)
        self.used = 0

    @override
    def use(self, gas: int) -> None:
        self.used += gas
        super().use(gas)


def with_code(code: bytes, other: bytes = b"") -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, balance=10**18)
    state.put(OTHER, code=other, nonce=1)
    return state


def run(
    state: MemoryState,
    message: CallMessage,
    gas: int | None = None,
    *,
    fork: str = "prague",
    **options: Any,
) -> tuple[CallResult, int]:
    """Return the result and the used allowance, with the given allowance or a very large one."""
    allowance = Counted(LOTS if gas is None else gas)
    result = ENGINE.call(block_env(fork), message, state, allowance=allowance, **options)
    return result, allowance.used


def refused(
    state: MemoryState, message: CallMessage, gas: int, *, fork: str = "prague", **options: Any
) -> int:
    """Return the used allowance of a call that was interrupted because it was too small."""
    allowance = Counted(gas)
    with pytest.raises(CallInterrupted, match=r"^gas allowance used up$"):
        ENGINE.call(block_env(fork), message, state, allowance=allowance, **options)
    return allowance.used


def test_executed_gas_is_counted_exactly() -> None:
    state = with_code(assemble("1 2 ADD POP 7 SLOAD POP"))
    result, used = run(state, call_message(CONTRACT))
    assert used == result.gas_used - 21_000


def test_the_last_gas_of_an_allowance_may_be_used() -> None:
    state, message = with_code(assemble("1 2 ADD POP 7 SLOAD POP")), call_message(CONTRACT)
    result, used = run(state, message)
    assert run(state, message, used) == (result, used)
    refused(state, message, used - 1)


def test_a_loop_ends_with_the_allowance() -> None:
    used = refused(with_code(bytecode.LOOP), call_message(CONTRACT, gas=LOTS), 10_000)
    assert 10_000 < used < 10_100


def test_nested_calls_count_once() -> None:
    state = with_code(bytecode.PROXY, assemble("7 SLOAD POP"))
    result, used = run(state, call_message(CONTRACT, bytecode.words(OTHER)))
    assert result.error is None
    assert used == result.gas_used - 21_000 - (12 * 4 + 20 * 16)


def test_a_loop_in_a_nested_call_ends_with_the_allowance() -> None:
    state = with_code(bytecode.PROXY, bytecode.LOOP)
    used = refused(state, call_message(CONTRACT, bytecode.words(OTHER), gas=LOTS), 10_000)
    assert 10_000 < used < 10_100


def test_a_loop_of_calls_ends_with_the_allowance() -> None:
    code = b"\x5b" + assemble("0 0 0 0 0", bytes([0x73]) + OTHER, "GAS CALL POP 0 JUMP")
    assert 10_000 < refused(with_code(code), call_message(CONTRACT, gas=LOTS), 10_000) < 13_000


LARGE: Final = {
    "KECCAK256": f"{MEGABYTE} 0 KECCAK256",
    "CALLDATACOPY": f"{MEGABYTE} 0 0 CALLDATACOPY",
    "CODECOPY": f"{MEGABYTE} 0 0 CODECOPY",
    "EXTCODECOPY": (f"{MEGABYTE} 0 0 0", b"\x3c"),
    "MCOPY": (f"{MEGABYTE} 0 0", b"\x5e"),
    "LOG0": f"{MEGABYTE} 0 LOG0",
    "LOG4": f"1 2 3 4 {MEGABYTE} 0 LOG4",
    "EXP": (bytes([0x7F]) + b"\xff" * 32, "3", b"\x0a"),
    "RETURN": f"{MEGABYTE} 0 RETURN",
    "REVERT": f"{MEGABYTE} 0 REVERT",
    "CREATE": "49152 0 0 CREATE",
    "CREATE2": "7 49152 0 0 CREATE2",
    "CALL": f"0 0 {MEGABYTE} 0 0 3 GAS CALL",
    "CALL's output": f"{MEGABYTE} 0 0 0 0 3 GAS CALL",
    "DELEGATECALL": f"0 0 {MEGABYTE} 0 3 GAS DELEGATECALL",
    "STATICCALL": f"{MEGABYTE} 0 0 0 3 GAS STATICCALL",
}


@pytest.mark.parametrize("parts", LARGE.values(), ids=LARGE)
def test_instruction_above_the_remaining_allowance_is_not_started(
    parts: str | Sequence[str | bytes],
) -> None:
    """If it had started, it would be counted; only the code before it is."""
    code = assemble(*([parts] if isinstance(parts, str) else parts))
    state, message = with_code(code), call_message(CONTRACT, gas=LOTS)
    assert run(state, message)[1] > 1_500
    assert refused(state, message, 1_500) < 500


PRECOMPILED: Final = {
    "SHA-256": (2, bytes(100_000)),
    "RIPEMD-160": (3, bytes(100_000)),
    "identity": (4, bytes(500_000)),
    "MODEXP": (5, bytecode.words(512, 255, 512) + b"\xff" * (512 + 255 + 512)),
    "pairing": (8, bytes(192 * 4)),
    "Blake2f": (9, b"\xff\xff\xff\xff" + bytes(208) + b"\x01"),
    "sum on BLS12-381": (12, bytes(160 * 10)),
    "pairing on BLS12-381": (15, bytes(384 * 4)),
}


@pytest.mark.parametrize(("number", "data"), PRECOMPILED.values(), ids=PRECOMPILED)
@pytest.mark.parametrize("nested", [False, True])
def test_precompile_above_the_remaining_gas_is_not_started(
    number: int, data: bytes, *, nested: bool
) -> None:
    state, to = with_code(bytecode.PROXY), Address(number.to_bytes(20, "big"))
    message = call_message(to, data, gas=LOTS)
    if nested:
        message = call_message(CONTRACT, bytecode.words(to) + data, gas=LOTS)
    assert refused(state, message, 10_000) < 10_000


def test_a_moved_precompile_is_limited_at_its_new_place() -> None:
    env = replace(block_env(), precompile_moves=((Address(bytes(19) + b"\x02"), OTHER),))
    message = call_message(OTHER, bytes(100_000), gas=LOTS)
    with pytest.raises(CallInterrupted, match=r"^gas allowance used up$"):
        ENGINE.call(env, message, genesis_state(), allowance=GasAllowance(10_000))


def test_work_before_the_first_instruction_is_limited() -> None:
    listed = ((OTHER, tuple(Slot(Word(n.to_bytes(32, "big"))) for n in range(100))),)
    refused(genesis_state(), call_message(OTHER, access_list=listed, gas=LOTS), 10_000)
    signed = (encode_authorization(authorization(0, OTHER, 0)),) * 4
    refused(genesis_state(), call_message(OTHER, authorizations=signed, gas=LOTS), 10_000)
    long = b"\x5b" * 40_000
    refused(genesis_state(), call_message(None, long, gas=LOTS), 2_000)


def test_the_second_run_that_explains_a_failure_counts_too() -> None:
    state = with_code(assemble("7 SLOAD POP", b"\x0c"))
    first, used = run(state, call_message(CONTRACT))
    assert first.error == "invalid opcode: opcode 0xc not defined"
    assert used > 2 * 2_100
    refused(state, call_message(CONTRACT), used // 2 + 100)


def test_calls_share_an_allowance() -> None:
    state, message = with_code(assemble("7 SLOAD POP")), call_message(CONTRACT)
    allowance = GasAllowance(5_000)
    for _ in range(2):
        ENGINE.call(block_env(), message, state, allowance=allowance)
    with pytest.raises(CallInterrupted, match=r"^gas allowance used up$"):
        ENGINE.call(block_env(), message, state, allowance=allowance)


PIECES: Final = [
    assemble("GAS POP"),
    assemble("GAS 0 MSTORE"),
    assemble("GAS 1 SSTORE"),
    assemble("5 SLOAD 0 MSTORE"),
    assemble("64 0 KECCAK256 32 MSTORE"),
    assemble("900 0 KECCAK256 POP"),
    assemble("3000 MLOAD POP"),
    assemble("GAS 0 MSTORE 32 0 LOG0"),
    assemble("32 0 32 0 0", bytes([0x73]) + OTHER, "GAS CALL POP"),
    assemble("32 0 32 0 1", bytes([0x73]) + OTHER, "2000 CALL 0 MSTORE"),
    assemble("32 0 32 0", bytes([0x73]) + OTHER, "30000 STATICCALL POP"),
    assemble("64 0 0 0", bytes([0x73]) + OTHER, "GAS DELEGATECALL POP"),
    assemble("32 0 213 0 2 GAS STATICCALL POP"),
    assemble("32 0 213 0 9 60000 STATICCALL POP"),
    assemble("0 0 192 0 6 GAS STATICCALL POP"),
    assemble("4 28 0 CREATE POP"),
    assemble("7 4 28 0 CREATE2 POP"),
    assemble("RETURNDATASIZE 0 0 RETURNDATACOPY"),
    assemble("0 7 SSTORE"),
]
ENDS: Final = [b"", assemble("64 0 RETURN"), assemble("32 0 REVERT"), b"\xfe", b"\x01"]
programs = st.builds(
    lambda pieces, end: b"".join(pieces) + end,
    st.lists(st.sampled_from(PIECES), max_size=8),
    st.sampled_from(ENDS),
)


@given(
    outer=programs,
    inner=programs,
    gas=st.one_of(st.integers(21_000, 400_000), st.just(50_000_000)),
    allowance=st.integers(0, 300_000),
    fork=st.sampled_from(["byzantium", "berlin", "shanghai", "prague", "osaka"]),
)
def test_an_allowance_changes_no_answer(
    outer: bytes, inner: bytes, gas: int, allowance: int, fork: str
) -> None:
    """Programs that read their gas and catch failures of inner calls see no difference."""
    state, message = with_code(outer, inner), call_message(CONTRACT, gas=gas)
    expected = ENGINE.call(block_env(fork), message, state)
    result, used = run(state, message, fork=fork)
    assert result == expected
    try:
        result, used_here = run(state, message, allowance, fork=fork)
    except CallInterrupted:
        return
    assert result == expected
    assert used_here == used <= allowance


STRAIGHT: Final = {
    "EXP": bytes([0x7F]) + b"\xff" * 32 + b"\x80\x80\x0a\x50" * 400_000,
    "KECCAK256": assemble("4096 0 KECCAK256 POP") * 150_000,
    "LOG0": assemble("1024 0 LOG0") * 150_000,
    "MULMOD": bytes([0x7F]) + b"\xff" * 32 + b"\x80\x80\x80\x09\x50" * 400_000,
    "SLOAD": assemble("0 SLOAD POP") * 500_000,
    "CALL": assemble("0 0 0 0 0 3 0 CALL POP") * 100_000,
}


@pytest.mark.parametrize("code", STRAIGHT.values(), ids=STRAIGHT)
def test_the_clock_is_read_in_code_without_jumps(code: bytes) -> None:
    state = with_code(code)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        ENGINE.call(block_env(), call_message(CONTRACT, gas=LOTS), state, time_limit=0.001)


def test_short_call_does_not_wait_for_long_calls() -> None:
    """There are more long calls than processors; the short one runs between their time slices."""
    state = with_code(bytecode.LOOP)
    short = call_message(OTHER, gas=100_000)
    ended: list[float] = []

    def loop() -> None:
        with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
            ENGINE.call(block_env(), call_message(CONTRACT, gas=LOTS), state, time_limit=2.0)
        ended.append(time.monotonic())

    threads = [Thread(target=loop) for _ in range(8)]
    for thread in threads:
        thread.start()
    ENGINE.call(block_env(), short, with_code(b"", assemble("1 2 ADD POP")), time_limit=2.0)
    first = time.monotonic()
    for thread in threads:
        thread.join()
    assert len(ended) == 8
    assert first < min(ended)


def test_a_waiting_query_blocks_no_other_call() -> None:
    class Stuck(MemoryState):
        @override
        def storage(self, address: Address, slot: Slot) -> Word:
            asked.set()
            assert go_on.wait(60)
            return super().storage(address, slot)

    asked, go_on = Event(), Event()
    stuck = Stuck()
    stuck.put(CONTRACT, code=assemble("1 SLOAD POP"), nonce=1)
    engine = NativeEngine()
    results: list[CallResult] = []

    def ask() -> None:
        results.append(engine.call(block_env(), call_message(CONTRACT), stuck))

    threads = [Thread(target=ask) for _ in range(2 + (os.cpu_count() or 1))]
    for thread in threads:
        thread.start()
    assert asked.wait(60)
    assert (
        engine.call(block_env(), call_message(OTHER), with_code(b""), time_limit=60).error is None
    )
    go_on.set()
    for thread in threads:
        thread.join()
    assert [result.error for result in results] == [None] * len(threads)


def test_the_clock_is_read_at_each_question_to_the_state() -> None:
    class Slow(MemoryState):
        asked = 0

        @override
        def storage(self, address: Address, slot: Slot) -> Word:
            self.asked += 1
            time.sleep(0.02)
            return super().storage(address, slot)

    state = Slow()
    state.put(SENDERS[0], balance=10**18)
    state.put(CONTRACT, code=b"".join(assemble(f"{n} SLOAD POP") for n in range(100)), nonce=1)
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        ENGINE.call(block_env(), call_message(CONTRACT), state, time_limit=0.1)
    assert 1 <= state.asked <= 5


def test_a_precompile_that_may_outlast_the_limit_is_not_begun() -> None:
    """Blake2f with four billion rounds takes more than a minute."""
    message = call_message(Address(bytes(19) + b"\x09"), PRECOMPILED["Blake2f"][1], gas=LOTS)
    began = time.monotonic()
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        ENGINE.call(block_env(), message, genesis_state(), time_limit=5.0)
    assert time.monotonic() - began < 5.0


def test_a_loop_of_hashes_of_a_megabyte_ends_in_time() -> None:
    """Its jumps are far apart in time, so the clock must not be read only after many of them."""
    code = b"\x5b" + assemble(f"{MEGABYTE} 0 KECCAK256 POP 0 JUMP")
    began = time.thread_time()  # the time of other processes does not count
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        ENGINE.call(block_env(), call_message(CONTRACT, gas=LOTS), with_code(code), time_limit=0.1)
    assert time.thread_time() - began < 0.6  # it used to be 256 hashes of some milliseconds


def test_the_run_that_explains_a_failure_has_no_time_of_its_own() -> None:
    code = bytes([0x7F]) + b"\xff" * 32 + b"\x80\x80\x80\x09\x50" * 1_000_000 + b"\x0c"
    state, message = with_code(code), call_message(CONTRACT, gas=LOTS)

    def both() -> float:
        began = time.monotonic()
        outcome = ENGINE.call(block_env(), message, state)
        assert outcome.error == "invalid opcode: opcode 0xc not defined"
        return time.monotonic() - began

    def is_interrupted() -> bool:
        # Each run takes half of the time of both, so that two limits of this size would never be reached.
        try:
            ENGINE.call(block_env(), message, state, time_limit=both() * 0.7)
        except CallInterrupted as interruption:
            return str(interruption) == "time limit reached"
        return False

    # Another process can delay the measured run, which makes the limit too long, but not every time.
    assert any(is_interrupted() for _ in range(20))

"""Estimates by each engine, and overrides of the environment of calls."""

from collections import Counter
from typing import Any

import pytest

from cchain_app.evm.engine import (
    AccountState,
    CallInterrupted,
    CallRejected,
    GasAllowance,
    GasEstimate,
)
from cchain_app.evm.tracing import TracingEngine
from primitives.evm import Address, Slot, Word
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.cchain import (
    BASE_FEE,
    SENDERS,
    MemoryState,
    block_env,
    call_message,
    genesis_state,
)

CONTRACT = Address(b"\xc0" * 20)
NOBODY = Address(b"\x0e" * 20)
IDENTITY, SHA256 = Address(bytes(19) + b"\x04"), Address(bytes(19) + b"\x02")
READ_BLOB_BASE_FEE = bytes([0x4A]) + assemble("0 MSTORE 32 0 RETURN")


def with_code(code: bytes, **account: Any) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, **account)
    return state


def estimate(
    engine: TracingEngine,
    state: MemoryState,
    to: Address | None = CONTRACT,
    data: bytes = b"",
    **changes: Any,
) -> GasEstimate:
    limits = {name: changes.pop(name) for name in ("allowance", "time_limit") if name in changes}
    message = call_message(to, data, **{"gas": 30_000_000, **changes})
    return engine.estimate(block_env(), message, state, error_ratio=0.015, **limits)


def works(engine: TracingEngine, state: MemoryState, gas: int, data: bytes = b"") -> bool:
    return engine.call(block_env(), call_message(CONTRACT, data, gas=gas), state).error is None


def test_a_transfer_needs_21000(engine: TracingEngine) -> None:
    assert estimate(engine, genesis_state(), NOBODY, value=1) == GasEstimate(21_000)


def test_estimate_suffices_and_is_close_to_the_minimum(engine: TracingEngine) -> None:
    state, data = with_code(bytecode.STORE), bytecode.words(5, 6)
    gas = estimate(engine, state, data=data).gas
    assert gas is not None
    assert works(engine, state, gas, data)
    assert not works(engine, state, int(gas / 1.016), data)


def test_an_allowance_of_gas_does_not_change_the_answer(engine: TracingEngine) -> None:
    state, data = with_code(bytecode.STORE), bytecode.words(5, 6)
    allowance = GasAllowance(1_000_000)
    assert estimate(engine, state, data=data, allowance=allowance) == estimate(
        engine, state, data=data
    )


def test_the_gas_of_all_runs_counts_together(engine: TracingEngine) -> None:
    state, data = with_code(bytecode.STORE), bytecode.words(5, 6)
    with pytest.raises(CallInterrupted, match=r"^gas allowance used up$"):
        estimate(engine, state, data=data, allowance=GasAllowance(30_000))  # one run takes 22,106


def test_a_time_limit_ends_an_estimate(engine: TracingEngine) -> None:
    with pytest.raises(CallInterrupted, match=r"^time limit reached$"):
        estimate(engine, with_code(bytecode.LOOP), gas=10**13, time_limit=0.02)


def test_revert_is_reported_with_its_data(engine: TracingEngine) -> None:
    found = estimate(engine, with_code(bytecode.ECHO_REVERT), data=b"why")
    assert found.gas is None
    assert found.failure is not None
    assert (found.failure.error, found.failure.output) == ("execution reverted", b"why")


def test_insufficient_gas_limit_has_no_estimate(engine: TracingEngine) -> None:
    assert estimate(engine, with_code(bytecode.LOOP), gas=100_000) == GasEstimate(None)
    assert estimate(engine, with_code(bytecode.COUNTER), gas=20_000) == GasEstimate(None)


def test_invalid_call_is_rejected(engine: TracingEngine) -> None:
    with pytest.raises(CallRejected, match=r"^insufficient funds for gas"):
        estimate(engine, with_code(bytecode.COUNTER), sender=NOBODY, value=1)
    with pytest.raises(CallRejected, match=r"^insufficient funds for gas"):
        estimate(engine, genesis_state(), NOBODY, sender=CONTRACT, value=1)


def test_state_is_read_once_per_estimate(engine: TracingEngine) -> None:
    asked: Counter[tuple[bytes, ...]] = Counter()

    class Counting(MemoryState):
        def account(self, address: Address) -> AccountState | None:
            asked[address,] += 1
            return super().account(address)

        def storage(self, address: Address, slot: Slot) -> Word:
            asked[address, slot] += 1
            return super().storage(address, slot)

    plain = with_code(bytecode.TOKEN, storage={int.from_bytes(SENDERS[0]): 100})
    state = Counting(plain.accounts, plain.storages, plain.codes)
    found = estimate(engine, state, data=bytecode.transfer_call(NOBODY, 5))
    assert found.gas is not None
    assert {key[0] for key in asked} == {SENDERS[0], CONTRACT}
    assert set(asked.values()) == {1}


def test_a_moved_precompile_answers_at_its_new_place_only(engine: TracingEngine) -> None:
    env = block_env(precompile_moves=((IDENTITY, CONTRACT),))
    state = with_code(bytecode.ECHO_REVERT)
    assert engine.call(env, call_message(CONTRACT, b"hi"), state).output == b"hi"
    assert engine.call(env, call_message(IDENTITY, b"hi"), state).output == b""


def test_a_moved_precompile_hides_another(engine: TracingEngine) -> None:
    env = block_env(precompile_moves=((IDENTITY, SHA256),))
    assert engine.call(env, call_message(SHA256, b"hi"), genesis_state()).output == b"hi"


def test_code_runs_where_a_precompile_was(engine: TracingEngine) -> None:
    state = genesis_state()
    state.put(IDENTITY, code=bytecode.COUNTER, storage={0: 7})
    message = call_message(IDENTITY)
    assert engine.call(block_env(), message, state).output == b""
    env = block_env(precompile_moves=((IDENTITY, None),))
    assert engine.call(env, message, state).output == bytecode.words(8)


def test_blob_base_fee_can_be_overridden(engine: TracingEngine) -> None:
    state, message = with_code(READ_BLOB_BASE_FEE), call_message(CONTRACT)
    assert engine.call(block_env(), message, state).output == bytecode.words(1)
    env = block_env(blob_base_fee=2**128 - 1)
    assert engine.call(env, message, state).output == bytecode.words(2**128 - 1)


def test_surroundings_are_distinguished(engine: TracingEngine) -> None:
    state, message = with_code(bytecode.SURROUNDINGS), call_message(CONTRACT)
    numbers = [
        engine.call(block_env(number=number), message, state).output[:32] for number in (5, 6, 5)
    ]
    assert numbers == [bytecode.words(number) for number in (5, 6, 5)]


def test_basefee_opcode_depends_on_the_gas_price(engine: TracingEngine) -> None:
    state = with_code(assemble("BASEFEE 0 MSTORE 32 0 RETURN"))
    env = block_env()
    for price, read in ((0, 0), (BASE_FEE, BASE_FEE), (0, 0)):
        message = call_message(CONTRACT, gas_price=price)
        assert engine.call(env, message, state).output == bytecode.words(read)

"""No contract is created at an address with storage, even without nonce and code (EIP-7610); both engines.

A genesis file, a block before Spurious Dragon, or a caller's state overrides can create such accounts.
"""

from collections.abc import Callable
from typing import Any

import pytest

from cchain_app.evm.engine import CallMessage, CallResult, Engine
from cchain_app.evm.overrides import AccountOverride, override_state
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.select import select_engine
from cchain_app.txs.transaction import LEGACY, Transaction
from primitives.evm import ZERO_WORD, Address, Slot, Word
from tests.builders import bytecode
from tests.builders.bytecode import assemble, created, created2
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

FORKS = ("frontier", "spurious_dragon", "constantinople", "berlin", "shanghai", "prague", "osaka")
FACTORY = Address(b"\xfa" * 20)
INIT = bytecode.deploy_code(b"\x00")
ONE = Word((1).to_bytes(32, "big"))
SLOT = Slot((7).to_bytes(32, "big"))

STORE_INIT = b"".join(
    assemble(int.from_bytes(INIT[at : at + 32].ljust(32, b"\0"), "big"), at, "MSTORE")
    for at in range(0, len(INIT), 32)
)
BY_CREATE = STORE_INIT + assemble(f"{len(INIT)} 0 0 CREATE 0 MSTORE 32 0 RETURN")
BY_CREATE2 = STORE_INIT + assemble(f"5 {len(INIT)} 0 0 CREATE2 0 MSTORE 32 0 RETURN")


def legacy(**changes: Any) -> Transaction:
    """Return a transaction of the type that every fork supports."""
    return transaction(type=LEGACY, chain_id=None, value=0, max_fee_per_gas=2 * BASE_FEE, **changes)


def with_storage(address: Address, *, balance: int = 0) -> MemoryState:
    """Return a state in which an account has a slot and neither nonce nor code."""
    state = genesis_state()
    state.put(address, balance=balance, storage={7: 1})
    return state


def factory(state: MemoryState, code: bytes) -> MemoryState:
    state.put(FACTORY, code=code, nonce=1)
    return state


@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("balance", [0, 5])
def test_a_transaction_creates_nothing_there(engine: Engine, fork: str, balance: int) -> None:
    target = created(SENDERS[0], 0)
    state = with_storage(target, balance=balance)
    creation = legacy(to=None, data=INIT, gas=200_000)
    block = engine.execute_block(block_env(fork), [creation], state, skip_invalid=False)
    assert not block.results[0].succeeded
    assert block.results[0].gas_used == 200_000
    assert target not in block.changes.accounts
    assert all(address != target for address, _ in block.changes.storage)
    after = block.changes.accounts[SENDERS[0]].after
    assert after is not None
    assert after.nonce == 1


@pytest.mark.parametrize("fork", ["berlin", "prague"])
def test_an_instruction_creates_nothing_there(engine: Engine, fork: str) -> None:
    """CREATE returns zero, loses the gas passed to it, and increases the creator's nonce."""
    for code, target in (
        (BY_CREATE, created(FACTORY, 1)),
        (BY_CREATE2, created2(FACTORY, 5, INIT)),
    ):
        called = call_message(FACTORY, gas=500_000)
        result = engine.call(block_env(fork), called, factory(with_storage(target), code))
        assert result.output == bytes(32)
        assert result.gas_used > 400_000
        elsewhere = factory(genesis_state(), code)
        assert engine.call(block_env(fork), called, elsewhere).output[12:] == target
        block = engine.execute_block(
            block_env(fork),
            [legacy(to=FACTORY, gas=500_000)],
            factory(with_storage(target), code),
            skip_invalid=False,
        )
        assert target not in block.changes.accounts
        after = block.changes.accounts[FACTORY].after
        assert after is not None
        assert after.nonce == 2


def test_engines_agree_on_the_gas_of_a_creation_in_vain() -> None:
    native, reference = select_engine("native"), select_engine("reference")
    for fork in FORKS[2:]:
        for code, target in (
            (BY_CREATE, created(FACTORY, 1)),
            (BY_CREATE2, created2(FACTORY, 5, INIT)),
        ):
            state = factory(with_storage(target), code)
            message = call_message(FACTORY, gas=400_000)
            expected = reference.call(block_env(fork), message, state)
            assert native.call(block_env(fork), message, state) == expected


def test_an_account_with_coins_alone_is_not_in_the_way(engine: Engine) -> None:
    state = genesis_state()
    state.put(created(SENDERS[0], 0), balance=5)
    block = engine.execute_block(
        block_env(), [transaction(to=None, data=INIT, gas=200_000)], state, skip_invalid=False
    )
    assert block.results[0].succeeded


class Asked(MemoryState):
    """A state that records the accounts whose storage was queried."""

    def __init__(self, state: MemoryState) -> None:
        super().__init__(state.accounts, state.storages, state.codes, state.hashes, state.root)
        self.asked: list[Address] = []

    def has_storage(self, address: Address) -> bool:
        self.asked.append(address)
        return super().has_storage(address)


def test_storage_is_read_only_if_nonce_and_code_are_empty() -> None:
    native, target = select_engine("native"), created(SENDERS[0], 0)

    def asked(put: Callable[[MemoryState], Any]) -> list[Address]:
        state = genesis_state()
        put(state)
        asking = Asked(state)
        native.call(block_env(), call_message(None, INIT), asking)
        native.call(block_env(), call_message(target), asking)
        return asking.asked

    assert asked(lambda state: None) == []
    assert asked(lambda state: state.put(target, nonce=1)) == []
    assert asked(lambda state: state.put(target, code=b"\x00", storage={1: 1})) == []
    assert asked(lambda state: state.put(target, balance=1)) == [target]


def called(engine: Engine, state: Any, message: CallMessage | None = None) -> CallResult:
    return engine.call(block_env(), message or call_message(None, INIT, gas=200_000), state)


def test_storage_by_overrides_is_in_the_way(engine: Engine) -> None:
    target, collision = created(SENDERS[0], 0), "contract address collision"
    for given, error in (
        (AccountOverride(state={SLOT: ONE}), collision),
        (AccountOverride(state_diff={SLOT: ONE}), collision),
        (AccountOverride(state={SLOT: ZERO_WORD}), None),
        (AccountOverride(balance=1), None),
    ):
        state = override_state(genesis_state(), {target: given})
        assert called(engine, state).error == error
    emptied = override_state(with_storage(target), {target: AccountOverride(state={})})
    assert called(engine, emptied).error is None
    assert (
        called(
            engine,
            override_state(with_storage(target), {SENDERS[1]: AccountOverride(balance=COIN)}),
        ).error
        == collision
    )


def test_storage_below_blocks_that_are_not_stored_yet_is_in_the_way(engine: Engine) -> None:
    target = created(SENDERS[0], 0)
    assert called(engine, PendingState(with_storage(target))).error == "contract address collision"

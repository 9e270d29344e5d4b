"""Blocks of several transactions by each engine: order, skipped transactions, destroyed and delegating accounts."""

import pytest

from cchain_app.evm.engine import AccountState, ExecutionInvalid, SlotChange
from cchain_app.evm.tracing import TracingEngine
from cchain_app.txs.transaction import LEGACY, SET_CODE
from primitives.evm import Address, Slot, Word
from primitives.hashing import keccak256
from tests.builders import bytecode
from tests.builders.cchain import (
    ALL_FORKS,
    COIN,
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    call_message,
    genesis_state,
    transaction,
)

GWEI = 10**9
CONTRACT = Address(b"\xc0" * 20)


def slot(number: int) -> Slot:
    return Slot(number.to_bytes(32, "big"))


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def with_code(code: bytes, **account: object) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1, **account)  # type: ignore[arg-type]
    return state


def test_a_token_transfer_logs_and_is_seen_by_the_next_transaction(engine: TracingEngine) -> None:
    state = genesis_state()
    token = bytecode.created(SENDERS[0], 0)
    block = engine.execute_block(
        block_env(),
        [
            transaction(to=None, value=0, gas=500_000, data=bytecode.TOKEN_INIT),
            transaction(
                nonce=1, to=token, value=0, gas=100_000, data=bytecode.transfer_call(SENDERS[1], 5)
            ),
            transaction(
                1, to=token, value=0, gas=100_000, data=bytecode.transfer_call(SENDERS[2], 6)
            ),
        ],
        state,
        skip_invalid=False,
    )
    assert [result.succeeded for result in block.results] == [True, True, False]
    (log,) = block.results[1].logs
    assert log.address == token
    assert log.topics[0] == bytecode.TRANSFER_EVENT
    assert log.data == word(5)
    assert block.results[2].logs == ()
    state.apply(block.changes)
    result = engine.call(block_env(), call_message(token, bytecode.balance_call(SENDERS[1])), state)
    assert result.output == word(5)


def test_transactions_that_cannot_be_in_the_block_are_skipped_with_reasons(
    engine: TracingEngine,
) -> None:
    state = genesis_state()
    state.put(Address(b"\x01" * 20))
    block = engine.execute_block(
        block_env(gas_limit=60_000),
        [
            transaction(nonce=1),
            transaction(max_fee_per_gas=GWEI - 1, max_priority_fee_per_gas=0),
            transaction(gas=60_001),
            transaction(gas=20_999),
            transaction(),
            transaction(1, gas=50_000),
            transaction(),
            transaction(2, value=10_001 * COIN),
        ],
        state,
        skip_invalid=True,
    )
    assert block.included == (4,)
    assert [(skip.index, skip.reason, skip.retry) for skip in block.skipped] == [
        (0, "nonce too high: address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, tx: 1 state: 0",
         True),
        (1, "max fee per gas less than block base fee: address "
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, maxFeePerGas: 999999999, "
            "baseFee: 1000000000", True),
        (2, "gas limit reached", False),
        (3, "intrinsic gas too low: have 20999, want 21000", False),
        (5, "gas limit reached", True),
        (6, "nonce too low: address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, tx: 0 state: 1",
         False),
        (7, "insufficient funds for gas * price + value: address "
            "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC have 10000000000000000000000 want "
            "10001001050000000000000", False),
    ]  # fmt: skip


def test_without_skipping_a_bad_transaction_makes_the_block_invalid(engine: TracingEngine) -> None:
    bad = transaction(nonce=1)
    with pytest.raises(
        ExecutionInvalid,
        match=rf"^could not apply tx 0 \[0x{bad.hash.hex()}\]: nonce too high: address 0xf39F",
    ):
        engine.execute_block(block_env(), [bad], genesis_state(), skip_invalid=False)


def test_sender_with_code_is_refused_unless_it_delegates(engine: TracingEngine) -> None:
    state = genesis_state()
    state.put(SENDERS[0], balance=COIN, code=bytecode.COUNTER)
    state.put(SENDERS[1], balance=COIN, code=bytes.fromhex("ef0100") + CONTRACT)
    block = engine.execute_block(
        block_env(), [transaction(), transaction(1)], state, skip_invalid=True
    )
    assert block.included == (1,)
    assert block.skipped[0].reason.startswith("sender not an eoa: address 0xf39Fd6e5")


def test_self_destruction_before_cancun_clears_storage(engine: TracingEngine) -> None:
    state = with_code(bytecode.DESTROYER, balance=7, storage={1: 2})
    destroy = transaction(to=CONTRACT, value=0, gas=100_000, data=bytecode.words(SENDERS[1]))
    block = engine.execute_block(block_env("shanghai"), [destroy], state, skip_invalid=False)
    assert block.changes.cleared == {CONTRACT}
    assert block.changes.accounts[CONTRACT].after is None
    later = engine.execute_block(block_env("cancun"), [destroy], state, skip_invalid=False)
    assert later.changes.cleared == frozenset()
    assert later.changes.accounts[CONTRACT].after == AccountState(
        1, 0, keccak256(bytecode.DESTROYER)
    )


def test_contract_can_be_destroyed_and_recreated_in_one_block(engine: TracingEngine) -> None:
    init = bytecode.deploy_code(bytecode.DESTROYER, before=bytecode.assemble("9 3 SSTORE"))
    factory = with_code(bytecode.FACTORY)
    made = bytecode.created2(CONTRACT, 0, init)
    factory.put(made, code=bytecode.DESTROYER, nonce=1, storage={3: 8, 4: 4})
    block = engine.execute_block(
        block_env("shanghai"),
        [
            transaction(to=made, value=0, gas=100_000, data=bytecode.words(SENDERS[1])),
            transaction(nonce=1, to=CONTRACT, value=0, gas=500_000, data=bytecode.words(0) + init),
        ],
        factory,
        skip_invalid=False,
    )
    assert [result.succeeded for result in block.results] == [True, True]
    assert block.changes.cleared == {made}
    of_made = {key[1]: change for key, change in block.changes.storage.items() if key[0] == made}
    assert of_made == {slot(3): SlotChange(word(8), word(9))}


def test_a_delegation_is_code_of_the_account(engine: TracingEngine) -> None:
    state = with_code(bytecode.COUNTER)
    block = engine.execute_block(
        block_env(),
        [
            transaction(
                type=SET_CODE,
                to=SENDERS[1],
                value=0,
                gas=200_000,
                authorizations=(authorization(1, CONTRACT, 0),),
            )
        ],
        state,
        skip_invalid=False,
    )
    delegation = bytes.fromhex("ef0100") + CONTRACT
    after = block.changes.accounts[SENDERS[1]].after
    assert after is not None
    assert (after.nonce, after.code_hash) == (1, keccak256(delegation))
    assert block.changes.storage[SENDERS[1], slot(0)].after == word(1)


@pytest.mark.parametrize("fork", ALL_FORKS)
def test_every_fork_executes_a_block_and_a_call(engine: TracingEngine, fork: str) -> None:
    state = with_code(bytecode.COUNTER)
    send = transaction(
        type=LEGACY, chain_id=None, to=CONTRACT, value=0, gas=100_000, max_fee_per_gas=2 * GWEI
    )
    block = engine.execute_block(block_env(fork), [send], state, skip_invalid=False)
    assert block.results[0].succeeded
    assert block.changes.storage[CONTRACT, slot(0)].after == word(1)
    state.apply(block.changes)
    result = engine.call(block_env(fork), call_message(CONTRACT), state)
    assert (result.error, result.output) == (None, word(2))

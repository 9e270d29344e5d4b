"""Blocks executed by each engine: transfers, deployments, system calls and requests."""

from typing import Any

from cchain_app.config import DEPOSIT_CONTRACT
from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    BlockEnv,
    ExecutedBlock,
    SlotChange,
    TransactionResult,
)
from cchain_app.evm.tracing import TracingEngine
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders import bytecode
from tests.builders.cchain import (
    BASE_FEE,
    COIN,
    SENDERS,
    MemoryState,
    block_env,
    genesis_state,
    transaction,
)
from tests.builders.spec_history import DEPOSIT_LOGGER, deposit_event

GWEI = 10**9
EMPTY_REQUESTS = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
EXITS = Address(bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002"))
OTHER_DEPOSITS = Address(b"\x42" * 20)


def slot(number: int) -> Slot:
    return Slot(number.to_bytes(32, "big"))


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def run(
    engine: TracingEngine, state: MemoryState, *transactions: Any, env: BlockEnv | None = None
) -> ExecutedBlock:
    return engine.execute_block(env or block_env(), transactions, state, skip_invalid=False)


def storage_of(block: ExecutedBlock, address: Address) -> dict[Slot, SlotChange]:
    return {slot: change for (of, slot), change in block.changes.storage.items() if of == address}


def test_a_transfer_moves_value_burns_the_base_fee_and_tips_the_coinbase(
    engine: TracingEngine,
) -> None:
    env = block_env()
    block = run(engine, genesis_state(), transaction(to=SENDERS[1], value=COIN), env=env)
    assert block.included == (0,)
    assert block.results == (TransactionResult(True, 21_000, (), None),)
    assert block.gas_used == 21_000
    changes = block.changes.accounts
    fee = 21_000 * (BASE_FEE + GWEI)
    assert changes[SENDERS[0]].after == AccountState(1, 10_000 * COIN - COIN - fee, EMPTY_HASH)
    assert changes[SENDERS[1]] == AccountChange(
        AccountState(0, 10_000 * COIN, EMPTY_HASH), AccountState(0, 10_001 * COIN, EMPTY_HASH)
    )
    assert changes[env.coinbase] == AccountChange(None, AccountState(0, 21_000 * GWEI, EMPTY_HASH))


def test_a_deployment_reports_code_address_and_storage(engine: TracingEngine) -> None:
    deploy = transaction(to=None, value=0, gas=500_000, data=bytecode.TOKEN_INIT)
    block = run(engine, genesis_state(), deploy)
    token = bytecode.created(SENDERS[0], 0)
    code_hash = keccak256(bytecode.TOKEN)
    assert block.results[0].contract_address == token
    assert block.changes.codes == {code_hash: bytecode.TOKEN}
    assert block.changes.accounts[token] == AccountChange(None, AccountState(1, 0, code_hash))
    holder = Slot(SENDERS[0].rjust(32, b"\0"))
    supply = SlotChange(ZERO_WORD, word(bytecode.TOKEN_SUPPLY))
    assert storage_of(block, token) == {holder: supply}


def test_system_calls_write_parent_hashes_and_requests_are_hashed(engine: TracingEngine) -> None:
    env = block_env()
    block = run(engine, genesis_state(), env=env)
    history = Address(bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935"))
    roots = Address(bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02"))
    assert block.changes.storage[history, slot(4)] == SlotChange(ZERO_WORD, Word(env.parent_hash))
    time_slot = slot(env.timestamp % 8191)
    assert block.changes.storage[roots, time_slot].after == word(env.timestamp)
    assert block.requests_hash == EMPTY_REQUESTS
    assert block.changes.accounts == {}


def test_contracts_that_were_never_deployed_are_not_called(engine: TracingEngine) -> None:
    block = run(engine, MemoryState())
    assert block.changes.storage == {}
    assert block.requests_hash == EMPTY_REQUESTS


def test_deposits_are_read_from_the_contract_that_the_chain_names(engine: TracingEngine) -> None:
    hashes = {}
    for reads in (DEPOSIT_CONTRACT, OTHER_DEPOSITS):
        for deposits_to in (DEPOSIT_CONTRACT, OTHER_DEPOSITS):
            state = genesis_state()
            state.put(deposits_to, code=DEPOSIT_LOGGER, nonce=1)
            transactions = [
                transaction(to=EXITS, value=1, gas=500_000, data=b"\x07" * 48 + bytes(7) + b"\x09"),
                transaction(nonce=1, to=deposits_to, value=0, gas=500_000, data=deposit_event(b"\x05" * 48)),
            ]  # fmt: skip
            env = block_env(deposit_contract=reads)
            block = engine.execute_block(env, transactions, state, skip_invalid=False)
            hashes[reads, deposits_to] = block.requests_hash
    assert hashes[DEPOSIT_CONTRACT, DEPOSIT_CONTRACT] == hashes[OTHER_DEPOSITS, OTHER_DEPOSITS]
    assert hashes[DEPOSIT_CONTRACT, OTHER_DEPOSITS] == hashes[OTHER_DEPOSITS, DEPOSIT_CONTRACT]
    assert len({*hashes.values(), EMPTY_REQUESTS}) == 3


def test_a_withdrawal_request_is_in_the_requests_hash(engine: TracingEngine) -> None:
    request = transaction(to=EXITS, value=1, gas=500_000, data=b"\x07" * 48 + bytes(7) + b"\x09")
    block = run(engine, genesis_state(), request)
    assert block.results[0].succeeded
    assert block.requests_hash not in {None, EMPTY_REQUESTS}

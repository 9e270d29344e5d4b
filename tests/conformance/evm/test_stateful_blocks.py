"""Blocks of chains with stateful precompiles: who may send, who may create, what a warp message costs; both engines."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app.evm.engine import CallRejected, Engine, ExecutedBlock, ExecutionInvalid
from cchain_app.evm.tracing import Recording, TracingEngine
from cchain_app.precompiles import addresses
from cchain_app.precompiles.active import DURANGO_WARP_GAS
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.txs.transaction import contract_address
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.cchain import BASE_FEE, SENDERS, MemoryState, call_message, transaction
from tests.builders.stateful import (
    CHAIN,
    HASH,
    MESSAGE,
    NOBODY,
    SOURCE,
    predicate,
    stateful_env,
    stateful_state,
)

ADMIN_INDEX, NOBODY_INDEX = 0, 3
INIT = bytecode.deploy_code(b"\x00")
FACTORY = Address(b"\xfa" * 20)
GET_MESSAGE = bytes.fromhex("6f825350") + bytes(32)
GET_HASH = bytes.fromhex("ce7f5929") + bytes(32)
PREDICATE_GAS = 125_000


def sent(sender: int, **changes: Any) -> Any:
    values = {"value": 0, "gas": 500_000, "nonce": 0, "max_fee_per_gas": 2 * BASE_FEE}
    return transaction(sender, **{**values, **changes})


def run(
    engine: Engine, transactions: list[Any], state: MemoryState, **changes: Any
) -> ExecutedBlock:
    env = stateful_env(**changes)
    return engine.execute_block(env, transactions, state, skip_invalid=True)


def test_only_listed_accounts_send_transactions(engine: TracingEngine) -> None:
    key = PrecompileKey.TRANSACTION_ALLOW_LIST
    state, env = stateful_state(key), stateful_env(key)
    both = [sent(ADMIN_INDEX, to=NOBODY), sent(NOBODY_INDEX, to=NOBODY)]

    block = engine.execute_block(env, both, state, skip_invalid=True)

    assert block.included == (0,)
    words = f"cannot issue transaction from non-allow listed address: {checksum_address(NOBODY)}"
    assert [(item.reason, item.retry) for item in block.skipped] == [(words, False)]
    with pytest.raises(ExecutionInvalid, match=words):
        engine.execute_block(env, both, state, skip_invalid=False)


def test_eth_call_may_use_any_sender(engine: TracingEngine) -> None:
    key = PrecompileKey.TRANSACTION_ALLOW_LIST

    result = engine.call(
        stateful_env(key), call_message(None, b"", sender=NOBODY), stateful_state(key)
    )

    assert result.error is None


def test_only_listed_origins_create_contracts(engine: TracingEngine) -> None:
    key = PrecompileKey.DEPLOYER_ALLOW_LIST
    state, env = stateful_state(key), stateful_env(key)
    creations = [sent(ADMIN_INDEX, to=None, data=INIT), sent(NOBODY_INDEX, to=None, data=INIT)]

    block = engine.execute_block(env, creations, state, skip_invalid=True)

    listed, denied = block.results
    assert listed.succeeded
    assert not denied.succeeded
    assert denied.gas_used == 500_000
    after = block.changes.accounts[NOBODY].after
    assert after is not None
    assert after.nonce == 1
    assert contract_address(NOBODY, 0) not in block.changes.accounts


def test_denied_creation_is_reported(engine: TracingEngine) -> None:
    key = PrecompileKey.DEPLOYER_ALLOW_LIST
    state, env = stateful_state(key), stateful_env(key)
    message = call_message(None, INIT, sender=NOBODY)

    result = engine.call(env, message, state)
    traced = engine.trace_call(env, message, state, Recording(frames=True))

    words = f"tx.origin {checksum_address(NOBODY)} is not authorized to deploy a contract"
    assert (result.error, result.gas_used) == (words, message.gas)
    assert (traced.error, traced.frames[0].precompile) == (words, False)


def test_a_contract_creates_for_its_origin(engine: TracingEngine) -> None:
    key = PrecompileKey.DEPLOYER_ALLOW_LIST
    state, env = stateful_state(key), stateful_env(key)
    made = assemble(int.from_bytes(b"\x60\x00".ljust(32, b"\0"), "big"), 0, "MSTORE")
    state.put(FACTORY, nonce=1, code=made + assemble("2 0 0 CREATE 0 MSTORE 32 0 RETURN"))

    outputs = [
        engine.call(env, call_message(FACTORY, sender=sender), state).output
        for sender in (SENDERS[ADMIN_INDEX], NOBODY)
    ]

    assert any(outputs[0])
    assert not any(outputs[1])


def test_warp_message_has_its_own_intrinsic_gas(
    engine: TracingEngine,
) -> None:
    entry = predicate(signers=0b111)
    state = stateful_state()
    plain, with_message = sent(0, to=NOBODY), sent(0, to=NOBODY, access_list=(entry,))

    gas = [run(engine, [item], state).gas_used for item in (plain, with_message)]

    assert gas[1] - gas[0] == PREDICATE_GAS + 512 * len(entry[1]) + 250 * 3


def test_warp_entry_is_ordinary_without_the_precompile(engine: TracingEngine) -> None:
    entry, key = predicate(), PrecompileKey.FEE_MANAGER
    item = sent(0, to=NOBODY, access_list=(entry,))

    block = engine.execute_block(stateful_env(key), [item], stateful_state(key), skip_invalid=True)

    assert block.gas_used == 21_000 + 2_400 + 1_900 * len(entry[1])


def test_malformed_warp_entry_makes_the_transaction_invalid(engine: TracingEngine) -> None:
    entry = (addresses.WARP, (b"\x01" + bytes(31),))
    state = stateful_state()

    block = run(engine, [sent(0, to=NOBODY, access_list=(entry,))], state)

    words = "cannot unpack predicate bytes: wrong delimiter"
    assert [(item.reason, item.retry) for item in block.skipped] == [(words, False)]
    with pytest.raises(CallRejected, match=words):
        engine.call(stateful_env(), call_message(NOBODY, access_list=(entry,)), state)


def test_gas_below_the_message_cost_is_refused(engine: TracingEngine) -> None:
    entry = predicate()
    needed = 21_000 + PREDICATE_GAS + 512 * len(entry[1]) + 250 * 2
    block = run(
        engine, [sent(0, to=NOBODY, access_list=(entry,), gas=needed - 1)], stateful_state()
    )

    assert [item.reason for item in block.skipped] == [
        f"intrinsic gas too low: have {needed - 1}, want {needed}"
    ]


@pytest.mark.parametrize(("payload", "data"), [(MESSAGE, GET_MESSAGE), (HASH, GET_HASH)])
def test_only_verified_messages_are_read(engine: TracingEngine, payload: Any, data: bytes) -> None:
    state = stateful_state()
    reader = state.put(Address(b"\xdd" * 20), code=_storing_result(data))
    item = sent(0, to=reader, access_list=(predicate(payload),), gas=900_000)

    read = {
        failed: run(engine, [item], state, failed={item.hash: failed}).changes.storage
        for failed in (0, 1)
    }

    stored = {failed: [slot.after for slot in changes.values()] for failed, changes in read.items()}
    assert any(word.hex() == bytes(SOURCE).hex() for word in stored[0])
    assert not any(word.hex() == bytes(SOURCE).hex() for word in stored[1])


def _storing_result(data: bytes) -> bytes:
    """Return code that calls the warp precompile and stores the first seven words of the result."""
    head = assemble(int.from_bytes(data[:4].ljust(32, b"\0"), "big"), 0, "MSTORE")
    called = head + assemble(
        224, 64, 36, 0, 0, int.from_bytes(addresses.WARP, "big"), "GAS CALL POP"
    )
    stored = b"".join(assemble(64 + 32 * i, "MLOAD", i + 1, "SSTORE") for i in range(7))
    return called + stored


def test_the_precompile_is_cold_at_first(engine: TracingEngine) -> None:
    state = stateful_state()
    asking = assemble(int.from_bytes(addresses.WARP, "big"), "BALANCE POP STOP")
    contract = state.put(Address(b"\xdd" * 20), code=asking)

    result = engine.call(stateful_env(), call_message(contract), state)

    assert result.gas_used == 21_000 + 3 + 2_600 + 2


def test_mint_does_not_warm_its_recipient(engine: TracingEngine) -> None:
    state = stateful_state()
    recipient = 0xABCDEF
    data = bytes.fromhex("4f5aaaba") + recipient.to_bytes(32, "big") + (5).to_bytes(32, "big")
    stores = b"".join(
        assemble(int.from_bytes(data[at : at + 32].ljust(32, b"\0"), "big"), at, "MSTORE")
        for at in range(0, len(data), 32)
    )
    minter = int.from_bytes(addresses.NATIVE_MINTER, "big")
    called = assemble(0, 0, len(data), 0, 0, minter, "GAS CALL")
    measured = assemble("GAS", recipient, "BALANCE POP GAS SWAP1 SUB 0 MSTORE 32 0 RETURN")
    contract = state.put(Address(b"\xdd" * 20), code=stores + called + measured)
    enabled = role_of_contract(state, contract)

    result = engine.call(stateful_env(), call_message(contract), enabled)

    assert int.from_bytes(result.output, "big") == 2_600 + 3 + 2 + 2


def role_of_contract(state: MemoryState, contract: Address) -> MemoryState:
    slots = state.storages[addresses.NATIVE_MINTER]
    slots[addresses.role_slot(contract)] = (1).to_bytes(32, "big")  # type: ignore[assignment]
    return state


def test_the_chain_s_id_and_prices_before_granite(engine: TracingEngine) -> None:
    env = stateful_env()
    warp = env.stateful.warp
    assert warp is not None
    older = replace(env, stateful=replace(env.stateful, warp=replace(warp, gas=DURANGO_WARP_GAS)))
    message = call_message(addresses.WARP, bytes.fromhex("4213cf78"))

    results = [engine.call(one, message, stateful_state()) for one in (env, older)]

    assert [result.output for result in results] == [CHAIN, CHAIN]
    assert results[0].gas_used - results[1].gas_used == 198


def test_gas_estimates_include_messages(engine: TracingEngine) -> None:
    entry = predicate()
    message = call_message(NOBODY, access_list=(entry,))

    estimate = engine.estimate(stateful_env(), message, stateful_state(), error_ratio=0.0)

    assert estimate.gas == 21_000 + PREDICATE_GAS + 512 * len(entry[1]) + 250 * 2

"""The helper that computes blocks anew, against a block whose parts are known otherwise."""

from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.txs.transaction import ACCESS_LIST
from tests.builders import bytecode
from tests.builders.cchain import SENDERS, genesis_state, transaction
from tests.builders.recompute import recompute_block, recompute_genesis, state_root
from tests.builders.tries import state_from_scratch

HEADER = {
    "parentHash": "0x" + "55" * 32,
    "miner": "0x0100000000000000000000000000000000000000",
    "difficulty": "0x0",
    "number": "0x1",
    "gasLimit": "0x1c9c380",
    "timestamp": "0x6553f100",
    "extraData": "0x",
    "mixHash": "0x" + "44" * 32,
    "nonce": "0x0000000000000000",
    "baseFeePerGas": "0x3b9aca00",
    "excessBlobGas": "0x0",
    "parentBeaconBlockRoot": "0x" + "00" * 32,
}


def test_a_block_with_several_types_of_transactions_is_recomputed() -> None:
    state = genesis_state()
    token = bytecode.created(SENDERS[0], 0)
    raws = [
        transaction(to=None, value=0, gas=500_000, data=bytecode.TOKEN_INIT).raw,
        transaction(
            nonce=1,
            type=ACCESS_LIST,
            to=token,
            value=0,
            gas=100_000,
            data=bytecode.transfer_call(SENDERS[1], 5),
            max_priority_fee_per_gas=0,
        ).raw,
        transaction(1).raw,
    ]
    made = recompute_block(HEADER, raws, state)
    assert made.transactions_root == PythonStateTrie().ordered_root(raws)
    assert made.state_root == state_from_scratch(state.accounts, state.storages)[0]
    assert made.logs_bloom.count(0) < 256
    assert set(made.as_json()) == {
        "hash", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "requestsHash",
        "gasUsed",
    }  # fmt: skip
    other = recompute_block({**HEADER, "extraData": "0x01"}, raws, genesis_state())
    assert other.hash != made.hash
    assert other.receipts_root == made.receipts_root


def test_an_empty_block_changes_the_state_by_its_system_calls_only() -> None:
    state = genesis_state()
    before = state_root(state)
    made = recompute_block(HEADER, [], state)
    assert made.gas_used == 0
    assert made.logs_bloom == bytes(256)
    assert made.state_root != before


def test_the_genesis_block_has_the_root_of_its_allocations() -> None:
    state = genesis_state()
    made = recompute_genesis({**HEADER, "number": "0x0"}, state)
    assert made.state_root == state_from_scratch(state.accounts, state.storages)[0]
    assert state.hashes[0] == made.hash

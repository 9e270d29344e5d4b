"""The recomputation of blocks, compared to blocks and states with known parts."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.genesis import Genesis, built_in_text, load_genesis
from cchain_app.txs.transaction import ACCESS_LIST
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import EMPTY_HASH
from tests.builders import bytecode
from tests.builders.cchain import SENDERS, MemoryState, transaction
from tests.builders.recompute import RecomputedChain, header_as_shown
from tests.builders.roots import StateTries, state_root
from tests.builders.tries import state_from_scratch

HEADER = {
    "parentHash": "0x" + "55" * 32,
    "sha3Uncles": "0x" + "00" * 32,
    "miner": "0x0100000000000000000000000000000000000000",
    "stateRoot": "0x" + "00" * 32,
    "transactionsRoot": "0x" + "00" * 32,
    "receiptsRoot": "0x" + "00" * 32,
    "logsBloom": "0x" + "00" * 256,
    "difficulty": "0x0",
    "number": "0x0",
    "gasLimit": "0x1c9c380",
    "gasUsed": "0x7",
    "timestamp": "0x6553f100",
    "extraData": "0x",
    "mixHash": "0x" + "44" * 32,
    "nonce": "0x0000000000000000",
    "baseFeePerGas": "0x3b9aca00",
    "withdrawalsRoot": "0x" + "00" * 32,
    "blobGasUsed": "0x7",
    "excessBlobGas": "0x0",
    "parentBeaconBlockRoot": "0x" + "00" * 32,
    "requestsHash": "0x" + "00" * 32,
}
"""A header whose computed fields are all wrong."""


def local() -> Genesis:
    return load_genesis(built_in_text("local"))


def begun() -> RecomputedChain:
    """Return the local network's chain with its genesis block."""
    chain = RecomputedChain(local().config, local().state_changes())
    chain.follow(header_as_shown(HEADER, "prague"), [])
    return chain


def following(**changes: str) -> object:
    return header_as_shown({**HEADER, "number": "0x1", **changes}, "prague")


def test_a_block_with_several_types_of_transactions_is_recomputed() -> None:
    chain = begun()
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
    made = chain.follow(following(), raws)
    state = chain.state
    assert made.header.transactions_root == PythonStateTrie().ordered_root(raws)
    assert made.header.receipt_root == PythonStateTrie().ordered_root(list(made.receipts))
    assert made.header.state_root == state_from_scratch(state.accounts, state.storages)[0]
    assert made.header.bloom.count(0) < 256
    assert made.header.gas_used == sum(result.gas_used for result in made.results)
    other = begun().follow(following(extraData="0x01"), raws)
    assert other.hash != made.hash
    assert other.header == replace(made.header, extra_data=b"\x01")


def test_an_empty_block_changes_the_state_by_its_system_calls_only() -> None:
    chain = begun()
    before = state_root(chain.state)
    made = chain.follow(following(), [])
    assert made.header.gas_used == 0
    assert made.header.bloom == bytes(256)
    assert made.header.state_root == state_root(chain.state) != before


def test_the_genesis_block_has_the_root_of_its_allocations() -> None:
    chain = RecomputedChain(local().config, local().state_changes())
    made = chain.follow(header_as_shown(HEADER, "prague"), [])
    state = chain.state
    assert made.header.state_root == state_from_scratch(state.accounts, state.storages)[0]
    assert state.hashes == {0: made.hash}


_addresses = st.integers(0, 40).map(lambda number: Address(number.to_bytes(20, "big")))
_slots = st.integers(0, 40).map(lambda number: Slot(number.to_bytes(32, "big")))
_words = st.integers(0, 3).map(lambda number: Word(number.to_bytes(32, "big")))
_blocks = st.lists(
    st.tuples(
        st.dictionaries(_addresses, st.none() | st.integers(0, 3), max_size=30),
        st.dictionaries(st.tuples(_addresses, _slots), _words, max_size=60),
        st.frozensets(_addresses, max_size=3),
    ),
    min_size=1,
    max_size=6,
)


@given(_blocks)
def test_tries_that_follow_changes_have_the_root_of_the_whole_state(blocks: list[object]) -> None:
    state, tries = MemoryState(), StateTries()
    for block in blocks:
        changes = changes_to(state, *block)
        state.apply(changes)
        tries.apply(changes, state)
        assert tries.root() == state_root(state)


def changes_to(
    state: MemoryState,
    nonces: dict[Address, int | None],
    words: dict[tuple[Address, Slot], Word],
    cleared: frozenset[Address],
) -> StateChanges:
    """Return a valid change of the state: without storage for missing accounts."""
    after = {
        address: None if nonce is None else AccountState(nonce, 7, EMPTY_HASH)
        for address, nonce in nonces.items()
    }
    alive = {address for address in state.accounts.keys() | after if after.get(address, True)}
    return StateChanges(
        accounts={
            address: AccountChange(state.account(address), account)
            for address, account in after.items()
            if account or address in state.accounts
        },
        storage={
            (address, slot): SlotChange(ZERO_WORD, word)
            for (address, slot), word in words.items()
            if address in alive
        },
        cleared=cleared & state.accounts.keys() & alive,
    )

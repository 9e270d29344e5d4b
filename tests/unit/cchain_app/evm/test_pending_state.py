"""The state after blocks that are not stored yet: their changes on top of the stored state."""

from hypothesis import given
from hypothesis import strategies as st

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges, StateReader
from cchain_app.evm.pending_state import MAX_LEVELS, PendingState, merged, state_after
from primitives.evm import ZERO_HASH, ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import MemoryState

ALICE, BOB = Address(b"\xa1" * 20), Address(b"\xb0" * 20)
CODE = b"\x60\x00"


def slot(number: int) -> Slot:
    return Slot(number.to_bytes(32, "big"))


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def stored() -> MemoryState:
    state = MemoryState()
    state.put(ALICE, balance=5, nonce=1, code=CODE, storage={1: 11, 2: 22})
    state.hashes[3] = Hash(b"\x03" * 32)
    return state


def test_pending_state_without_blocks_is_the_stored_state() -> None:
    pending = PendingState(stored())
    assert pending.account(ALICE) == AccountState(1, 5, keccak256(CODE))
    assert pending.account(BOB) is None
    assert (pending.storage(ALICE, slot(1)), pending.storage(ALICE, slot(9))) == (
        word(11), ZERO_WORD,
    )  # fmt: skip
    assert pending.code(keccak256(CODE)) == CODE
    assert (pending.block_hash(3), pending.block_hash(4)) == (Hash(b"\x03" * 32), ZERO_HASH)


def test_block_changes_only_the_accounts_in_its_changes() -> None:
    pending = PendingState(stored())
    before, after = AccountState(1, 5, keccak256(CODE)), AccountState(2, 4, keccak256(CODE))
    new_code = b"\x5f"
    pending.apply(
        4,
        Hash(b"\x04" * 32),
        StateChanges(
            accounts={ALICE: AccountChange(before, after)},
            storage={(ALICE, slot(1)): SlotChange(word(11), ZERO_WORD)},
            codes={keccak256(new_code): new_code},
        ),
    )
    assert pending.account(ALICE) == after
    assert pending.storage(ALICE, slot(1)) == ZERO_WORD
    assert pending.storage(ALICE, slot(2)) == word(22)
    assert pending.code(keccak256(new_code)) == new_code
    assert pending.block_hash(4) == Hash(b"\x04" * 32)


def test_deleted_account_is_absent() -> None:
    pending = PendingState(stored())
    gone = {ALICE: AccountChange(AccountState(1, 5, keccak256(CODE)), None)}
    pending.apply(4, ZERO_HASH, StateChanges(accounts=gone, cleared=frozenset([ALICE])))
    assert pending.account(ALICE) is None
    assert pending.storage(ALICE, slot(2)) == ZERO_WORD


def test_cleared_storage_has_only_later_writes() -> None:
    pending = PendingState(stored())
    written = {(ALICE, slot(7)): SlotChange(ZERO_WORD, word(7))}
    pending.apply(4, ZERO_HASH, StateChanges(storage=written))
    anew = {(ALICE, slot(2)): SlotChange(ZERO_WORD, word(2))}
    pending.apply(5, ZERO_HASH, StateChanges(storage=anew, cleared=frozenset([ALICE])))
    found = [pending.storage(ALICE, slot(number)) for number in (1, 2, 7)]
    assert found == [ZERO_WORD, word(2), ZERO_WORD]


_addresses = st.sampled_from([ALICE, BOB])
_accounts = st.none() | st.builds(
    AccountState, st.integers(0, 3), st.integers(0, 3), st.just(keccak256(b""))
)
_blocks = st.lists(
    st.tuples(
        st.dictionaries(_addresses, _accounts),
        st.dictionaries(st.tuples(_addresses, st.integers(0, 2)), st.integers(0, 3)),
        st.frozensets(_addresses),
    ),
    max_size=2 * MAX_LEVELS + 2,
)


@given(_blocks)
def test_pending_state_equals_the_stored_state(
    blocks: list[
        tuple[
            dict[Address, AccountState | None], dict[tuple[Address, int], int], frozenset[Address]
        ]
    ],
) -> None:
    below, whole = stored(), stored()
    pending = PendingState(below)
    nested: StateReader = below
    for number, (accounts, slots, cleared) in enumerate(blocks):
        gone = frozenset(a for a, after in accounts.items() if after is None)
        changes = StateChanges(
            accounts={
                address: AccountChange(whole.account(address), after)
                for address, after in accounts.items()
                if whole.account(address) != after
            },
            storage={
                (address, slot(at)): SlotChange(ZERO_WORD, word(value))
                for (address, at), value in slots.items()
                if address not in gone and value
            },
            cleared=cleared | gone,
        )
        pending.apply(number, ZERO_HASH, changes)
        nested = state_after(nested, number, ZERO_HASH, changes)
        assert nested.levels <= MAX_LEVELS
        whole.apply(changes)
    for state in (pending, nested):
        for address in (ALICE, BOB):
            assert state.account(address) == whole.account(address)
            for at in range(3):
                assert state.storage(address, slot(at)) == whole.storage(address, slot(at))


def test_cleared_storage_is_zero_under_many_blocks() -> None:
    gone = {ALICE: AccountChange(AccountState(1, 5, keccak256(CODE)), None)}
    changes = StateChanges(accounts=gone, cleared=frozenset([ALICE]))
    state = state_after(stored(), 4, ZERO_HASH, changes)
    for number in range(5, 5 + 2 * MAX_LEVELS):
        state = state_after(state, number, Hash(bytes([number]) * 32), StateChanges())
    assert state.levels <= MAX_LEVELS
    assert state.account(ALICE) is None
    assert state.storage(ALICE, slot(2)) == ZERO_WORD
    assert state.block_hash(5) == Hash(b"\x05" * 32)


def test_changes_of_several_blocks_merge_into_one_difference() -> None:
    pending = PendingState(stored())
    account = AccountState(1, 5, keccak256(CODE))
    richer, richest = account._replace(balance=6), account._replace(balance=7)
    pending.put(
        StateChanges(
            accounts={
                ALICE: AccountChange(account, richer),
                BOB: AccountChange(None, account),
            },
            storage={(ALICE, slot(1)): SlotChange(word(11), word(12))},
        )
    )
    pending.put(
        StateChanges(
            accounts={ALICE: AccountChange(richer, richest), BOB: AccountChange(account, None)},
            storage={
                (ALICE, slot(1)): SlotChange(word(12), word(11)),
                (ALICE, slot(2)): SlotChange(word(22), word(23)),
            },
        )
    )
    assert pending.changes() == StateChanges(
        accounts={ALICE: AccountChange(account, richest)},
        storage={(ALICE, slot(2)): SlotChange(word(22), word(23))},
    )


def test_set_slots_of_a_cleared_account_are_changed() -> None:
    pending = PendingState(stored())
    pending.put(StateChanges(cleared=frozenset([ALICE, BOB])))
    pending.put(
        StateChanges(
            storage={
                (ALICE, slot(1)): SlotChange(ZERO_WORD, word(11)),
                (ALICE, slot(2)): SlotChange(ZERO_WORD, ZERO_WORD),
            }
        )
    )
    assert pending.is_cleared(ALICE)
    assert pending.slots_of(ALICE) == {slot(1): word(11), slot(2): ZERO_WORD}
    assert pending.changes() == StateChanges(
        storage={(ALICE, slot(1)): SlotChange(word(11), word(11))}, cleared=frozenset([ALICE])
    )


def test_deleted_account_loses_its_storage() -> None:
    pending = PendingState(MemoryState())
    empty = AccountState(0, 0, EMPTY_HASH)
    place = {(BOB, slot(1)): SlotChange(ZERO_WORD, word(5))}
    pending.put(StateChanges(accounts={BOB: AccountChange(None, empty)}, storage=place))
    pending.put(StateChanges(accounts={BOB: AccountChange(empty, None)}))
    assert pending.storage(BOB, slot(1)) == ZERO_WORD
    assert pending.changes() == StateChanges()


ADDRESSES = [Address(bytes([place]) * 20) for place in range(3)]
SLOTS = [Slot(bytes(31) + bytes([place])) for place in range(3)]
OTHER_CODE = b"\x00"

accounts = st.none() | st.builds(
    AccountState,
    st.integers(min_value=0, max_value=2),
    st.integers(min_value=0, max_value=2),
    st.sampled_from([EMPTY_HASH, keccak256(OTHER_CODE)]),
)
words = st.sampled_from([Word(bytes(31) + bytes([value])) for value in range(3)])
plans = st.tuples(
    st.dictionaries(st.sampled_from(ADDRESSES), accounts),
    st.dictionaries(st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(SLOTS)), words),
    st.frozensets(st.sampled_from(ADDRESSES), max_size=1),
)


def planned(plan: tuple, state: MemoryState) -> StateChanges:
    """Convert the plan to valid changes of a state, as engines return them: deletion clears the storage."""
    of_accounts, of_slots, cleared = plan
    gone = {address for address, after in of_accounts.items() if after is None}
    cleared |= gone
    return StateChanges(
        accounts={
            address: AccountChange(state.account(address), after)
            for address, after in of_accounts.items()
            if state.account(address) != after
        },
        storage={
            key: SlotChange(state.storage(*key), after)
            for key, after in of_slots.items()
            if key[0] not in gone
            and (after != ZERO_WORD if key[0] in cleared else state.storage(*key) != after)
        },
        codes={Hash(keccak256(OTHER_CODE)): OTHER_CODE},
        cleared=frozenset(cleared),
    )


def shown(state: MemoryState) -> object:
    return (
        {address: state.account(address) for address in ADDRESSES},
        {(address, slot): state.storage(address, slot) for address in ADDRESSES for slot in SLOTS},
    )


@given(plans, plans, plans)
def test_both_together_make_the_same_state(begin: tuple, first: tuple, second: tuple) -> None:
    state = MemoryState()
    state.apply(planned(begin, state))
    apart, before = state.copy(), state.copy()
    one = planned(first, apart)
    apart.apply(one)
    two = planned(second, apart)
    apart.apply(two)

    together = merged(one, two)
    state.apply(together)

    assert shown(state) == shown(apart)
    for address, change in together.accounts.items():
        assert change.before == before.account(address) != change.after
    for (address, slot), change in together.storage.items():
        if address not in together.cleared:
            assert change.before == before.storage(address, slot)


def test_opposite_changes_cancel_out() -> None:
    there, gone = AccountState(0, 1, EMPTY_HASH), AccountState(0, 0, EMPTY_HASH)
    one = StateChanges(accounts={ADDRESSES[0]: AccountChange(there, gone)})
    two = StateChanges(accounts={ADDRESSES[0]: AccountChange(gone, there)})

    assert merged(one, two) == StateChanges()

"""Two changes merged into one lead to the same state as both in sequence."""

from hypothesis import given
from hypothesis import strategies as st

from cchain_app.evm.changes import merged
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import MemoryState

ADDRESSES = [Address(bytes([place]) * 20) for place in range(3)]
SLOTS = [Slot(bytes(31) + bytes([place])) for place in range(3)]
CODE = b"\x00"

accounts = st.none() | st.builds(
    AccountState,
    st.integers(min_value=0, max_value=2),
    st.integers(min_value=0, max_value=2),
    st.sampled_from([EMPTY_HASH, keccak256(CODE)]),
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
        codes={Hash(keccak256(CODE)): CODE},
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


def test_what_is_taken_back_is_no_change() -> None:
    there, gone = AccountState(0, 1, EMPTY_HASH), AccountState(0, 0, EMPTY_HASH)
    one = StateChanges(accounts={ADDRESSES[0]: AccountChange(there, gone)})
    two = StateChanges(accounts={ADDRESSES[0]: AccountChange(gone, there)})

    assert merged(one, two) == StateChanges()

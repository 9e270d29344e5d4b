"""The cache of a head's state: the native implementation behaves like Python's, step by step."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.memory.state import MISSING, PythonStateMemory, StateMemory
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

native = pytest.importorskip("cchain_app.memory.native")

ADDRESSES = [Address(bytes([n]) * 20) for n in range(1, 6)]
SLOTS = [Slot(bytes([n]) * 32) for n in range(1, 4)]
MAX_ACCOUNTS, MAX_SLOTS = 4, 6

T = TypeVar("T")

addresses = st.sampled_from(ADDRESSES)
slots = st.tuples(addresses, st.sampled_from(SLOTS))
words = st.integers(0, 3).map(lambda n: Word(n.to_bytes(32, "big")))
states = st.none() | st.builds(
    AccountState, st.integers(0, 2**64 - 1), st.integers(0, 2**256 - 1), st.just(EMPTY_HASH)
)
changes = st.builds(
    StateChanges,
    accounts=st.dictionaries(addresses, st.builds(AccountChange, st.none(), states), max_size=3),
    storage=st.dictionaries(slots, st.builds(SlotChange, words, words), max_size=3),
    codes=st.just({}),
    cleared=st.frozensets(addresses, max_size=1),
)
heights = st.integers(0, 3)

Step = Callable[[StateMemory], object]


def _remember(memory: StateMemory, address: Address, state: AccountState | None, at: int) -> None:
    memory.remember_accounts([(address, state)], memory.version_at(at))


def _remember_slot(memory: StateMemory, key: tuple[Address, Slot], value: Word, at: int) -> None:
    memory.remember_slot(*key, value, memory.version_at(at))


def _too_late(memory: StateMemory, address: Address, state: AccountState | None, at: int) -> None:
    version = memory.version_at(at)
    memory.change(at, StateChanges({}, {}, {}, frozenset()))
    memory.remember_accounts([(address, state)], version)


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda *a: lambda m: _remember(m, *a), addresses, states, heights),
    st.builds(lambda *a: lambda m: _remember_slot(m, *a), slots, words, heights),
    st.builds(lambda *a: lambda m: _too_late(m, *a), addresses, states, heights),
    st.builds(lambda n, c: lambda m: m.advance(n, c), heights, changes),
    st.builds(lambda n, c: lambda m: m.change(n, c), heights, changes),
    st.builds(
        lambda n, a, s: lambda m: m.move(n, a, s),
        heights,
        st.lists(addresses, max_size=2),
        st.lists(slots, max_size=2),
    ),
    st.builds(lambda n: lambda m: m.reset(n), heights),
)


def _all_of(memory: StateMemory) -> object:
    """Return everything that a cache returns, at each height."""
    return [
        memory.number,
        [
            (
                memory.version_at(n) is None,
                [_plain(memory.account(address, n)) for address in ADDRESSES],
                [_plain(memory.slot(a, s, n)) for a in ADDRESSES for s in SLOTS],
            )
            for n in range(4)
        ],
        dict(memory.kept().items()),
    ]


def _plain(value: T) -> T | str:
    return "missing" if value is MISSING else value


@given(st.lists(steps, max_size=12))
def test_both_memories_know_the_same_after_each_step(done: list[Step]) -> None:
    python = PythonStateMemory(accounts=MAX_ACCOUNTS, slots=MAX_SLOTS)
    rust = native.NativeStateMemory(accounts=MAX_ACCOUNTS, slots=MAX_SLOTS)
    for step in done:
        for memory in (python, rust):
            step(memory)
        assert _all_of(rust) == _all_of(python)


@pytest.mark.parametrize("kind", [PythonStateMemory, native.NativeStateMemory])
def test_oldest_entry_is_evicted_first(kind: type[PythonStateMemory]) -> None:
    memory = kind(accounts=2, slots=2)
    memory.reset(1)
    nobody = [(address, None) for address in ADDRESSES[:3]]
    memory.remember_accounts(nobody, memory.version_at(1))
    found = [memory.account(address, 1) for address in ADDRESSES[:3]]
    assert (found[0] is MISSING, found[1:]) == (True, [None, None])
    for slot in SLOTS:
        memory.remember_slot(ADDRESSES[0], slot, Word(slot), memory.version_at(1))
    known = [memory.slot(ADDRESSES[0], slot, 1) for slot in SLOTS]
    assert (known[0] is MISSING, known[1:]) == (True, SLOTS[1:])


@pytest.mark.parametrize("kind", [PythonStateMemory, native.NativeStateMemory])
def test_block_changes_are_cached_in_their_order(
    kind: type[PythonStateMemory],
) -> None:
    memory = kind(accounts=4, slots=4)
    for number, changed in enumerate(([0, 1, 2], [3, 4, 0])):
        accounts = {ADDRESSES[change]: AccountChange(None, None) for change in changed}
        memory.advance(number, StateChanges(accounts, {}, {}, frozenset()))
    known = [memory.account(address, 1) is not MISSING for address in ADDRESSES]
    # The first account was evicted for the fifth, and then added again.
    assert known == [True, False, True, True, True]


@pytest.mark.parametrize("kind", [PythonStateMemory, native.NativeStateMemory])
def test_code_is_kept_with_the_block_that_brought_it(kind: type[PythonStateMemory]) -> None:
    memory = kind(accounts=2, slots=2)
    code_hash = Hash(b"\5" * 32)
    memory.advance(1, StateChanges({}, {}, {code_hash: b"\0"}, frozenset()))
    assert (memory.code(code_hash), memory.code(Hash(b"\6" * 32))) == (b"\0", None)

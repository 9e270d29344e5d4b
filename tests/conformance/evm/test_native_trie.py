"""The state trie in Rust compared to tries that the specification builds from scratch."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.native_trie import NativeStateTrie
from cchain_app.evm.trie import (
    TrieError,
    TrieUpdate,
    nibbles,
    overlay,
    storage_trie,
)
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT, keccak256
from primitives.recursion import recursion_limit_restored
from primitives.rlp import encode_uint, iterate, read_only_item, split
from tests.searching import cases

with recursion_limit_restored():
    from ethereum.forks.prague import trie as specification

    from tests.builders.tries import MemoryNodes, state_from_scratch

ADDRESSES = [Address(bytes(19) + bytes([number])) for number in range(24)]
SLOTS = [Slot(bytes(31) + bytes([number])) for number in range(40)]


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def account(nonce: int, balance: int) -> AccountState:
    return AccountState(nonce, balance, EMPTY_HASH)


class World:
    """A state held twice: as plain dicts and as stored nodes."""

    def __init__(self, cache_bytes: int = 0) -> None:
        self.trie = NativeStateTrie(cache_bytes)
        self.accounts: dict[Address, AccountState] = {}
        self.storage: dict[Address, dict[Slot, Word]] = {}
        self.nodes = MemoryNodes()
        self.root: Hash = EMPTY_ROOT

    def apply(self, changes: StateChanges, *, commit: bool = True) -> TrieUpdate:
        update = self.trie.update(self.root, changes, self.nodes)
        self.nodes.apply(update)
        self.root = update.root
        if commit:
            self.trie.commit(update.root)
        for address in changes.cleared:
            self.storage.pop(address, None)
        for address, change in changes.accounts.items():
            if change.after is None:
                self.accounts.pop(address)
                self.storage.pop(address, None)
            else:
                self.accounts[address] = change.after
        for (address, slot), of_slot in changes.storage.items():
            self.storage.setdefault(address, {})[slot] = of_slot.after
        return update


state_changes = st.fixed_dictionaries(
    {
        "accounts": st.dictionaries(
            st.sampled_from(ADDRESSES),
            st.none() | st.builds(account, st.integers(0, 3), st.integers(0, 2**256 - 1)),
            max_size=8,
        ),
        "storage": st.dictionaries(
            st.tuples(st.sampled_from(ADDRESSES[:4]), st.sampled_from(SLOTS)),
            st.sampled_from([0, 0, 1, 2, 2**255]),
            max_size=12,
        ),
        "cleared": st.sets(st.sampled_from(ADDRESSES[:4]), max_size=1),
        "commit": st.booleans(),
    }
)


def as_changes(world: World, drawn: dict) -> StateChanges:
    """Convert drawn values to a change that is valid for the world."""
    accounts = {
        address: AccountChange(world.accounts.get(address), after)
        for address, after in drawn["accounts"].items()
        if after != world.accounts.get(address)
    }
    gone = {address for address, change in accounts.items() if change.after is None}
    alive = (set(world.accounts) | set(accounts)) - gone
    cleared = frozenset(drawn["cleared"] & set(world.accounts))
    storage = {}
    for (address, slot), number in drawn["storage"].items():
        before = world.storage.get(address, {}).get(slot, ZERO_WORD)
        if address in alive and (word(number) != before or address in cleared):
            storage[address, slot] = SlotChange(before, word(number))
    return StateChanges(accounts=accounts, storage=storage, cleared=cleared)


@settings(max_examples=cases(80), deadline=None)
@given(st.lists(state_changes, min_size=1, max_size=6), st.sampled_from([0, 2_000, 10**6]))
def test_incremental_updates_give_root_and_nodes_of_a_trie_from_scratch(
    drawn: list[dict], cache_bytes: int
) -> None:
    world = World(cache_bytes)
    for changes in drawn:
        world.apply(as_changes(world, changes), commit=changes["commit"])
        root, nodes = state_from_scratch(world.accounts, world.storage)
        assert world.root == root
        assert world.nodes.stored == nodes


@settings(max_examples=cases(60), deadline=None)
@given(st.lists(st.binary(max_size=70).filter(bool), max_size=300))
def test_ordered_root_is_that_of_the_specification(items: list[bytes]) -> None:
    trie = specification.Trie(secured=False, default=None)
    for index, item in enumerate(items):
        specification.trie_set(trie, encode_uint(index), item)
    assert NativeStateTrie(0).ordered_root(items) == specification.root(trie)


def filled(count: int = 200, slots: int = 40, cache_bytes: int = 0) -> World:
    world = World(cache_bytes)
    accounts = {
        Address(number.to_bytes(20, "big")): AccountChange(None, account(1, number))
        for number in range(count)
    }
    storage = {(ADDRESSES[1], slot): SlotChange(ZERO_WORD, word(7)) for slot in SLOTS[:slots]}
    world.apply(StateChanges(accounts=accounts, storage=storage))
    return world


def pay(world: World, number: int, amount: int) -> StateChanges:
    address = Address(number.to_bytes(20, "big"))
    return StateChanges(
        accounts={address: AccountChange(world.accounts[address], account(1, amount))}
    )


def test_update_reads_nodes_once_per_depth() -> None:
    world = filled()
    world.nodes.questions = 0
    slots = {(ADDRESSES[1], slot): SlotChange(word(7), word(8)) for slot in SLOTS}
    change = AccountChange(account(1, 5), account(1, 6))
    world.apply(StateChanges(accounts={ADDRESSES[5]: change}, storage=slots))
    prefix = len(storage_trie(ADDRESSES[1]))
    deepest = max(len(key) - (prefix if key.startswith(b"s") else 1) for key in world.nodes.stored)
    assert 2 <= world.nodes.questions <= deepest + 1


def test_an_update_reports_only_nodes_that_differ() -> None:
    world = filled()
    same = StateChanges(accounts={ADDRESSES[5]: AccountChange(account(1, 5), account(1, 5))})
    assert world.apply(same) == TrieUpdate(world.root, {})


def test_deleted_account_loses_its_storage() -> None:
    world = filled()
    gone = StateChanges(accounts={ADDRESSES[1]: AccountChange(account(1, 1), None)})
    update = world.apply(gone)
    assert sum(1 for data in update.nodes.values() if data is None) > 40
    assert not any(key.startswith(b"s") for key in world.nodes.stored)


def test_cleared_storage_has_only_later_writes() -> None:
    world = filled()
    slots = {(ADDRESSES[1], SLOTS[3]): SlotChange(word(7), word(7))}
    world.apply(StateChanges(storage=slots, cleared=frozenset({ADDRESSES[1]})))
    fresh = World()
    change = AccountChange(None, account(1, 1))
    fresh.apply(StateChanges(accounts={ADDRESSES[1]: change}, storage=slots))
    kept = {key for key in world.nodes.stored if key.startswith(b"s")}
    assert kept == {key for key in fresh.nodes.stored if key.startswith(b"s")}


def test_the_last_account_leaves_an_empty_trie() -> None:
    world = World()
    world.apply(StateChanges(accounts={ADDRESSES[1]: AccountChange(None, account(1, 1))}))
    world.apply(StateChanges(accounts={ADDRESSES[1]: AccountChange(account(1, 1), None)}))
    assert world.root == EMPTY_ROOT
    assert world.nodes.stored == {}


# The cache


def questions(world: World, changes: StateChanges) -> int:
    before = world.nodes.questions
    world.trie.update(world.root, changes, world.nodes)
    return world.nodes.questions - before


def test_nodes_of_a_committed_update_are_cached() -> None:
    world = filled(cache_bytes=10**6)
    assert questions(world, pay(world, 7, 1)) == 0
    world.apply(pay(world, 7, 2))
    assert questions(world, pay(world, 8, 1)) == 0


def test_an_update_that_was_not_committed_does_not_poison_the_cache() -> None:
    world = filled(cache_bytes=10**6)
    lost = world.trie.update(world.root, pay(world, 7, 999), world.nodes)
    kept = world.apply(pay(world, 7, 5))
    assert lost.root != kept.root
    assert world.root == state_from_scratch(world.accounts, world.storage)[0]


def test_another_root_empties_the_cache() -> None:
    world, other = filled(cache_bytes=10**6), filled(count=50)
    world.trie.update(other.root, pay(other, 7, 1), other.nodes)
    assert questions(world, pay(world, 7, 1)) > 0


def test_a_commit_of_an_older_update_is_not_taken_for_the_newer() -> None:
    world = filled(cache_bytes=10**6)
    first = world.trie.update(world.root, pay(world, 7, 1), world.nodes)
    world.trie.update(world.root, pay(world, 7, 2), world.nodes)
    world.trie.commit(first.root)
    assert world.trie.update(world.root, pay(world, 7, 1), world.nodes) == first


def test_block_can_be_built_on_an_unstored_parent() -> None:
    world = filled(cache_bytes=10**6)
    first = world.trie.update(world.root, pay(world, 7, 1), world.nodes)
    above = overlay(world.nodes, first)
    second = world.trie.update(first.root, pay(world, 8, 2), above)
    world.trie.commit(first.root)
    world.trie.commit(second.root)
    world.nodes.apply(first)
    world.nodes.apply(second)
    world.accounts[ADDRESSES[7]] = account(1, 1)
    world.accounts[ADDRESSES[8]] = account(1, 2)
    root, nodes = state_from_scratch(world.accounts, world.storage)
    assert second.root == root
    assert world.nodes.stored == nodes


def test_trie_cache_respects_its_byte_limit() -> None:
    world = filled(cache_bytes=3_000)
    assert questions(world, pay(world, 7, 1)) > 0


# Proofs


def proven(root: Hash, key: bytes, proof: Sequence[bytes]) -> bytes | None:
    """Follow a proof from the root as a light client does; None if it proves absence."""
    path, expected = nibbles(keccak256(key)), root
    for data in proof:
        assert keccak256(data) == expected
        items = list(iterate(read_only_item(data)))
        if len(items) == 17:
            expected, path = items[path[0]], path[1:]
            continue
        flags, *rest = nibbles(items[0])
        way = bytes(rest if flags & 1 else rest[1:])
        if flags & 2:
            return items[1] if way == path else None
        if not path.startswith(way):
            return None
        expected, path = items[1], path[len(way) :]
    assert expected in {b"", EMPTY_ROOT}
    return None


def test_a_proof_shows_the_account_and_its_slots() -> None:
    world = filled(slots=30)
    proof = world.trie.prove(world.root, ADDRESSES[1], SLOTS[28:32], world.nodes)
    assert proof.account == account(1, 1)
    leaf = proven(world.root, ADDRESSES[1], proof.account_proof)
    assert leaf is not None
    assert split(read_only_item(leaf), 4)[2] == proof.storage_root
    for slot, (value, nodes) in zip(SLOTS[28:32], proof.storage, strict=True):
        shown = proven(proof.storage_root, slot, nodes)
        if slot in SLOTS[:30]:
            assert shown is not None
            assert value == word(7) == read_only_item(shown).rjust(32, b"\0")
        else:
            assert (shown, value) == (None, ZERO_WORD)


@given(st.binary(min_size=20, max_size=20))
@settings(max_examples=cases(50), deadline=None)
def test_proof_shows_absence_of_an_account(address: bytes) -> None:
    world = PROVEN
    proof = world.trie.prove(world.root, Address(address), SLOTS[:1], world.nodes)
    if Address(address) not in world.accounts:
        assert (proof.account, proof.storage_root) == (None, EMPTY_ROOT)
        assert proof.storage == [(ZERO_WORD, [])]
        assert proven(world.root, address, proof.account_proof) is None


PROVEN = filled()


def test_a_proof_of_another_state_leaves_the_cache_alone() -> None:
    world, other = filled(cache_bytes=10**6), filled(count=50)
    proof = world.trie.prove(other.root, ADDRESSES[1], [], other.nodes)
    assert proof.account == account(1, 1)
    assert questions(world, pay(world, 7, 1)) == 0


# Stored nodes that do not match the trie


def test_a_missing_node_is_named() -> None:
    world = filled()
    del world.nodes.stored[b"a"]
    with pytest.raises(TrieError, match=r"^trie node a/ is not stored$"):
        world.trie.prove(world.root, ADDRESSES[1], [], world.nodes)


def test_a_foreign_node_is_named_and_not_remembered() -> None:
    world = filled(cache_bytes=10**6)
    trie = NativeStateTrie(10**6)
    right = world.nodes.stored[b"a"]
    world.nodes.stored[b"a"] = filled(count=50).nodes.stored[b"a"]
    with pytest.raises(TrieError, match=r"^trie node a/ is not the one its parent names$"):
        trie.update(world.root, pay(world, 7, 1), world.nodes)
    world.nodes.stored[b"a"] = right
    expected = world.trie.update(world.root, pay(world, 7, 1), world.nodes)
    assert trie.update(world.root, pay(world, 7, 1), world.nodes) == expected


def test_a_storage_trie_that_its_account_does_not_name_is_foreign() -> None:
    world, other = filled(), filled(slots=3)
    key = storage_trie(ADDRESSES[1])
    world.nodes.stored[key] = other.nodes.stored[key]
    with pytest.raises(TrieError, match=r"has another root than it should$"):
        world.trie.prove(world.root, ADDRESSES[1], SLOTS[:1], world.nodes)


def test_storage_of_an_account_that_is_not_there_is_refused() -> None:
    world = filled(count=5, slots=0)
    changes = StateChanges(storage={(ADDRESSES[9], SLOTS[0]): SlotChange(ZERO_WORD, word(1))})
    with pytest.raises(TrieError) as caught:
        world.apply(changes)
    assert str(caught.value) == f"storage of an account that is not there: 0x{ADDRESSES[9].hex()}"


class BrokenNodes(MemoryNodes):
    """Nodes that cannot be read."""

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        raise ConnectionError("no database")


def test_node_reader_exception_propagates_unchanged() -> None:
    world = filled()
    with pytest.raises(ConnectionError, match=r"^no database$"):
        world.trie.update(world.root, pay(world, 7, 1), BrokenNodes())


def test_a_reader_that_answers_too_little_is_refused() -> None:
    class Short(MemoryNodes):
        def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
            return []

    world = filled()
    with pytest.raises(TrieError, match=r"^asked for 1 trie nodes, got 0$"):
        world.trie.update(world.root, pay(world, 7, 1), Short())

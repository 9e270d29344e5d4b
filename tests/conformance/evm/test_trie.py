"""The state trie in Python compared to tries that the specification builds from scratch."""

from dataclasses import dataclass, field

import pytest
from ethereum_rlp import rlp
from ethereum_types.numeric import Uint
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie import (
    TrieError,
    TrieUpdate,
    nibbles,
    overlay,
    storage_trie,
)
from cchain_app.evm.trie_editor import TrieEditor
from cchain_app.evm.trie_python import PythonStateTrie, load, load_siblings
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT, keccak256
from tests.builders.tries import (
    MemoryNodes,
    nodes_from_scratch,
    root_from_scratch,
    specification,
    state_from_scratch,
)
from tests.searching import cases

TRIE = PythonStateTrie()
ADDRESSES = [Address(bytes(19) + bytes([number])) for number in range(24)]
SLOTS = [Slot(bytes(31) + bytes([number])) for number in range(40)]


def word(number: int) -> Word:
    return Word(number.to_bytes(32, "big"))


def account(nonce: int, balance: int) -> AccountState:
    return AccountState(nonce, balance, EMPTY_HASH)


@dataclass
class World:
    """A state held twice: as plain dicts and as stored nodes."""

    accounts: dict[Address, AccountState] = field(default_factory=dict)
    storage: dict[Address, dict[Slot, Word]] = field(default_factory=dict)
    nodes: MemoryNodes = field(default_factory=MemoryNodes)
    root: Hash = EMPTY_ROOT

    def apply(self, changes: StateChanges) -> TrieUpdate:
        update = TRIE.update(self.root, changes, self.nodes)
        self.nodes.apply(update)
        self.root = update.root
        for address in changes.cleared:
            self.storage.pop(address, None)
        for address, change in changes.accounts.items():
            if change.after is None:
                self.accounts.pop(address)
                self.storage.pop(address, None)
            else:
                self.accounts[address] = change.after
        for (address, slot), of_slot in changes.storage.items():
            if address in self.accounts:
                self.storage.setdefault(address, {})[slot] = of_slot.after
        return update


state_changes = st.fixed_dictionaries(
    {
        "accounts": st.dictionaries(
            st.sampled_from(ADDRESSES),
            st.none() | st.builds(account, st.integers(0, 3), st.integers(0, 2**100)),
            max_size=8,
        ),
        "storage": st.dictionaries(
            st.tuples(st.sampled_from(ADDRESSES[:4]), st.sampled_from(SLOTS)),
            st.sampled_from([0, 0, 1, 2, 2**255]),
            max_size=12,
        ),
        "cleared": st.sets(st.sampled_from(ADDRESSES[:4]), max_size=1),
    }
)


def as_changes(world: World, drawn: dict) -> StateChanges:
    """Convert drawn values to a change that is valid for the world."""
    accounts = {
        address: AccountChange(world.accounts.get(address), after)
        for address, after in drawn["accounts"].items()
        if after != world.accounts.get(address)
    }
    alive = (set(world.accounts) | set(accounts)) - {
        address for address, change in accounts.items() if change.after is None
    }
    cleared = frozenset(address for address in drawn["cleared"] if address in world.accounts)
    storage = {}
    for (address, slot), number in drawn["storage"].items():
        before = world.storage.get(address, {}).get(slot, ZERO_WORD)
        if address in alive and (word(number) != before or address in cleared):
            storage[address, slot] = SlotChange(before, word(number))
    return StateChanges(accounts=accounts, storage=storage, cleared=cleared)


@settings(max_examples=cases(60), deadline=None)
@given(st.lists(state_changes, min_size=1, max_size=6))
def test_incremental_updates_give_root_and_nodes_of_a_trie_from_scratch(drawn: list[dict]) -> None:
    world = World()
    for changes in drawn:
        world.apply(as_changes(world, changes))
        root, nodes = state_from_scratch(world.accounts, world.storage)
        assert world.root == root
        assert world.nodes.stored == nodes


@settings(max_examples=cases(60), deadline=None)
@given(st.lists(st.binary(max_size=70).filter(bool), max_size=150))
def test_ordered_root_is_that_of_the_specification(items: list[bytes]) -> None:
    trie = specification.Trie(secured=False, default=None)
    for index, item in enumerate(items):
        specification.trie_set(trie, rlp.encode(Uint(index)), item)
    assert TRIE.ordered_root(items) == specification.root(trie)


@settings(max_examples=cases(150), deadline=None)
@given(
    st.lists(
        st.dictionaries(st.binary(min_size=2, max_size=2), st.binary(max_size=40), max_size=20),
        max_size=5,
    )
)
def test_trie_with_short_keys_embeds_nodes_like_a_new_one(rounds: list[dict]) -> None:
    """Keys of two bytes lead to nodes of less than 32 bytes, which hashed keys never do."""
    entries: dict[bytes, bytes] = {}
    nodes = MemoryNodes()
    root = EMPTY_ROOT
    for drawn in rounds:
        editor = TrieEditor(b"t", root)
        load({editor: [nibbles(key) for key in drawn]}, nodes)
        for key, value in drawn.items():
            path = nibbles(key)
            if value:
                editor.put(path, value)
                entries[path] = value
            else:
                editor.delete(path)
                entries.pop(path, None)
        load_siblings([editor], nodes)
        editor.tidy()
        root, changed = editor.finish()
        nodes.apply(TrieUpdate(root, changed))
        assert root == root_from_scratch(entries)
        assert nodes.stored == nodes_from_scratch(b"t", entries)


def filled(count: int = 200, slots: int = 40) -> World:
    world = World()
    accounts = {
        Address(number.to_bytes(20, "big")): AccountChange(None, account(1, number))
        for number in range(count)
    }
    storage = {(ADDRESSES[1], slot): SlotChange(ZERO_WORD, word(7)) for slot in SLOTS[:slots]}
    world.apply(StateChanges(accounts=accounts, storage=storage))
    return world


def test_update_reads_nodes_once_per_depth() -> None:
    world = filled()
    world.nodes.questions = 0
    change = AccountChange(account(1, 5), account(1, 6))
    slots = {(ADDRESSES[1], slot): SlotChange(word(7), word(8)) for slot in SLOTS}
    world.apply(StateChanges(accounts={ADDRESSES[5]: change}, storage=slots))
    deepest = max(
        len(key) - len(storage_trie(ADDRESSES[1])) if key[:1] == b"s" else len(key) - 1
        for key in world.nodes.stored
    )
    assert 2 <= world.nodes.questions <= deepest + 1


def test_an_update_reports_only_nodes_that_differ() -> None:
    world = filled()
    same = account(1, 5)
    update = TRIE.update(
        world.root, StateChanges(accounts={ADDRESSES[5]: AccountChange(same, same)}), world.nodes
    )
    assert update == TrieUpdate(world.root, {})


def test_deleted_account_loses_its_storage() -> None:
    world = filled()
    update = world.apply(StateChanges(accounts={ADDRESSES[1]: AccountChange(account(1, 1), None)}))
    assert sum(1 for data in update.nodes.values() if data is None) > 40
    assert not any(key.startswith(b"s") for key in world.nodes.stored)


def test_deleting_everything_leaves_nothing() -> None:
    world = filled(count=30)
    gone = {address: AccountChange(state, None) for address, state in world.accounts.items()}
    world.apply(StateChanges(accounts=gone))
    assert world.root == EMPTY_ROOT
    assert world.nodes.stored == {}


def test_storage_alone_changes_the_account_leaf() -> None:
    world = filled()
    update = world.apply(
        StateChanges(storage={(ADDRESSES[2], SLOTS[0]): SlotChange(ZERO_WORD, word(1))})
    )
    assert update.root == state_from_scratch(world.accounts, world.storage)[0]
    assert any(key.startswith(b"a") for key in update.nodes)


def test_storage_of_an_account_that_is_not_there_is_an_error() -> None:
    changes = StateChanges(storage={(ADDRESSES[0], SLOTS[0]): SlotChange(ZERO_WORD, word(1))})
    with pytest.raises(TrieError, match=r"^storage of an account that is not there: 0x0"):
        TRIE.update(EMPTY_ROOT, changes, MemoryNodes())


def test_a_root_that_is_not_stored_is_an_error() -> None:
    world = filled()
    change = StateChanges(accounts={ADDRESSES[5]: AccountChange(None, account(0, 1))})
    with pytest.raises(TrieError, match=r"^trie node a/ is not stored$"):
        TRIE.update(world.root, change, MemoryNodes())


def test_nodes_of_another_state_are_an_error() -> None:
    world = filled()
    change = StateChanges(accounts={ADDRESSES[5]: AccountChange(None, account(0, 1))})
    with pytest.raises(TrieError, match=r"^trie node a/ is not the one its parent names$"):
        TRIE.update(Hash(bytes([7]) * 32), change, world.nodes)


def test_a_lost_node_is_an_error() -> None:
    world = filled()
    lost = b"a" + nibbles(keccak256(ADDRESSES[5]))[:1]
    del world.nodes.stored[lost]
    change = StateChanges(accounts={ADDRESSES[5]: AccountChange(None, account(0, 1))})
    with pytest.raises(TrieError, match=r"^trie node a/[0-9a-f] is not stored$"):
        TRIE.update(world.root, change, world.nodes)


def test_stale_storage_under_a_new_account_is_an_error() -> None:
    world = filled()
    address = Address(b"\xaa" * 20)
    world.nodes.stored |= nodes_from_scratch(
        storage_trie(address), {nibbles(keccak256(SLOTS[1])): b"\x01"}
    )
    changes = StateChanges(
        accounts={address: AccountChange(None, account(1, 1))},
        storage={(address, SLOTS[0]): SlotChange(ZERO_WORD, word(1))},
    )
    with pytest.raises(TrieError, match=r"has another root than it should$"):
        TRIE.update(world.root, changes, world.nodes)


def verified(root: Hash, key: bytes, proof: list[bytes]) -> bytes | None:
    """Follow a proof as a light client does; return the value, None if the proof shows absence."""
    path, want, node = nibbles(keccak256(key)), root, None
    nodes = {keccak256(data): data for data in proof}
    if root == EMPTY_ROOT:
        assert proof == []
        return None
    node = rlp.decode(nodes.pop(want))
    while True:
        if len(node) == 17:
            child, path = node[path[0]], path[1:]
        else:
            digits = "".join(f"{byte:02x}" for byte in node[0])
            way = bytes(int(digit, 16) for digit in digits[1 if int(digits[0]) & 1 else 2 :])
            if not path.startswith(way):
                break
            path = path[len(way) :]
            child = node[1]
            if int(digits[0]) & 2:
                assert nodes == {}
                return child
        if child == b"":
            break
        node = rlp.decode(nodes.pop(child)) if isinstance(child, bytes) else child
    assert nodes == {}
    return None


def test_proofs_hold_for_present_and_absent_keys() -> None:
    world = filled()
    absent = Slot(b"\x55" * 32)
    proof = TRIE.prove(world.root, ADDRESSES[1], [SLOTS[3], absent], world.nodes)
    assert proof.account == account(1, 1)
    leaf = verified(world.root, ADDRESSES[1], proof.account_proof)
    assert leaf is not None
    assert rlp.decode(leaf)[2] == proof.storage_root
    (present, present_nodes), (zero, zero_nodes) = proof.storage
    assert present == word(7)
    assert verified(proof.storage_root, SLOTS[3], present_nodes) == b"\x07"
    assert zero == ZERO_WORD
    assert verified(proof.storage_root, absent, zero_nodes) is None


def test_the_absence_of_an_account_is_proven() -> None:
    world = filled()
    stranger = Address(b"\xbb" * 20)
    proof = TRIE.prove(world.root, stranger, [SLOTS[0]], world.nodes)
    assert proof.account is None
    assert proof.storage_root == EMPTY_ROOT
    assert proof.storage == [(ZERO_WORD, [])]
    assert verified(world.root, stranger, proof.account_proof) is None


def test_the_empty_state_proves_absence_with_nothing() -> None:
    proof = TRIE.prove(EMPTY_ROOT, ADDRESSES[0], [], MemoryNodes())
    assert proof.account is None
    assert proof.account_proof == []


def test_overlay_reads_the_update_and_the_nodes_below() -> None:
    world = filled()
    change = StateChanges(
        accounts={ADDRESSES[5]: AccountChange(account(1, 5), account(2, 9))},
    )
    update = TRIE.update(world.root, change, world.nodes)
    proof = TRIE.prove(update.root, ADDRESSES[5], [], overlay(world.nodes, update))
    assert proof.account == account(2, 9)
    below = TRIE.prove(update.root, ADDRESSES[6], [], overlay(world.nodes, update))
    assert below.account == account(1, 6)


def test_an_overlay_hides_deleted_nodes() -> None:
    nodes = MemoryNodes()
    nodes.stored = {b"a": b"old", b"b": b"kept"}
    seen = overlay(nodes, TrieUpdate(EMPTY_ROOT, {b"a": None, b"c": b"new"}))
    assert seen.nodes([b"a", b"b", b"c", b"d"]) == [None, b"kept", b"new", None]
    assert seen.nodes([b"c"]) == [b"new"]

"""Roots computed by the specification's own code: of lists, whole states, and a changing state."""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes20, Bytes32
from ethereum_types.numeric import U256, Uint

from cchain_app.evm.engine import StateChanges
from cchain_app.evm.reference_package import load_fork
from primitives.evm import ZERO_WORD, Address, Word
from primitives.hashing import keccak256
from tests.builders.cchain import MemoryState

_KEPT_LEVELS = 2
"""Nodes down to this level are cached: 256 subtrees, of which a block changes few."""

Nibbles = bytes
"""The nibbles of a hashed key, one per byte."""


def fork_module(fork: str, name: str) -> ModuleType:
    """Import a module of a fork without a change of Python's recursion limit."""
    load_fork(fork)
    return import_module(f"ethereum.forks.{fork}.{name}")


def ordered_root(items: Sequence[bytes]) -> Bytes32:
    """Return the root of the trie of a list."""
    specification = load_fork("prague").trie
    trie = specification.Trie(secured=False, default=None)
    for index, item in enumerate(items):
        specification.trie_set(trie, rlp.encode(Uint(index)), item)
    return Bytes32(specification.root(trie))


def state_root(state: MemoryState) -> Bytes32:
    """Return the root of a whole state, from scratch."""
    module = fork_module("prague", "state")
    types = load_fork("prague").types
    whole = module.State()
    for address, account in state.accounts.items():
        code = state.codes.get(account.code_hash, b"")
        module.set_account(
            whole,
            Bytes20(address),
            types.Account(Uint(account.nonce), U256(account.balance), code),
        )
    for address, slots in state.storages.items():
        for slot, word in slots.items():
            if word != ZERO_WORD:
                module.set_storage(whole, Bytes20(address), Bytes32(slot), U256.from_be_bytes(word))
    return Bytes32(module.state_root(whole))


class StateTries:
    """The tries of a changing state; only the nodes that a block changed are hashed again."""

    def __init__(self) -> None:
        self._accounts = RememberingTrie()
        self._storages: dict[Address, RememberingTrie] = {}

    def apply(self, changes: StateChanges, state: MemoryState) -> None:
        """Update the tries to a state that already contains the changes."""
        gone = {address for address, change in changes.accounts.items() if change.after is None}
        for address in gone | changes.cleared:
            self._storages.pop(address, None)
        for (address, slot), change in changes.storage.items():
            storage = self._storages.setdefault(address, RememberingTrie())
            storage.put(slot, _slot_value(change.after))
        written = {address for address, _ in changes.storage}
        for address in changes.accounts.keys() | changes.cleared | written:
            self._accounts.put(address, self._account_value(address, state))

    def copy(self) -> "StateTries":
        """Return tries of the same state, including all cached nodes."""
        made = StateTries()
        made._accounts = self._accounts.copy()
        made._storages = {address: trie.copy() for address, trie in self._storages.items()}
        return made

    def root(self) -> Bytes32:
        """Return the root of the state."""
        return self._accounts.root()

    def _account_value(self, address: Address, state: MemoryState) -> bytes | None:
        account = state.account(address)
        if account is None:
            return None
        storage = self._storages.get(address) or RememberingTrie()
        fields = (Uint(account.nonce), Uint(account.balance), storage.root(), account.code_hash)
        return bytes(rlp.encode(fields))


class RememberingTrie:
    """A secured trie that caches the nodes of its upper levels until something below them changes.

    The specification's `patricialize` makes the nodes; branches of the upper levels are assembled
    here from its subtrees.
    """

    def __init__(self) -> None:
        self._values: dict[Nibbles, dict[Nibbles, bytes]] = {}
        self._nodes: dict[Nibbles, Any] = {}
        self._specification = load_fork("prague").trie

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value of a key; None deletes the key."""
        path = bytes(self._specification.bytes_to_nibble_list(keccak256(key)))
        values = self._values.setdefault(path[:_KEPT_LEVELS], {})
        if value is None:
            values.pop(path, None)
        else:
            values[path] = value
        for length in range(_KEPT_LEVELS + 1):
            self._nodes.pop(path[:length], None)

    def copy(self) -> "RememberingTrie":
        """Return a trie with the same values and nodes."""
        made = RememberingTrie()
        made._values = {prefix: dict(values) for prefix, values in self._values.items()}
        made._nodes = dict(self._nodes)
        return made

    def root(self) -> Bytes32:
        """Return the root of the current contents."""
        node = self._node(b"")
        encoded = rlp.encode(node)
        return Bytes32(keccak256(encoded) if len(encoded) < 32 else node)

    def _node(self, prefix: Nibbles) -> Any:
        """Return the node at a prefix in the form in which its parent refers to it."""
        if prefix not in self._nodes:
            self._nodes[prefix] = self._specification.encode_internal_node(self._made(prefix))
        return self._nodes[prefix]

    def _made(self, prefix: Nibbles) -> Any:
        if len(prefix) < _KEPT_LEVELS:
            children = _children(prefix)
            if sum(map(self._holds, children)) > 1:
                nodes = tuple(self._node(child) for child in children)
                return self._specification.BranchNode(nodes, b"")
        return self._specification.patricialize(self._below(prefix), Uint(len(prefix)))

    def _holds(self, prefix: Nibbles) -> bool:
        return any(values for path, values in self._values.items() if path.startswith(prefix))

    def _below(self, prefix: Nibbles) -> dict[Nibbles, bytes]:
        found = (values for path, values in self._values.items() if path.startswith(prefix))
        return {path: value for values in found for path, value in values.items()}


def _children(prefix: Nibbles) -> list[Nibbles]:
    return [prefix + bytes([nibble]) for nibble in range(16)]


def _slot_value(word: Word) -> bytes | None:
    return None if word == ZERO_WORD else bytes(rlp.encode(U256.from_be_bytes(word)))

"""The port of the state trie: the calls for roots and proofs, and the storage format of nodes.

Nodes are stored by path, not by hash: the key of a node is `b"a"` and its path in the account trie,
or `b"s"`, keccak(address) and its path in a storage trie, one nibble per byte; the value is the
node's RLP. A node of less than 32 bytes is only stored inside its parent, except that the root of a trie that is
not empty is always stored under the empty path. `Tries` chooses the trie with a warm cache or the one without. Pure.
In Python: `trie_python`; in Rust: `native/`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from cchain_app.evm.engine import AccountState, StateChanges
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import keccak256

LEAF_BYTES: Final = 112
"""Bytes of an average leaf of the state trie and its key."""

ACCOUNT_TRIE = b"a"
"""Prefix of the keys of all nodes of the account trie."""


class TrieError(Exception):
    """Stored nodes that do not form the expected trie: one is missing or is not the one that its parent references.

    Also raised if storage changes of an account that is not in the trie.
    """


class NodeReader(Protocol):
    """Reads stored nodes."""

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the node stored under each key, in order; None for a key without a node."""


class TrieUpdate(NamedTuple):
    """The changes that a block makes to the stored nodes."""

    root: Hash
    """The state root after the block."""
    nodes: Mapping[bytes, bytes | None]
    """By key: the node's new RLP, or None if the node was deleted. It only lists real changes."""


class StateProof(NamedTuple):
    """An account and some of its slots with their proofs (EIP-1186). Nodes are listed from the root down."""

    account: AccountState | None
    """None if the proof is one of absence."""
    storage_root: Hash
    account_proof: list[bytes]
    storage: list[tuple[Word, list[bytes]]]
    """For each requested slot: its value, and the nodes that prove it."""


class StateTrie(Protocol):
    """The state trie over stored nodes. It writes nothing: updates are returned as values."""

    def update(self, root: Hash, changes: StateChanges, reader: NodeReader) -> TrieUpdate:
        """Return root and nodes after changes to the state that has this root.

        Raises:
            TrieError: The stored nodes are not that state's.
        """

    def prove(
        self, root: Hash, address: Address, slots: Sequence[Slot], reader: NodeReader
    ) -> StateProof:
        """Return an account and some of its slots with their proofs.

        Raises:
            TrieError: The stored nodes are not that state's.
        """

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie that stores each item under the RLP of its index.

        Transactions, receipts and withdrawals of a block have such a root.
        """

    def commit(self, root: Hash) -> None:
        """Record that the update to this root was stored, so that an implementation may cache it."""


MAX_LEVELS = 8
"""Maximum number of stacked overlays: each adds one lookup to every read."""


class OverlayReader:
    """Stored nodes as they will be, or were, with the changes of an update."""

    def __init__(self, below: NodeReader, updated: Mapping[bytes, bytes | None]) -> None:
        self.below = below
        self.updated = updated

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return updated nodes where they exist, else those of the reader underneath."""
        missing = [key for key in keys if key not in self.updated]
        stored = dict(zip(missing, self.below.nodes(missing), strict=True)) if missing else {}
        return [self.updated[key] if key in self.updated else stored[key] for key in keys]

    @property
    def levels(self) -> int:
        """The number of stacked overlays, this one included."""
        return 1 + (self.below.levels if isinstance(self.below, OverlayReader) else 0)

    def flattened(self) -> "OverlayReader":
        """Return an equal overlay that lies directly on the reader below all levels."""
        if not isinstance(self.below, OverlayReader):
            return OverlayReader(self.below, self.updated)
        lower = self.below.flattened()
        return OverlayReader(lower.below, {**lower.updated, **self.updated})


def overlay(reader: NodeReader, update: TrieUpdate) -> OverlayReader:
    """Return a reader that applies an update to the nodes of another reader."""
    if isinstance(reader, OverlayReader) and reader.levels >= MAX_LEVELS:
        reader = reader.flattened()
        return OverlayReader(reader.below, {**reader.updated, **update.nodes})
    return OverlayReader(reader, update.nodes)


def storage_trie(address: Address) -> bytes:
    """Return the prefix of the keys of all nodes of an account's storage trie."""
    return b"s" + keccak256(address)


def nibbles(key: bytes) -> bytes:
    """Return the path of a key: its nibbles, one per byte."""
    return bytes.fromhex("".join(f"0{digit}" for digit in key.hex()))


class Tries:
    """The state trie with its cache, and one without a cache for blocks on other branches than the cached one.

    The cache is valid for one root, and an update from another root empties it. Rival blocks that alternate
    would empty it every time, so the cache follows one branch from block to block.
    """

    def __init__(self, cached: StateTrie, uncached: StateTrie) -> None:
        self.cached = cached
        self.uncached = uncached
        self._root: Hash | None = None
        self._next: Hash | None = None

    def update(
        self, root: Hash, changes: StateChanges, nodes: NodeReader, *, alone: bool
    ) -> TrieUpdate:
        """Return the changes that an executed block makes to the trie's nodes.

        Args:
            root: Root of the state before the block.
            changes: The block's changes to that state.
            nodes: Reads the nodes of that state.
            alone: Whether all processing blocks are on the parent's branch.

        Raises:
            TrieError: The nodes that are read are not those of the parent's state.
        """
        if root == self._next:
            self.cached.commit(root)
            self._root, self._next = root, None
        if root != self._root and not alone:
            return self.uncached.update(root, changes, nodes)
        update = self.cached.update(root, changes, nodes)
        self._root, self._next = root, update.root
        return update

    def accepted(self, root: Hash) -> None:
        """Note that the update to this root is stored."""
        if root == self._next:
            self.cached.commit(root)
            self._root, self._next = root, None

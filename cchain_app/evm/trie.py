"""The port of the state trie: what the chain asks for roots and proofs, and how nodes are stored.

Nodes are stored by path, not by hash: the key of a node is `b"a"` and its path in the account trie,
or `b"s"`, keccak(address) and its path in a storage trie, one nibble per byte; the value is the
node's RLP. A node of less than 32 bytes stands inside its parent only; the root of a trie that is
not empty always stands under the empty path. Pure. In Python: `trie_python`; in Rust: `native/`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from cchain_app.evm.engine import AccountState, StateChanges
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import keccak256

ACCOUNT_TRIE = b"a"
"""What the keys of all nodes of the account trie begin with."""


class TrieError(Exception):
    """Stored nodes that are not the trie they should be.

    TrieError
    ├── MissingNodeError
    ├── ForeignNodeError
    └── MissingAccountError
    """


class MissingNodeError(TrieError):
    """A node that its parent (or the root) names is not stored."""


class ForeignNodeError(TrieError):
    """A stored node has another hash than its parent (or the root) names."""


class MissingAccountError(TrieError):
    """Storage was changed of an account that is not in the trie."""


class NodeReader(Protocol):
    """Where stored nodes are read."""

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the node stored under each key, None where there is none, in order."""


class TrieUpdate(NamedTuple):
    """What a block does to the stored nodes."""

    root: Hash
    """The state root after it."""
    nodes: Mapping[bytes, bytes | None]
    """By key: the node's new RLP, or None when the node is gone. Only true changes."""


class StateProof(NamedTuple):
    """An account and slots of it, proven (EIP-1186). Nodes from the root down."""

    account: AccountState | None
    """None when the proof is one of absence."""
    storage_root: Hash
    account_proof: list[bytes]
    storage: list[tuple[Word, list[bytes]]]
    """For each slot asked for: its value, and the nodes that prove it."""


class StateTrie(Protocol):
    """The state trie over stored nodes. Changes nothing itself: the update comes back as a value."""

    def update(self, root: Hash, changes: StateChanges, reader: NodeReader) -> TrieUpdate:
        """Return root and nodes after changes to the state that has this root.

        Raises:
            TrieError: By one of its subclasses, when the stored nodes are not that state's.
        """

    def prove(
        self, root: Hash, address: Address, slots: Sequence[Slot], reader: NodeReader
    ) -> StateProof:
        """Return an account and slots of it with their proofs.

        Raises:
            TrieError: By one of its subclasses, when the stored nodes are not that state's.
        """

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie that has each item under the RLP of its index.

        Transactions, receipts and withdrawals of a block have such a root.
        """

    def commit(self, root: Hash) -> None:
        """Take note that the update to this root was stored; an implementation may cache by it."""


MOST_LEVELS = 8
"""So many overlays stand on each other at most: each costs every reading a look more."""


class OverlayReader:
    """Stored nodes as they will be, or were, with updates on top."""

    def __init__(self, below: NodeReader, updated: Mapping[bytes, bytes | None]) -> None:
        self.below = below
        self.updated = updated

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return updated nodes where there are, those underneath elsewhere."""
        missing = [key for key in keys if key not in self.updated]
        found = dict(zip(missing, self.below.nodes(missing), strict=True)) if missing else {}
        return [self.updated[key] if key in self.updated else found[key] for key in keys]

    @property
    def levels(self) -> int:
        """How many overlays stand on each other, this one included."""
        return 1 + (self.below.levels if isinstance(self.below, OverlayReader) else 0)

    def flattened(self) -> "OverlayReader":
        """Return a copy that stands on the nodes below all levels, and shows the same."""
        if not isinstance(self.below, OverlayReader):
            return OverlayReader(self.below, self.updated)
        lower = self.below.flattened()
        return OverlayReader(lower.below, {**lower.updated, **self.updated})


def overlay(reader: NodeReader, update: TrieUpdate) -> OverlayReader:
    """Return a reader that sees an update on top of another one's nodes."""
    if isinstance(reader, OverlayReader) and reader.levels >= MOST_LEVELS:
        reader = reader.flattened()
        return OverlayReader(reader.below, {**reader.updated, **update.nodes})
    return OverlayReader(reader, update.nodes)


def storage_trie(address: Address) -> bytes:
    """Return what the keys of all nodes of an account's storage trie begin with."""
    return b"s" + keccak256(address)


def nibbles(key: bytes) -> bytes:
    """Return the path of a key: its nibbles, one in each byte."""
    return bytes.fromhex("".join(f"0{digit}" for digit in key.hex()))

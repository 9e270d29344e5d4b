"""Stored trie nodes in memory, and the nodes of a trie that the specification builds from scratch."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from ethereum_rlp import rlp
from ethereum_types.numeric import Uint

from cchain_app.evm.engine import AccountState
from cchain_app.evm.reference_package import load_fork
from cchain_app.evm.trie import TrieUpdate, nibbles, storage_trie
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_ROOT, keccak256

specification = load_fork("prague").trie
"""Loaded without a change of Python's recursion limit."""

Storage = Mapping[Address, Mapping[Slot, Word]]


class MemoryNodes:
    """A `NodeReader` over a dict that counts its reads."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.questions = 0

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.questions += 1
        return [self.stored.get(key) for key in keys]

    def apply(self, update: TrieUpdate) -> None:
        for key, data in update.nodes.items():
            if data is None:
                del self.stored[key]
            else:
                self.stored[key] = data


def nodes_from_scratch(prefix: bytes, entries: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the stored nodes of a trie with these entries (paths to values), by key."""
    found: dict[bytes, bytes] = {}
    _collect(prefix, dict(sorted(entries.items())), 0, found)
    return found


def root_from_scratch(entries: Mapping[bytes, bytes]) -> Hash:
    """Return the root of a trie with these entries (paths to values)."""
    stored = nodes_from_scratch(b"", entries)
    return keccak256(stored[b""]) if stored else EMPTY_ROOT


def state_from_scratch(
    accounts: Mapping[Address, AccountState], storage: Storage
) -> tuple[Hash, dict[bytes, bytes]]:
    """Return the root and the stored nodes of a whole state."""
    leaves, nodes = {}, {}
    for address, account in accounts.items():
        slots = {
            nibbles(keccak256(slot)): rlp.encode(word.lstrip(b"\0"))
            for slot, word in storage.get(address, {}).items()
            if word != ZERO_WORD
        }
        nodes |= nodes_from_scratch(storage_trie(address), slots)
        leaves[nibbles(keccak256(address))] = rlp.encode(
            (
                Uint(account.nonce),
                Uint(account.balance),
                root_from_scratch(slots),
                bytes(account.code_hash),
            )
        )
    return root_from_scratch(leaves), nodes | nodes_from_scratch(b"a", leaves)


def _collect(
    prefix: bytes, entries: dict[bytes, bytes], depth: int, found: dict[bytes, bytes]
) -> None:
    node = specification.patricialize(entries, Uint(depth))
    if node is None:
        return
    path = next(iter(entries))[:depth]
    match node:
        case specification.LeafNode():
            parts = [specification.nibble_list_to_compact(node.rest_of_key, True), node.value]
        case specification.ExtensionNode():
            parts = [
                specification.nibble_list_to_compact(node.key_segment, False),
                node.subnode,
            ]
            _collect(prefix, entries, depth + len(node.key_segment), found)
        case specification.BranchNode():
            parts = [*node.subnodes, node.value]
            for _, group in groupby(entries.items(), key=lambda entry: entry[0][depth]):
                _collect(prefix, dict(group), depth + 1, found)
    data = rlp.encode(parts)
    if len(data) >= 32 or depth == 0:
        found[prefix + path] = data

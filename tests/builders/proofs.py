"""A verifier of Merkle-Patricia proofs by the yellow paper (appendix D), without the node's code."""

import rlp
from eth_hash.auto import keccak


class BadProof(Exception):
    """The nodes do not lead from the root to the key."""


def prove(root: bytes, key: bytes, nodes: list[bytes]) -> bytes | None:
    """Return the value that the nodes prove for a key; None if they prove its absence."""
    path = [nibble for byte in keccak(key) for nibble in (byte >> 4, byte & 15)]
    reference = root
    remaining = list(nodes)
    node: list = []
    if not remaining:
        if root != keccak(rlp.encode(b"")):
            raise BadProof("no nodes, but the trie is not empty")
        return None
    while True:
        if isinstance(reference, list):
            node = reference
        else:
            if not remaining or keccak(remaining[0]) != reference:
                raise BadProof("a node is missing or another")
            node = rlp.decode(remaining.pop(0))
        if len(node) == 17:
            reference = node[path[0]] if path else node[16]
            if not path or not reference:
                return _end(reference, remaining)
            path = path[1:]
            continue
        prefix, is_leaf = _decompact(node[0])
        if path[: len(prefix)] != prefix or (is_leaf and len(path) != len(prefix)):
            return _end(b"", remaining)
        if is_leaf:
            return _end(node[1], remaining)
        path, reference = path[len(prefix) :], node[1]


def _end(value: bytes, remaining: list[bytes]) -> bytes | None:
    if remaining:
        raise BadProof("more nodes than lead to the key")
    return value or None


def _decompact(encoded: bytes) -> tuple[list[int], bool]:
    nibbles = [nibble for byte in encoded for nibble in (byte >> 4, byte & 15)]
    return nibbles[1 if nibbles[0] & 1 else 2 :], bool(nibbles[0] & 2)

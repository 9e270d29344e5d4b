"""The state summary of block 0, with which a fresh node of coreth finds out that nothing can be synchronized (coreth.md 12.3)."""

from typing import Final

from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT

_CODEC_VERSION: Final = b"\0\0"


def first_summary(genesis: Hash, state_root: Hash) -> bytes:
    """Return the summary: 106 bytes, with the empty root of the atomic trie. Its ID is its Keccak-256."""
    return _CODEC_VERSION + bytes(8) + genesis + state_root + EMPTY_ROOT

"""The hash functions of both chains, by their usual names."""

from sha3 import keccak_256

from primitives.evm import Hash

EMPTY_HASH = Hash(bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"))
"""keccak256 of nothing: the code hash of an account without code."""


def keccak256(data: bytes) -> Hash:
    """Return the Keccak-256 hash of data, as the EVM uses it (not SHA3-256).

    The extension is called directly: eth_hash, which chooses among backends, costs six times more.
    """
    return Hash(keccak_256(data).digest())

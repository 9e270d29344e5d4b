"""The hash functions of the chains, by their usual names."""

import hashlib

from sha3 import keccak_256

from primitives.evm import Hash

EMPTY_HASH = Hash(bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"))
"""keccak256 of the empty string: the code hash of an account without code."""

EMPTY_ROOT = Hash(bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"))
"""keccak256 of the empty string's RLP: the root of a trie without entries."""

CHECKSUM_SIZE = 4
"""Checksum bytes at the end of the text form of identifiers, against typing errors."""


def keccak256(data: bytes) -> Hash:
    """Return the Keccak-256 hash of data, as the EVM uses it (not SHA3-256).

    The extension is called directly, because eth_hash, which chooses among backends, takes six times
    as long.
    """
    return Hash(keccak_256(data).digest())


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 hash of data, 32 bytes."""
    return hashlib.sha256(data).digest()


def checksum(data: bytes) -> bytes:
    """Return the last four bytes of the SHA-256 hash of data (pchain.md 1.2, 1.3)."""
    return sha256(data)[-CHECKSUM_SIZE:]


def ripemd160(data: bytes) -> bytes:
    """Return the RIPEMD-160 hash of data, 20 bytes.

    OpenSSL's version is four times as fast as pycryptodome's, but some builds lack it.
    """
    try:
        return hashlib.new("ripemd160", data, usedforsecurity=False).digest()
    except ValueError:
        from Crypto.Hash import RIPEMD160

        return RIPEMD160.new(data).digest()


def hash160(data: bytes) -> bytes:
    """Return RIPEMD-160 of SHA-256, 20 bytes. Used for public keys and certificates."""
    return ripemd160(sha256(data))

"""Private keys of the P-Chain as text, and whose they are (pchain.md 1.5, 1.6).

PrivateKeyError
├── MissingKeyPrefix    no `PrivateKey-` in front
└── WrongKeyLength      not 32 bytes
"""

from primitives import cb58, secp256k1
from primitives.hashing import hash160
from primitives.ids import ShortID

PREFIX = "PrivateKey-"
SIZE = 32


class PrivateKeyError(Exception):
    """A text that is no private key. No message holds any of it."""


class MissingKeyPrefix(PrivateKeyError):
    """Something else, or cb58 alone."""

    def __init__(self) -> None:
        super().__init__(f"private key missing {PREFIX} prefix")


class WrongKeyLength(PrivateKeyError):
    """A key has 32 bytes."""

    def __init__(self) -> None:
        super().__init__(f"private key has unexpected length, expected {SIZE}")


def parse_private_key(text: str) -> bytes:
    """Read a private key, 32 bytes.

    Raises:
        MissingKeyPrefix: The prefix is not there.
        Cb58Error: What follows is no cb58.
        WrongKeyLength: It is not 32 bytes.
        InvalidPrivateKey: They are no key: zero, or not below the group's order.
    """
    if not text.startswith(PREFIX):
        raise MissingKeyPrefix
    key = _decode(text.removeprefix(PREFIX))
    secp256k1.verify_private_key(key)
    return key


def format_private_key(key: bytes) -> str:
    """Return the text of a private key of 32 bytes."""
    return PREFIX + cb58.encode(key)


def address_of(key: bytes) -> ShortID:
    """Return the address of a private key of 32 bytes.

    Raises:
        InvalidPrivateKey: It is none.
    """
    return ShortID(hash160(secp256k1.compressed_public_key(key)))


def _decode(text: str) -> bytes:
    try:
        return cb58.decode(text, SIZE)
    except cb58.WrongSize:
        raise WrongKeyLength from None

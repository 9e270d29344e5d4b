"""BLS signatures on BLS12-381: public keys of 48 bytes, signatures of 96 (pchain.md 1.7).

There are two implementations: `bls_native`, and `bls_py_ecc` if the native crate is not built. The
latter is hundreds of times slower. Both give the same results for all inputs.

    BlsError
    ├── InvalidSecretKey    not 32 bytes, zero, or not below the group's order
    ├── InvalidPublicKey    in an aggregation: wrong length, encoding or subgroup, or the identity
    ├── InvalidSignature    likewise, but the identity is valid
    └── NothingToAggregate  an empty aggregation
"""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
"""Order of the groups (number of points)."""

SECRET_KEY_SIZE = 32
PUBLIC_KEY_SIZE = 48
SIGNATURE_SIZE = 96


class Suite(Enum):
    """Kinds of signed data. Its tag keeps a signature of one kind from being valid as another kind."""

    MESSAGE = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
    POSSESSION = b"BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
    """Proofs of possession, and signatures of a node over its own IP address."""


class BlsError(Exception):
    """An unusable key or signature."""


class InvalidSecretKey(BlsError):
    """Bytes that are not a secret key."""

    def __init__(self) -> None:
        super().__init__("invalid BLS secret key")


class InvalidPublicKey(BlsError):
    """Bytes that are not a public key."""

    def __init__(self) -> None:
        super().__init__("invalid BLS public key")


class MalformedSignature(BlsError):
    """Bytes that are not a signature."""

    def __init__(self) -> None:
        super().__init__("invalid BLS signature")


class NothingToAggregate(BlsError):
    """There are no keys or signatures to aggregate."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no {what}")


class Library(Protocol):
    """Interface of an implementation. Callers pass valid secret keys and values of the right length."""

    def public_key(self, secret: bytes, /) -> bytes:
        """Return the public key of a secret key."""

    def sign(self, secret: bytes, message: bytes, tag: bytes, /) -> bytes:
        """Return the signature; the tag is that of a `Suite`."""

    def is_signature(self, signature: bytes, /) -> bool:
        """Return whether bytes encode a signature: any point in the subgroup, including the identity."""

    def verify(self, public_key: bytes, message: bytes, signature: bytes, tag: bytes, /) -> bool:
        """Return whether the signature is valid for key and message; False for an invalid key."""

    def aggregate_public_keys(self, keys: Sequence[bytes], /) -> bytes | None:
        """Return the sum of one or more keys, or None if a key is invalid."""

    def aggregate_signatures(self, signatures: Sequence[bytes], /) -> bytes | None:
        """Return the sum of one or more signatures, or None if a signature is invalid."""


def load_library() -> Library:
    """Return the native library if it is built, else the slow one."""
    try:
        import primitives.bls_native as library
    except ImportError:
        import primitives.bls_py_ecc as fallback

        return fallback
    return library


_library = load_library()


def public_key(secret: bytes) -> bytes:
    """Return the public key of a 32-byte secret key.

    Raises:
        InvalidSecretKey: The bytes are not a secret key.
    """
    _verify_secret(secret)
    return _library.public_key(secret)


def prove_possession(secret: bytes) -> bytes:
    """Return the proof of possession of a secret key, for its public key.

    Raises:
        InvalidSecretKey: The bytes are not a secret key.
    """
    return sign(secret, public_key(secret), Suite.POSSESSION)


def verify_possession(public_key: bytes, proof: bytes) -> bool:
    """Return whether a proof of possession is valid for the public key. Never raises, like `verify`."""
    return verify(public_key, public_key, proof, Suite.POSSESSION)


def sign(secret: bytes, message: bytes, suite: Suite = Suite.MESSAGE) -> bytes:
    """Return the signature of a message with a 32-byte secret key.

    Raises:
        InvalidSecretKey: The bytes are not a secret key.
    """
    _verify_secret(secret)
    return _library.sign(secret, message, suite.value)


def is_signature(signature: bytes) -> bool:
    """Return whether bytes encode a signature, for any message and key.

    Checks length, encoding and subgroup. The identity is valid, although no key produces it.
    """
    return len(signature) == SIGNATURE_SIZE and _library.is_signature(signature)


def verify(
    public_key: bytes, message: bytes, signature: bytes, suite: Suite = Suite.MESSAGE
) -> bool:
    """Return whether a signature is valid for the message and the public key.

    False if the public key or the signature is invalid (length, encoding, subgroup, identity).
    """
    if len(public_key) != PUBLIC_KEY_SIZE or len(signature) != SIGNATURE_SIZE:
        return False
    return _library.verify(public_key, message, signature, suite.value)


def aggregate_public_keys(keys: Sequence[bytes]) -> bytes:
    """Return the key that verifies the sum of these keys' signatures of one message.

    The caller must have verified a proof of possession for each key. Only that proof excludes keys that
    were chosen to cancel others out; this function does not.

    Raises:
        NothingToAggregate: There are no keys.
        InvalidPublicKey: A key is invalid.
    """
    if not keys:
        raise NothingToAggregate("public keys")
    if any(len(key) != PUBLIC_KEY_SIZE for key in keys):
        raise InvalidPublicKey
    total = _library.aggregate_public_keys(keys)
    if total is None:
        raise InvalidPublicKey
    return total


def aggregate_signatures(signatures: Sequence[bytes]) -> bytes:
    """Return the sum of signatures.

    Raises:
        NothingToAggregate: There are no signatures.
        MalformedSignature: A signature is invalid.
    """
    if not signatures:
        raise NothingToAggregate("signatures")
    if any(len(signature) != SIGNATURE_SIZE for signature in signatures):
        raise MalformedSignature
    total = _library.aggregate_signatures(signatures)
    if total is None:
        raise MalformedSignature
    return total


def _verify_secret(secret: bytes) -> None:
    if len(secret) != SECRET_KEY_SIZE or not 0 < int.from_bytes(secret, "big") < ORDER:
        raise InvalidSecretKey

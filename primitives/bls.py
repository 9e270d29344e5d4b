"""BLS signatures on BLS12-381: public keys of 48 bytes, signatures of 96 (pchain.md 1.7).

There are two implementations: `bls_native`, and `bls_py_ecc` if the native crate is not built. The
latter is hundreds of times slower. Both give the same results for all inputs.
"""

from collections.abc import Sequence
from enum import Enum, StrEnum
from typing import Protocol

from primitives.reasons import ErrorWithReason

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


class BlsReason(StrEnum):
    """Why a key or signature is unusable."""

    INVALID_SECRET_KEY = "invalid BLS secret key"  # noqa: S105 (a message)
    # In an aggregation: wrong length, encoding or subgroup, or the identity.
    INVALID_PUBLIC_KEY = "invalid BLS public key"
    # Likewise, but the identity is valid.
    MALFORMED_SIGNATURE = "invalid BLS signature"
    NOTHING_TO_AGGREGATE = "no {what}"


class BlsError(ErrorWithReason):
    """An unusable key or signature."""


class InvalidSecretKey(BlsError):
    """Bytes that are not a secret key."""


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
        BlsError: There are no keys, or a key is invalid.
    """
    if not keys:
        raise BlsError(BlsReason.NOTHING_TO_AGGREGATE, what="public keys")
    if any(len(key) != PUBLIC_KEY_SIZE for key in keys):
        raise BlsError(BlsReason.INVALID_PUBLIC_KEY)
    total = _library.aggregate_public_keys(keys)
    if total is None:
        raise BlsError(BlsReason.INVALID_PUBLIC_KEY)
    return total


def aggregate_signatures(signatures: Sequence[bytes]) -> bytes:
    """Return the sum of signatures.

    Raises:
        BlsError: There are no signatures, or a signature is invalid.
    """
    if not signatures:
        raise BlsError(BlsReason.NOTHING_TO_AGGREGATE, what="signatures")
    if any(len(signature) != SIGNATURE_SIZE for signature in signatures):
        raise BlsError(BlsReason.MALFORMED_SIGNATURE)
    total = _library.aggregate_signatures(signatures)
    if total is None:
        raise BlsError(BlsReason.MALFORMED_SIGNATURE)
    return total


def _verify_secret(secret: bytes) -> None:
    if len(secret) != SECRET_KEY_SIZE or not 0 < int.from_bytes(secret, "big") < ORDER:
        raise InvalidSecretKey(BlsReason.INVALID_SECRET_KEY)

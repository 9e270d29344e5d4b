"""Recoverable secp256k1 signatures with libsecp256k1: the C-Chain's, then the P-Chain's."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from coincurve import PrivateKey, PublicKey

from primitives.evm import Address, Hash
from primitives.hashing import hash160, keccak256
from primitives.ids import ShortID
from primitives.reasons import ErrorWithReason

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Order of the group (number of points)."""

HALF_ORDER = ORDER // 2
"""Maximum s: since Homestead (EIP-2) only one of the two equivalent signatures is valid."""

_HALF_ORDER_BYTES = HALF_ORDER.to_bytes(32, "big")

SIGNATURE_SIZE = 65
"""Bytes of a signature on the P-Chain."""


class SignatureReason(StrEnum):
    """Why a signature or key is unusable."""

    SIGNATURE_OUT_OF_RANGE = "invalid signature values"
    # Values in range that match no public key.
    RECOVERY_FAILED = "recovery failed"
    INVALID_PRIVATE_KEY = "invalid private key"
    WRONG_SIGNATURE_LENGTH = "invalid signature length"
    # The second of two equivalent signatures, with the high s; only the first is valid.
    MUTATED_SIGNATURE = "signature was mutated from its original format"
    INVALID_SIGNATURE = "invalid signature"


class SignatureError(ErrorWithReason):
    """An unusable signature or key."""


class InvalidPrivateKey(SignatureError):
    """Bytes that are not a private key."""


class Signature(NamedTuple):
    """A signature from which the public key can be recovered."""

    r: int
    s: int
    y_parity: int
    """0 or 1."""


class SignedDigest(NamedTuple):
    """A signature and the signed digest."""

    digest: Hash
    r: int
    s: int
    y_parity: int
    """0 or 1."""


def is_valid(r: int, s: int, y_parity: int) -> bool:
    """Return whether the values are in range, with s in the lower half."""
    return 0 < r < ORDER and 0 < s <= HALF_ORDER and 0 <= y_parity <= 1


def recover_public_key(digest: Hash, r: int, s: int, y_parity: int) -> bytes:
    """Return the 64-byte public key (x, y) that signed the digest.

    Raises:
        SignatureError: A value is out of range, or no public key matches.
    """
    if not is_valid(r, s, y_parity):
        raise SignatureError(SignatureReason.SIGNATURE_OUT_OF_RANGE)
    signature = b"%b%b%c" % (r.to_bytes(32, "big"), s.to_bytes(32, "big"), y_parity)
    try:
        key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except Exception:  # the library raises various exceptions
        raise SignatureError(SignatureReason.RECOVERY_FAILED) from None
    uncompressed: bytes = key.format(compressed=False)
    return uncompressed[1:]


def recover(digest: Hash, r: int, s: int, y_parity: int) -> Address:
    """Return the address whose key signed the digest. Raises as `recover_public_key`."""
    return address_of(recover_public_key(digest, r, s, y_parity))


def recover_many(signatures: Iterable[SignedDigest]) -> list[Address | None]:
    """Return the address that made each signature, or None for an invalid signature."""
    return [_recover_or_none(signature) for signature in signatures]


def _recover_or_none(signature: SignedDigest) -> Address | None:
    try:
        return recover(*signature)
    except SignatureError:
        return None


def address_of(public_key: bytes) -> Address:
    """Return the address of a 64-byte public key (x, y)."""
    return Address(keccak256(public_key)[12:])


def address_of_private_key(private_key: bytes) -> Address:
    """Return the address of a 32-byte private key.

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """
    return address_of(_private_key(private_key).public_key.format(compressed=False)[1:])


def sign(digest: Hash, private_key: bytes) -> Signature:
    """Sign a digest with a 32-byte private key: deterministic (RFC 6979), s in the lower half.

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """
    return SigningKey(private_key).sign(digest)


class SigningKey:
    """A private key that signs many digests: creating it takes longer than a signature.

    Args:
        private_key: 32 bytes.

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """

    __slots__ = ("_key",)

    def __init__(self, private_key: bytes) -> None:
        self._key = _private_key(private_key)

    def sign(self, digest: Hash) -> Signature:
        """Sign a digest as `secp256k1.sign` does."""
        signature = self._key.sign_recoverable(digest, hasher=None)
        return Signature(
            r=int.from_bytes(signature[:32], "big"),
            s=int.from_bytes(signature[32:64], "big"),
            y_parity=signature[64],
        )


def sign_sha256(digest: bytes, private_key: bytes) -> bytes:
    """Sign a SHA-256 digest as the P-Chain does: 65 bytes, r, s and the recovery number (0 to 3).

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """
    signature: bytes = _private_key(private_key).sign_recoverable(digest, hasher=None)
    return signature


def recover_address(digest: bytes, signature: bytes) -> ShortID:
    """Return the P-Chain address whose key made a 65-byte signature of the digest.

    Raises:
        SignatureError: The signature does not have 65 bytes; s is above half the order; or no
            public key matches.
    """
    return ShortID(hash160(_signer(digest, signature).format()))


def recover_evm_address(digest: bytes, signature: bytes) -> Address:
    """Return the C-Chain address whose key made a 65-byte signature of the digest, in the P-Chain's format.

    Raises as `recover_address`.
    """
    uncompressed: bytes = _signer(digest, signature).format(compressed=False)
    return address_of(uncompressed[1:])


def _signer(digest: bytes, signature: bytes) -> PublicKey:
    if len(signature) != SIGNATURE_SIZE:
        raise SignatureError(SignatureReason.WRONG_SIGNATURE_LENGTH)
    if signature[32:64] > _HALF_ORDER_BYTES:
        raise SignatureError(SignatureReason.MUTATED_SIGNATURE)
    try:
        key: PublicKey = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except Exception:  # the library raises various exceptions
        raise SignatureError(SignatureReason.INVALID_SIGNATURE) from None
    return key


def compressed_public_key(private_key: bytes) -> bytes:
    """Return the 33-byte public key of a 32-byte private key.

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """
    key: bytes = _private_key(private_key).public_key.format()
    return key


def verify_private_key(private_key: bytes) -> None:
    """Check that bytes are a private key.

    Raises:
        InvalidPrivateKey: The bytes are not a private key.
    """
    if len(private_key) != 32 or not 0 < int.from_bytes(private_key, "big") < ORDER:
        raise InvalidPrivateKey(SignatureReason.INVALID_PRIVATE_KEY)


def _private_key(private_key: bytes) -> PrivateKey:
    verify_private_key(private_key)
    return PrivateKey(private_key)

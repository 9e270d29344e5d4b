"""BLS signatures on BLS12-381: public keys of 48 bytes, signatures of 96 (pchain.md 1.7).

Two libraries can do the work: `bls_native` and, where the native crate is not built, `bls_py_ecc`,
which is hundreds of times slower. Both answer alike to everything.

    BlsError
    ├── InvalidSecretKey    not 32 bytes, zero, or not below the group's order
    ├── InvalidPublicKey    among those to be added: length, encoding, subgroup, identity
    ├── InvalidSignature    likewise; the identity is one
    └── NothingToAggregate  a sum of nothing
"""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
"""How many points the groups have."""

SECRET_KEY_SIZE = 32
PUBLIC_KEY_SIZE = 48
SIGNATURE_SIZE = 96


class Suite(Enum):
    """What is signed; the tag keeps signatures of one kind from counting as the other."""

    MESSAGE = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
    POSSESSION = b"BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
    """Proofs of possession, and what a node says of its own address."""


class BlsError(Exception):
    """A key that cannot be used."""


class InvalidSecretKey(BlsError):
    """Bytes that are no secret key."""

    def __init__(self) -> None:
        super().__init__("invalid BLS secret key")


class InvalidPublicKey(BlsError):
    """Bytes that are no public key."""

    def __init__(self) -> None:
        super().__init__("invalid BLS public key")


class InvalidSignature(BlsError):
    """Bytes that are no signature."""

    def __init__(self) -> None:
        super().__init__("invalid BLS signature")


class NothingToAggregate(BlsError):
    """Neither keys nor signatures."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no {what}")


class Library(Protocol):
    """What a library has to offer. Secret keys are valid ones, lengths are right."""

    def public_key(self, secret: bytes, /) -> bytes:
        """Return the public key of a secret key."""

    def sign(self, secret: bytes, message: bytes, tag: bytes, /) -> bytes:
        """Return the signature; the tag is that of a `Suite`."""

    def is_signature(self, signature: bytes, /) -> bool:
        """Say whether bytes are a signature's: of a point in the subgroup, the identity too."""

    def verify(self, public_key: bytes, message: bytes, signature: bytes, tag: bytes, /) -> bool:
        """Say whether the signature is this message's by this key; False for what is no key."""

    def aggregate_public_keys(self, keys: Sequence[bytes], /) -> bytes | None:
        """Return the sum of keys, of one at least; None where one is no key."""

    def aggregate_signatures(self, signatures: Sequence[bytes], /) -> bytes | None:
        """Return the sum of signatures, of one at least; None where one is no signature."""


def load_library() -> Library:
    """Return the native library where it is built, else the slow one."""
    try:
        import primitives.bls_native as library
    except ImportError:
        import primitives.bls_py_ecc as fallback

        return fallback
    return library


_library = load_library()


def public_key(secret: bytes) -> bytes:
    """Return the public key of a secret key of 32 bytes.

    Raises:
        InvalidSecretKey: It is none.
    """
    _verify_secret(secret)
    return _library.public_key(secret)


def prove_possession(secret: bytes) -> bytes:
    """Return the proof that somebody has the secret key of its public key.

    Raises:
        InvalidSecretKey: It is none.
    """
    return sign(secret, public_key(secret), Suite.POSSESSION)


def verify_possession(public_key: bytes, proof: bytes) -> bool:
    """Say whether a proof of possession is this public key's. Raises as little as `verify`."""
    return verify(public_key, public_key, proof, Suite.POSSESSION)


def sign(secret: bytes, message: bytes, suite: Suite = Suite.MESSAGE) -> bytes:
    """Return the signature of a message with a secret key of 32 bytes.

    Raises:
        InvalidSecretKey: It is none.
    """
    _verify_secret(secret)
    return _library.sign(secret, message, suite.value)


def is_signature(signature: bytes) -> bool:
    """Say whether bytes are a signature's encoding, of whatever message and key.

    Length, encoding and subgroup are looked at. The identity is one, though nobody's.
    """
    return len(signature) == SIGNATURE_SIZE and _library.is_signature(signature)


def verify(
    public_key: bytes, message: bytes, signature: bytes, suite: Suite = Suite.MESSAGE
) -> bool:
    """Say whether a signature is this message's by this key.

    What is no public key or no signature (length, encoding, subgroup, identity) is a False.
    """
    if len(public_key) != PUBLIC_KEY_SIZE or len(signature) != SIGNATURE_SIZE:
        return False
    return _library.verify(public_key, message, signature, suite.value)


def aggregate_public_keys(keys: Sequence[bytes]) -> bytes:
    """Return the key that verifies the sum of these keys' signatures of one message.

    Who adds keys has seen a proof of possession of each: a key that was chosen to cancel others out
    is refused by that proof and by nothing here.

    Raises:
        NothingToAggregate: There is none.
        InvalidPublicKey: One is none.
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
        NothingToAggregate: There is none.
        InvalidSignature: One is none.
    """
    if not signatures:
        raise NothingToAggregate("signatures")
    if any(len(signature) != SIGNATURE_SIZE for signature in signatures):
        raise InvalidSignature
    total = _library.aggregate_signatures(signatures)
    if total is None:
        raise InvalidSignature
    return total


def _verify_secret(secret: bytes) -> None:
    if len(secret) != SECRET_KEY_SIZE or not 0 < int.from_bytes(secret, "big") < ORDER:
        raise InvalidSecretKey

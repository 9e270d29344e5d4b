"""BLS with the native crate, which holds blst. Called through `bls` only."""

from collections.abc import Sequence

from cchain_native import (
    bls_aggregate_public_keys,
    bls_aggregate_signatures,
    bls_is_signature,
    bls_public_key,
    bls_sign,
    bls_verify,
)

from primitives.bls_suite import Suite


def public_key(secret: bytes) -> bytes:
    """Return the public key of a secret key."""
    return bls_public_key(secret)


def sign(secret: bytes, message: bytes, suite: Suite) -> bytes:
    """Return the signature."""
    return bls_sign(secret, message, suite.value)


def is_signature(signature: bytes) -> bool:
    """Say whether bytes are a signature's: of a point in the subgroup, the identity too."""
    return bls_is_signature(signature)


def verify(public_key: bytes, message: bytes, signature: bytes, suite: Suite) -> bool:
    """Say whether the signature is this message's by this key; False for what is no key."""
    return bls_verify(public_key, message, signature, suite.value)


def aggregate_public_keys(keys: Sequence[bytes]) -> bytes | None:
    """Return the sum of keys; None where one is no key."""
    return bls_aggregate_public_keys(keys)


def aggregate_signatures(signatures: Sequence[bytes]) -> bytes | None:
    """Return the sum of signatures; None where one is no signature."""
    return bls_aggregate_signatures(signatures)

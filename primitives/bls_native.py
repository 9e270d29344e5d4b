"""BLS with the native crate, which uses blst. Called through `bls` only."""

from cchain_native import bls_aggregate_public_keys as aggregate_public_keys
from cchain_native import bls_aggregate_signatures as aggregate_signatures
from cchain_native import bls_is_signature as is_signature
from cchain_native import bls_public_key as public_key
from cchain_native import bls_sign as sign
from cchain_native import bls_verify as verify

__all__ = [
    "aggregate_public_keys",
    "aggregate_signatures",
    "is_signature",
    "public_key",
    "sign",
    "verify",
]

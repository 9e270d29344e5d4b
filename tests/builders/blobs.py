"""Blob transactions with valid sidecars that no KZG library has to compute.

A blob of zeros is the zero polynomial. Its commitment and all its proofs are the point at infinity.
"""

from typing import Any, Final, NamedTuple

from cchain_app.txs.blobs import (
    BYTES_PER_BLOB,
    CELLS_PER_EXT_BLOB,
    SentTransaction,
    Sidecar,
    join,
    versioned_hash,
)
from cchain_app.txs.transaction import BLOB, Transaction
from tests.builders.transactions import signed

INFINITY: Final = b"\xc0" + bytes(47)
ZERO_BLOB: Final = bytes(BYTES_PER_BLOB)
OTHER_BLOB: Final = b"\0\1" + bytes(BYTES_PER_BLOB - 2)
"""A blob whose commitment is not the point at infinity."""
NO_BLOB: Final = b"\xff" * BYTES_PER_BLOB
"""As many bytes as a blob has, with field elements above the modulus."""
ZERO_HASH: Final = versioned_hash(INFINITY)
GWEI: Final = 10**9


class SentBlobs(NamedTuple):
    """A blob transaction, and its bytes as they are sent."""

    transaction: Transaction
    raw: bytes


def zero_sidecar(count: int = 1, version: int = 1) -> Sidecar:
    """Return the sidecar of some blobs of zeros."""
    proofs = count * (CELLS_PER_EXT_BLOB if version else 1)
    return Sidecar(version, (ZERO_BLOB,) * count, (INFINITY,) * count, (INFINITY,) * proofs)


def blob_transaction(count: int = 1, **changes: Any) -> Transaction:
    """Return a signed transaction with some blobs of zeros, without its sidecar."""
    fields = {"type": BLOB, "max_fee_per_blob_gas": GWEI, "blob_hashes": (ZERO_HASH,) * count}
    return signed(**{**fields, **changes})


def sent_blobs(count: int = 1, *, version: int = 1, **changes: Any) -> SentBlobs:
    """Return a signed transaction with some blobs of zeros, and its bytes with the sidecar."""
    made = blob_transaction(count, **changes)
    return SentBlobs(made, join(SentTransaction(made.raw, zero_sidecar(count, version))))

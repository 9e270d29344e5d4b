"""Blobs and the sidecar of a blob transaction: the form in which it is sent, its versioned hashes.

A blob transaction is sent together with its blobs, commitments and proofs, as [transaction, blobs, commitments, proofs]
(EIP-4844), or since Osaka as [transaction, 1, blobs, commitments, cell proofs] (EIP-7594). Only the transaction itself
is in a block. `pool.blobs` checks that a sidecar belongs to a transaction; `evm.kzg` computes and verifies proofs.
"""

from hashlib import sha256
from typing import Final, NamedTuple

from cchain_app.txs.transaction import BLOB, InvalidTransaction, TransactionReason
from primitives import rlp
from primitives.evm import Hash

BYTES_PER_BLOB: Final = 4096 * 32
BYTES_PER_COMMITMENT: Final = 48
BYTES_PER_PROOF: Final = 48
CELLS_PER_EXT_BLOB: Final = 128
"""Cells, and therefore proofs, of a blob in a sidecar of version 1 (EIP-7594)."""
MAX_BLOBS_PER_TX: Final = 6
"""Blobs of one transaction since Osaka (EIP-7594)."""
VERSIONED_HASH_VERSION_KZG: Final = b"\x01"

MOST_BLOBS: Final = 21
"""Blobs of the largest sidecar that is decoded: as many as a block may have in any fork."""

_MOST_SIDECAR_BYTES: Final = MOST_BLOBS * (
    BYTES_PER_BLOB + BYTES_PER_COMMITMENT + CELLS_PER_EXT_BLOB * (BYTES_PER_PROOF + 1) + 16
)


class Sidecar(NamedTuple):
    """The blobs of a transaction, with a commitment for each, and proofs."""

    version: int
    """0: one proof for each blob; 1: the proofs of its 128 cells."""
    blobs: tuple[bytes, ...]
    commitments: tuple[bytes, ...]
    proofs: tuple[bytes, ...]

    @property
    def proofs_per_blob(self) -> int:
        """Number of proofs that each blob needs."""
        return CELLS_PER_EXT_BLOB if self.version else 1


class SentTransaction(NamedTuple):
    """A transaction as it was sent: its envelope, and its sidecar if it has one."""

    raw: bytes
    sidecar: Sidecar | None


def versioned_hash(commitment: bytes) -> Hash:
    """Return the hash by which a transaction names a blob with this commitment (EIP-4844)."""
    return Hash(VERSIONED_HASH_VERSION_KZG + sha256(commitment).digest()[1:])


def is_blob_transaction(raw: bytes) -> bool:
    """Return whether an envelope, with or without a sidecar, is of type 3."""
    return raw[:1] == bytes([BLOB])


def separate(raw: bytes, limit: int) -> SentTransaction:
    """Separate the envelope of type 3 from its sidecar.

    Args:
        raw: The transaction with or without sidecar.
        limit: The maximum size of the envelope in bytes; nothing larger is decoded.

    Raises:
        InvalidTransaction: The bytes are neither form, or are larger than any such transaction.
    """
    if len(raw) == 1:
        return SentTransaction(raw, None)  # `codec` says that it is too short
    if len(raw) > limit + _MOST_SIDECAR_BYTES:
        raise _malformed(rlp.RlpError(rlp.RlpReason.INPUT_TOO_LONG))
    try:
        body = rlp.read_only_item(raw, 1)
        first, _ = rlp.read_item(body, 0, len(body))
        if type(first) is not rlp.RlpList:
            return SentTransaction(raw, None)  # its first field is a number, the chain ID
        return SentTransaction(raw[:1] + rlp.encode_list([first]), _read_sidecar(body))
    except rlp.RlpError as error:
        raise _malformed(error) from error


def join(sent: SentTransaction) -> bytes:
    """Return a transaction in the form in which it is sent. Its envelope is of type 3 if it has a sidecar."""
    if sent.sidecar is None:
        return sent.raw
    version, blobs, commitments, proofs = sent.sidecar
    fields = [sent.raw[1:]]
    if version:
        fields.append(rlp.encode_uint(version))
    fields += [
        rlp.encode_list(map(rlp.encode_bytes, part)) for part in (blobs, commitments, proofs)
    ]
    return sent.raw[:1] + rlp.encode_list(fields)


def _read_sidecar(body: bytes) -> Sidecar:
    items = [item for _, item in zip(range(_FIELDS_V1 + 1), rlp.iterate(body), strict=False)]
    if len(items) < _FIELDS_V0:
        raise rlp.RlpError(rlp.RlpReason.TOO_FEW_ELEMENTS)
    if len(items) > _FIELDS_V1:
        raise rlp.RlpError(rlp.RlpReason.TOO_MANY_ELEMENTS)
    version = 0
    if len(items) == _FIELDS_V1:
        version = rlp.read_uint64(items.pop(1))
        if version != 1:
            raise InvalidTransaction(TransactionReason.SIDECAR_VERSION, version=version)
    _, blobs, commitments, proofs = items
    return Sidecar(
        version,
        _read_all(blobs, BYTES_PER_BLOB, MOST_BLOBS),
        _read_all(commitments, BYTES_PER_COMMITMENT, MOST_BLOBS),
        _read_all(proofs, BYTES_PER_PROOF, MOST_BLOBS * CELLS_PER_EXT_BLOB),
    )


_FIELDS_V0: Final = 4
_FIELDS_V1: Final = 5


def _read_all(item: bytes, size: int, most: int) -> tuple[bytes, ...]:
    if type(item) is not rlp.RlpList:
        raise rlp.RlpError(rlp.RlpReason.EXPECTED_LIST)
    values: list[bytes] = []
    for element in rlp.iterate(item):
        if len(values) == most:
            raise rlp.RlpError(rlp.RlpReason.TOO_MANY_ELEMENTS)
        values.append(rlp.read_fixed(element, size))
    return tuple(values)


def _malformed(error: rlp.RlpError) -> InvalidTransaction:
    return InvalidTransaction(TransactionReason.MALFORMED, problem=f"{error.reason} for blobs")

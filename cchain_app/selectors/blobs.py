"""The blobs of pending and mined transactions, as far as they are kept."""

from typing import NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.selectors import pool
from cchain_app.store import blobs as blob_rows
from cchain_app.txs.blobs import Sidecar
from primitives.counting import counted
from primitives.evm import Hash


class BlobsDeleted(Exception):
    """Blobs of a block are no longer kept (NODE_HISTORY_BLOBS)."""


class BlockBlob(NamedTuple):
    """A blob of a mined transaction."""

    versioned_hash: Hash
    blob: bytes


def of_block(chain: EvmChain, block: AcceptedBlock) -> list[BlockBlob]:
    """Return the blobs of a block's transactions, in their order.

    Raises:
        BlobsDeleted: Some of them are no longer kept.
    """
    sent = [tx for tx in block.transactions if tx.blob_hashes]
    stored = blob_rows.of_transactions(chain.db, [tx.hash for tx in sent])
    wanted = [(tx.hash, index, key) for tx in sent for index, key in enumerate(tx.blob_hashes)]
    found = [BlockBlob(key, stored[tx, at]) for tx, at, key in wanted if (tx, at) in stored]
    if len(found) != len(wanted):
        missing = len(wanted) - len(found)
        raise BlobsDeleted(
            f"{missing} of the {counted(len(wanted), 'blob')} of block {block.number} are no longer kept (NODE_HISTORY_BLOBS)"
        )
    return found


def sidecar_of(chain: EvmChain, transaction_hash: Hash) -> Sidecar | None:
    """Return the sidecar of a pending or mined transaction; None if it has none, or it is no longer kept.

    The rows of a transaction that left the pool without being mined may still be there.
    """
    sidecar = blob_rows.sidecar_of(chain.db, transaction_hash)
    if sidecar is None or pool.find(chain, transaction_hash) is None:
        return None
    return sidecar


def find(chain: EvmChain, versioned_hash: Hash) -> bytes | None:
    """Return the blob with a versioned hash, if a transaction with it is pending or mined and it is still kept."""
    return next(
        (
            blob
            for transaction_hash in blob_rows.transactions_with(chain.db, versioned_hash)
            if pool.find(chain, transaction_hash) is not None
            and (blob := blob_rows.find(chain.db, transaction_hash, versioned_hash)) is not None
        ),
        None,
    )

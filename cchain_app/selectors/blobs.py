"""The blobs of pending and mined transactions, as far as they are kept."""

from cchain_app.chain import EvmChain
from cchain_app.selectors import pool
from cchain_app.store import blobs as rows
from cchain_app.txs.blobs import Sidecar
from primitives.evm import Hash


def sidecar_of(chain: EvmChain, transaction_hash: Hash) -> Sidecar | None:
    """Return the sidecar of a pending or mined transaction; None if it has none, or it is no longer kept.

    The rows of a transaction that left the pool without being mined may still be there.
    """
    sidecar = rows.sidecar_of(chain.db, transaction_hash)
    if sidecar is None or pool.find(chain, transaction_hash) is None:
        return None
    return sidecar


def find(chain: EvmChain, versioned_hash: Hash) -> bytes | None:
    """Return the blob with a versioned hash, if a transaction with it is pending or mined and it is still kept."""
    return next(
        (
            blob
            for transaction_hash in rows.transactions_with(chain.db, versioned_hash)
            if pool.find(chain, transaction_hash) is not None
            and (blob := rows.find(chain.db, transaction_hash, versioned_hash)) is not None
        ),
        None,
    )

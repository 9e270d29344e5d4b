"""Checks of a blob transaction and its sidecar that need no account, in go-ethereum's order.

All of them are cheap. The proofs, whose verification takes milliseconds for each blob, are verified afterwards
(`evm.kzg`).
"""

from typing import Final

from cchain_app.pool.checks import AdmissionRules
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.txs.blobs import Sidecar, versioned_hash
from cchain_app.txs.codec import DecodedTransaction
from cchain_app.txs.transaction import Transaction

MIN_BLOB_GAS_PRICE: Final = 1
"""Wei per blob gas, the lowest base fee of blob gas."""


def check_blobs(
    transaction: Transaction | DecodedTransaction, sidecar: Sidecar | None, rules: AdmissionRules
) -> None:
    """Check that a sidecar has the blobs of its transaction, except for the proofs.

    Unspecified: both versions of sidecars are accepted in every fork, as in Anvil; go-ethereum wants version 0 before
    Osaka and version 1 since. viem and ethers make version 0 by default, eth-account version 1.

    Raises:
        PoolRejection: The sidecar is missing, the transaction has too few or too many blobs or pays nothing for them, or the
            sidecar's parts do not fit the transaction's versioned hashes.
    """
    hashes = transaction.blob_hashes
    if sidecar is None:
        raise PoolRejection(PoolReason.NO_SIDECAR)
    if transaction.max_fee_per_blob_gas < MIN_BLOB_GAS_PRICE:
        raise PoolRejection(
            PoolReason.BLOB_FEE_CAP_BELOW_MINIMUM,
            fee_cap=transaction.max_fee_per_blob_gas,
            minimum=MIN_BLOB_GAS_PRICE,
        )
    if not hashes:
        raise PoolRejection(PoolReason.NO_BLOBS)
    limit = rules.most_blobs
    if len(hashes) > limit:
        raise PoolRejection(PoolReason.TOO_MANY_BLOBS, count=len(hashes), limit=limit)
    _check_counts(sidecar, len(hashes))
    for index, (given, commitment) in enumerate(zip(hashes, sidecar.commitments, strict=True)):
        computed = versioned_hash(commitment)
        if computed != given:
            raise PoolRejection(
                PoolReason.WRONG_BLOB_HASH, index=index, computed=computed.hex(), given=given.hex()
            )


def _check_counts(sidecar: Sidecar, hashes: int) -> None:
    if len(sidecar.blobs) != hashes:
        raise PoolRejection(PoolReason.WRONG_BLOB_COUNT, count=len(sidecar.blobs), hashes=hashes)
    if len(sidecar.commitments) != hashes:
        raise PoolRejection(
            PoolReason.WRONG_COMMITMENT_COUNT, count=len(sidecar.commitments), hashes=hashes
        )
    want = hashes * sidecar.proofs_per_blob
    if len(sidecar.proofs) != want:
        raise PoolRejection(PoolReason.WRONG_PROOF_COUNT, count=len(sidecar.proofs), want=want)

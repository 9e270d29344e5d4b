"""Blobs of transactions that a client asks the node to fill, sign or send, and of those that were sent before.

A request may contain the blobs alone, or with commitments and proofs; missing ones are computed (go-ethereum's
`setBlobTxSidecar`, with its messages). Computing takes seconds for many blobs, for one request at a time.
"""

from collections.abc import Sequence
from typing import Final

from cchain_app.api.errors import server_error
from cchain_app.api.rpc import EvmRpc
from cchain_app.config import at_least
from cchain_app.evm.kzg import MalformedBlob, make_sidecar
from cchain_app.pool.checks import AdmissionRules
from cchain_app.selectors import blobs as stored
from cchain_app.selectors import blocks
from cchain_app.services.admissions import admission_rules, check_accepts_blobs
from cchain_app.txs.blobs import CELLS_PER_EXT_BLOB, Sidecar, versioned_hash
from cchain_app.txs.request import BlobsOfRequest, CallRequest
from chaindb.locks import QUEUE_SECONDS
from primitives.evm import Hash
from primitives.hexadecimal import encode_data

FEE_FACTOR: Final = 2
"""The fee cap of blob gas that the node fills in, in units of the next block's base fee of blob gas."""


def get_blob_by_hash(rpc: EvmRpc, versioned_hash: Hash) -> str | None:
    """anvil_getBlobByHash: the blob of a pending or mined transaction by its versioned hash, else null."""
    blob = stored.find(rpc.chain, versioned_hash)
    return None if blob is None else encode_data(blob)


def get_blobs_by_transaction_hash(rpc: EvmRpc, transaction_hash: Hash) -> list[str] | None:
    """anvil_getBlobsByTransactionHash: the blobs of a pending or mined transaction, null if it has none."""
    sidecar = stored.sidecar_of(rpc.chain, transaction_hash)
    return None if sidecar is None else [encode_data(blob) for blob in sidecar.blobs]


def with_blobs(rpc: EvmRpc, request: CallRequest) -> tuple[CallRequest, Sidecar | None]:
    """Return a request with its versioned hashes and the fee cap of its blob gas; and its sidecar, if it has blobs.

    Raises:
        JsonRpcError: -32000, its blobs, commitments, proofs and hashes do not belong together, it has no recipient or a fee
            cap of 0.
        InvalidTransaction: The chain takes no blob transactions.
    """
    given = request.blobs
    if given is None and request.blob_hashes is None:
        return request, None
    chain = rpc.chain
    if request.max_fee_per_blob_gas == 0:
        raise server_error("maxFeePerBlobGas, if specified, must be non-zero")
    sidecar = None
    if given is not None and given.blobs is not None:
        check_accepts_blobs(chain)
        rules = admission_rules(chain)
        _check_numbers(given, request.blob_hashes, rules)
        with chain.kzg_lock.held(QUEUE_SECONDS):
            sidecar = _sidecar(rpc, given, rules)
        hashes = tuple(map(versioned_hash, sidecar.commitments))
        _check_hashes(hashes, request.blob_hashes)
        request = request._replace(blob_hashes=hashes)
    if request.blob_hashes is not None and request.to is None:
        raise server_error('missing "to" in blob transaction')
    if request.max_fee_per_blob_gas is None:
        price = blocks.blob_market_after(chain, blocks.head(chain)).price
        request = request._replace(max_fee_per_blob_gas=FEE_FACTOR * price)
    return request, sidecar


def _check_numbers(
    given: BlobsOfRequest, hashes: Sequence[Hash] | None, rules: AdmissionRules
) -> None:
    blobs = given.blobs or ()
    if not blobs:
        raise server_error("need at least 1 blob for a blob transaction")
    limit = rules.most_blobs
    if len(blobs) > limit:
        raise server_error(f"too many blobs in transaction (have={len(blobs)}, max={limit})")
    if hashes is not None and len(blobs) != len(hashes):
        raise server_error(
            f"number of blobs and hashes mismatch (have={len(blobs)}, want={len(hashes)})"
        )
    commitments, proofs = given.commitments, given.proofs
    if commitments is not None and len(commitments) != len(blobs):
        raise server_error(
            f"number of blobs and commitments mismatch (have={len(commitments)}, want={len(blobs)})"
        )
    if (commitments is None) != (proofs is None):
        missing = ("commitments", "proofs") if proofs is None else ("proofs", "commitments")
        raise server_error("blob {} provided while {} were not".format(*missing))
    if proofs is not None and len(proofs) not in {len(blobs), len(blobs) * CELLS_PER_EXT_BLOB}:
        raise server_error(
            f"number of blobs and proofs mismatch (have={len(proofs)}, want={len(blobs)})"
        )


def _sidecar(rpc: EvmRpc, given: BlobsOfRequest, rules: AdmissionRules) -> Sidecar:
    kzg, blobs = rpc.chain.kzg, given.blobs or ()
    if given.commitments is None or given.proofs is None:
        try:
            return make_sidecar(kzg, blobs, int(at_least(rules.fork, "osaka")))
        except MalformedBlob as error:
            raise server_error(f"failed to compute blob commitment: {error}") from error
    version = int(len(given.proofs) != len(blobs))
    sidecar = Sidecar(version, blobs, given.commitments, given.proofs)
    if not kzg.verify(sidecar):
        raise server_error("failed to verify blob proof")
    return sidecar


def _check_hashes(computed: Sequence[Hash], given: Sequence[Hash] | None) -> None:
    for have, want in zip(given or computed, computed, strict=True):
        if have != want:
            raise server_error(
                f"blob hash verification failed (have={encode_data(have)}, want={encode_data(want)})"
            )

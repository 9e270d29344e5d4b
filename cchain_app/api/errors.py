"""The one table from what can go wrong on the C-Chain to the code that a client sees.

Each exception class has its row, so that a new one is a decision; a test walks the trees.
"""

from collections.abc import Mapping
from typing import Final

from cchain_app import feemarket
from cchain_app.evm import engine, overrides
from cchain_app.pool import errors as pool
from cchain_app.selectors import logs, proofs
from cchain_app.services import poll_filters
from cchain_app.txs import errors as txs
from jsonrpc.errors import LIMIT_EXCEEDED, REVERTED, SERVER_ERROR, JsonRpcError

CODES: Final[Mapping[type[Exception], int]] = {
    txs.InvalidTransaction: SERVER_ERROR,
    txs.TypedTransactionTooShort: SERVER_ERROR,
    txs.TransactionTypeNotSupported: SERVER_ERROR,
    txs.BlobTransactionRefused: SERVER_ERROR,
    txs.MalformedTransaction: SERVER_ERROR,
    txs.InvalidSender: SERVER_ERROR,
    txs.WrongChainId: SERVER_ERROR,
    txs.InvalidSignatureValues: SERVER_ERROR,
    txs.SenderNotRecoverable: SERVER_ERROR,
    pool.PoolRejection: SERVER_ERROR,
    pool.FeeAboveCap: SERVER_ERROR,
    pool.NotReplayProtected: SERVER_ERROR,
    pool.AlreadyKnown: SERVER_ERROR,
    pool.TypeNotActive: SERVER_ERROR,
    pool.OversizedTransaction: SERVER_ERROR,
    pool.InitCodeTooLarge: SERVER_ERROR,
    pool.GasAboveTransactionCap: SERVER_ERROR,
    pool.GasAboveBlockLimit: SERVER_ERROR,
    pool.TipAboveFeeCap: SERVER_ERROR,
    pool.NonceAtMaximum: SERVER_ERROR,
    pool.IntrinsicGasTooLow: SERVER_ERROR,
    pool.FloorGasTooLow: SERVER_ERROR,
    pool.TipBelowMinimum: SERVER_ERROR,
    pool.FeeCapBelowMinimum: SERVER_ERROR,
    pool.NoAuthorizations: SERVER_ERROR,
    pool.NonceTooLow: SERVER_ERROR,
    pool.InsufficientFunds: SERVER_ERROR,
    pool.FundsBelowCost: SERVER_ERROR,
    pool.FundsBelowQueuedCost: SERVER_ERROR,
    pool.FundsBelowReplacementCost: SERVER_ERROR,
    pool.InFlightLimitReached: SERVER_ERROR,
    pool.GappedNonceOfDelegated: SERVER_ERROR,
    pool.AuthorityReserved: SERVER_ERROR,
    pool.ReplacementUnderpriced: SERVER_ERROR,
    pool.AccountLimitExceeded: SERVER_ERROR,
    pool.Underpriced: SERVER_ERROR,
    pool.PoolFull: SERVER_ERROR,
    pool.FutureReplacesPending: SERVER_ERROR,
    engine.CallRejected: SERVER_ERROR,
    overrides.BadOverride: SERVER_ERROR,
    overrides.StateAndDiff: SERVER_ERROR,
    overrides.NotAPrecompile: SERVER_ERROR,
    overrides.AlreadyOverridden: SERVER_ERROR,
    feemarket.InvalidPercentiles: SERVER_ERROR,
    feemarket.TooManyPercentiles: SERVER_ERROR,
    feemarket.PercentileOutOfRange: SERVER_ERROR,
    feemarket.PercentilesNotAscending: SERVER_ERROR,
    logs.TooManyLogs: LIMIT_EXCEEDED,
    proofs.ProofWindowPassed: SERVER_ERROR,
    poll_filters.FilterNotFound: SERVER_ERROR,
}


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected failure, None for an unexpected one."""
    code = CODES.get(type(error))
    return None if code is None else JsonRpcError(code, str(error))


def server_error(message: str) -> JsonRpcError:
    """Return an error that has no code of its own (-32000)."""
    return JsonRpcError(SERVER_ERROR, message)


def reverted(message: str, output: bytes) -> JsonRpcError:
    """Return the error of a call that ended in REVERT: its data travels along, `0x` when empty."""
    return JsonRpcError(REVERTED, message, "0x" + output.hex())

"""The one table from what can go wrong on the C-Chain to the code that a client sees.

Each exception class has its row, so that a new one is a decision; a test walks the trees.
"""

from collections.abc import Mapping
from typing import Final

from cchain_app import feemarket
from cchain_app.evm import engine, overrides
from cchain_app.evm.engine import CallResult
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


ERROR: Final = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`: require and revert with a text."""

PANIC: Final = bytes.fromhex("4e487b71")
"""Selector of `Panic(uint256)`: what the compiler's own checks raise."""

_PANICS: Final = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}


def failure(result: CallResult) -> JsonRpcError | None:
    """Return the error of a call that failed, None for one that worked.

    A revert has code 3 and its raw data, so that clients decode custom errors themselves.
    """
    if result.error is None:
        return None
    if not result.reverted:
        return server_error(result.error)
    reason = reason_of(result.output)
    text = result.error if reason is None else f"{result.error}: {reason}"
    return reverted(text, result.output)


def reason_of(output: bytes) -> str | None:
    """Return the reason in revert data: a text or a panic; None for anything else."""
    if output[:4] == ERROR:
        return _text(output[4:])
    if output[:4] == PANIC and len(output) >= 36:
        code = _word(output, 4)
        return _PANICS.get(code, f"unknown panic code: {code:#x}")
    return None


def _text(arguments: bytes) -> str | None:
    """Return the one string that ABI-encoded arguments hold, None when they hold none."""
    if len(arguments) < 64:
        return None
    start = _word(arguments, 0) + 32
    if start > len(arguments):
        return None
    size = _word(arguments, start - 32)
    if start + size > len(arguments):
        return None
    return arguments[start : start + size].decode("utf-8", "replace")


def _word(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 32], "big")

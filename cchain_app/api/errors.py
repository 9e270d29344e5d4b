"""The single table of the error codes that clients see, by exception class of the C-Chain.

Each exception class has its own row, so a new class requires a decision; a test checks every class hierarchy.
Reasons have rows where their code is not that of their class.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from cchain_app import feemarket
from cchain_app.accounts import keyring, messages
from cchain_app.development import errors as development
from cchain_app.evm import engine, overrides
from cchain_app.evm import tracing as evm_tracing
from cchain_app.evm.engine import CallResult
from cchain_app.evm.failures import reason_of
from cchain_app.evm.tracing import TransactionTrace
from cchain_app.forking import errors as forking
from cchain_app.pool import errors as pool
from cchain_app.selectors import logs, state_ranges, tracing, tries
from cchain_app.services import pending, poll_filters, warp
from cchain_app.services import tracing as traced
from cchain_app.simulation import plan as simulation
from cchain_app.store import history
from cchain_app.tracing import options
from cchain_app.txs import transaction as txs
from chaindb.indexing import IndexBehind
from jsonrpc.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LIMIT_EXCEEDED,
    REVERTED,
    SERVER_ERROR,
    JsonRpcError,
)
from primitives.reasons import ErrorWithReason

HISTORY_PRUNED: Final = 4444
"""go-ethereum's code for history that a node may prune (EIP-4444)."""

NONCE_TOO_LOW: Final = -38010
NONCE_TOO_HIGH: Final = -38011
FEE_BELOW_BASE_FEE: Final = -38012
NOT_ENOUGH_GAS: Final = -38013
NOT_ENOUGH_FUNDS: Final = -38014
BLOCK_GAS_LIMIT_REACHED: Final = -38015
BLOCK_NUMBER_INVALID: Final = -38020
BLOCK_TIMESTAMP_INVALID: Final = -38021
INIT_CODE_TOO_LARGE: Final = -38025
LIMIT_OF_CLIENT: Final = -38026
"""The codes above are used by eth_simulateV1 only (tracing.md 14)."""

CODES: Final[Mapping[type[Exception], int]] = {
    txs.InvalidTransaction: SERVER_ERROR,
    pool.PoolRejection: SERVER_ERROR,
    keyring.UnknownAccount: SERVER_ERROR,
    messages.BadTypedData: INVALID_PARAMS,
    keyring.TooManyAccounts: SERVER_ERROR,
    engine.CallRejected: SERVER_ERROR,
    overrides.BadOverride: SERVER_ERROR,
    feemarket.InvalidPercentiles: SERVER_ERROR,
    logs.TooManyLogs: LIMIT_EXCEEDED,
    tries.ProofWindowPassed: SERVER_ERROR,
    history.HistoryPruned: SERVER_ERROR,
    history.StatePruned: SERVER_ERROR,
    history.CallsPruned: HISTORY_PRUNED,
    IndexBehind: SERVER_ERROR,
    evm_tracing.TraceTimedOut: SERVER_ERROR,
    state_ranges.RangeTimedOut: SERVER_ERROR,
    simulation.SimulationRefused: SERVER_ERROR,
    pending.PendingBlockNotBuilt: SERVER_ERROR,
    poll_filters.FilterNotFound: SERVER_ERROR,
    tracing.GenesisNotTraceable: SERVER_ERROR,
    tracing.TransactionIndexOutOfRange: SERVER_ERROR,
    tracing.TraceDiffers: SERVER_ERROR,
    traced.BlockNotTraceable: SERVER_ERROR,
    development.DevelopmentError: SERVER_ERROR,
    development.InvalidDevelopmentRequest: INVALID_PARAMS,
    development.NoBalanceSlot: INTERNAL_ERROR,
    development.AlreadyMined: INVALID_PARAMS,
    forking.ForkRefused: INVALID_PARAMS,
    forking.MalformedForkSetting: INVALID_PARAMS,
    forking.UpstreamError: INTERNAL_ERROR,
    forking.UpstreamAway: INTERNAL_ERROR,
    forking.UpstreamRefused: INTERNAL_ERROR,
    forking.BadUpstreamAnswer: INTERNAL_ERROR,
    forking.NoForkedProof: INTERNAL_ERROR,
    options.BadTraceConfig: SERVER_ERROR,
    options.UnreadableOptions: SERVER_ERROR,
    warp.WarpRefused: SERVER_ERROR,
}
"""The code of each class."""

_SIMULATION: Final = simulation.SimulationReason

REASON_CODES: Final[Mapping[StrEnum, int]] = {
    _SIMULATION.NO_BLOCKS: INVALID_PARAMS,
    _SIMULATION.TOO_MANY_BLOCKS: LIMIT_OF_CLIENT,
    _SIMULATION.TOO_MANY_CALLS: LIMIT_OF_CLIENT,
    _SIMULATION.NUMBER_NOT_ASCENDING: BLOCK_NUMBER_INVALID,
    _SIMULATION.TIMESTAMP_NOT_ASCENDING: BLOCK_TIMESTAMP_INVALID,
    _SIMULATION.TIMESTAMP_TOO_HIGH: BLOCK_TIMESTAMP_INVALID,
    _SIMULATION.PRICE_TOO_HIGH: INVALID_PARAMS,
    _SIMULATION.BLOCK_GAS_LIMIT: BLOCK_GAS_LIMIT_REACHED,
    _SIMULATION.NONCE_TOO_LOW: NONCE_TOO_LOW,
    _SIMULATION.NONCE_TOO_HIGH: NONCE_TOO_HIGH,
    _SIMULATION.TIP_ABOVE_FEE: INVALID_PARAMS,
    _SIMULATION.FEE_BELOW_BASE_FEE: FEE_BELOW_BASE_FEE,
    _SIMULATION.NOT_ENOUGH_FUNDS: NOT_ENOUGH_FUNDS,
    _SIMULATION.INTRINSIC_GAS_TOO_LOW: NOT_ENOUGH_GAS,
    _SIMULATION.FLOOR_GAS_TOO_LOW: NOT_ENOUGH_GAS,
    _SIMULATION.INIT_CODE_TOO_LARGE: INIT_CODE_TOO_LARGE,
    _SIMULATION.CALL_NOT_APPLIED: INTERNAL_ERROR,
}
"""The codes of reasons that have another code than their class."""


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected failure, None for an unexpected one."""
    code = CODES.get(type(error))
    if isinstance(error, ErrorWithReason):
        code = REASON_CODES.get(error.reason, code)
    return None if code is None else JsonRpcError(code, str(error))


def server_error(message: str) -> JsonRpcError:
    """Return an error that has no code of its own (-32000)."""
    return JsonRpcError(SERVER_ERROR, message)


def reverted(message: str, output: bytes) -> JsonRpcError:
    """Return the error of a call that reverted, with the revert data, `0x` if it is empty."""
    return JsonRpcError(REVERTED, message, "0x" + output.hex())


class CallFailed(JsonRpcError):
    """The failure of a call, with the means to execute it again for the log."""

    trace: Callable[[], TransactionTrace] | None = None
    """Executes the call again; raises as `TracingEngine.trace_call`."""


def failure(result: CallResult, *, of_coreth: bool = False) -> CallFailed | None:
    """Return the error of a failed call, None for a successful one.

    A revert has code 3 and its raw data, so that clients can decode custom errors. On a chain of coreth (`of_coreth`) a
    revert without data is like any other failure.
    """
    if result.error is None:
        return None
    if not result.reverted or (of_coreth and not result.output):
        return CallFailed(SERVER_ERROR, result.error)
    reason = reason_of(result.output)
    text = result.error if reason is None else f"{result.error}: {reason}"
    return CallFailed(REVERTED, text, "0x" + result.output.hex())

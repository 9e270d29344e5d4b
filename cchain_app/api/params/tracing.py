"""Parsers of the arguments of tracing methods: options, trace types, lists of calls, plain heights.

The options of `debug_trace*` are go-ethereum's; the options of a tracer are read in `cchain_app.tracing.options`.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cchain_app.api.errors import server_error
from cchain_app.api.params import call as params_call
from cchain_app.api.params import values as params
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import BlockNumber, Tag
from cchain_app.evm.overrides import AccountOverride, BlockOverride
from cchain_app.tracing.calls import CallFilter
from cchain_app.tracing.options import TraceConfig, UnreadableOptions, parse_trace_config
from jsonrpc.errors import InvalidParam
from primitives.evm import Address

TRACE: Final = "trace"
STATE_DIFF: Final = "stateDiff"
VM_TRACE: Final = "vmTrace"

MAX_ADDRESSES: Final = 100
"""Maximum number of senders, or recipients, of trace_filter."""

TraceTypes = frozenset[str]
"""The parts of a results object besides its output."""

_TYPES: Final = frozenset({TRACE, STATE_DIFF, VM_TRACE})


class CallTraceOptions(NamedTuple):
    """The options of debug_traceCall."""

    config: TraceConfig = TraceConfig()
    accounts: Mapping[Address, AccountOverride] | None = None
    block: BlockOverride | None = None
    transaction_index: int | None = None
    """Index of the transaction in the block before which the call runs; None to run it after all of them."""


class TraceSearch(NamedTuple):
    """The parameters of trace_filter."""

    wanted: CallFilter
    first: BlockNumber = Tag.EARLIEST
    last: BlockNumber = Tag.LATEST
    after: int = 0
    """Number of matching entries to skip."""
    most: int | None = None
    """Maximum number of entries to return; None for all."""


class TracedCall(NamedTuple):
    """One of the calls of trace_callMany."""

    request: CallRequest
    types: TraceTypes


def trace_config(value: Any) -> TraceConfig:
    """Read the options of debug_traceTransaction and debug_traceBlock….

    Raises:
        InvalidParam: A member has the wrong type.
        BadTraceConfig: The tracer does not exist, or does not accept its options.
    """
    try:
        return parse_trace_config(value)
    except UnreadableOptions as error:
        raise InvalidParam(str(error)) from None


def call_trace_options(value: Any) -> CallTraceOptions:
    """Read the options of debug_traceCall: trace options, overrides, and the index of a transaction.

    Raises:
        InvalidParam: A member has the wrong type.
        JsonRpcError: -32000, an override has no meaning for a call.
        BadTraceConfig: As in `trace_config`.
    """
    config = trace_config(value)
    members = {name.lower(): member for name, member in value.items() if member is not None}
    accounts, block = members.get("stateoverrides"), members.get("blockoverrides")
    index = members.get("txindex")
    return CallTraceOptions(
        config,
        None if accounts is None else params_call.state_overrides(accounts),
        None if block is None else _block_overrides(block),
        None if index is None else params.uint64(index),
    )


def _block_overrides(value: Any) -> BlockOverride:
    overrides = params_call.block_overrides(value)
    for name in ("beaconRoot", "withdrawals"):
        if value.get(name) is not None:
            raise server_error(f'block override "{name}" is not supported for this RPC method')
    return overrides


def trace_types(value: Any) -> TraceTypes:
    """Read an array of `trace`, `stateDiff` and `vmTrace`, in any order."""
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]string")
    for element in value:
        if params.text(element, "string") not in _TYPES:
            raise InvalidParam(f"unrecognized trace type: {element[:100]}")
    return frozenset(value)


def traced_calls(value: Any) -> list[TracedCall]:
    """Read an array of pairs: a call object, and the requested trace types."""
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]TraceCallParam")
    return [_traced_call(element) for element in value]


def _traced_call(value: Any) -> TracedCall:
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidParam("expected a call and its trace types")
    return TracedCall(params_call.call(value[0]), trace_types(value[1]))


def height(value: Any) -> BlockNumber:
    """Read a height or tag like Otterscan and Erigon: a JSON number is accepted as a height."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= params.MAX_BLOCK_NUMBER:
            raise InvalidParam("block number larger than int64")
        return value
    return params.block_number(value)


def trace_search(value: Any) -> TraceSearch:
    """Read the filter of trace_filter.

    Unspecified: at most 100 addresses of each kind.

    Raises:
        InvalidParam: A member has the wrong type, or there are too many addresses.
    """
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), "TraceFilterRequest")
    members = {name: member for name, member in value.items() if member is not None}
    mode = params.text(members.get("mode", "union"), "string")
    if mode not in {"union", "intersection"}:
        raise InvalidParam(f"unrecognized filter mode: {mode[:100]}")
    return TraceSearch(
        CallFilter(
            _addresses(members.get("fromAddress", [])),
            _addresses(members.get("toAddress", [])),
            intersection=mode == "intersection",
        ),
        height(members["fromBlock"]) if "fromBlock" in members else Tag.EARLIEST,
        height(members["toBlock"]) if "toBlock" in members else Tag.LATEST,
        params.count(members.get("after", 0)),
        params.count(members["count"]) if "count" in members else None,
    )


def _addresses(value: Any) -> frozenset[Address]:
    if isinstance(value, list) and len(value) > MAX_ADDRESSES:
        raise InvalidParam(f"too many addresses; currently limited to {MAX_ADDRESSES}")
    return frozenset(params.list_of(params.address)(value))

"""The tracing methods and Otterscan's methods, and their registration.

None of them is hot, because they execute transactions.
"""

from typing import Final

from cchain_app.api.debug import traces
from cchain_app.api.params import call as params_call
from cchain_app.api.params import tracing as params_tracing
from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from cchain_app.api.trace import otterscan, otterscan_searches, parity_traces, trace_filter
from cchain_app.tracing.options import TraceConfig
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry

_ADDRESS: Final = Param("address", params.address)
_HASH: Final = Param("hash", params.hash32)
_BLOCK: Final = Param("block", params.block_param)
_LATEST: Final = Param("block", params.block_param, params.Tag.LATEST)
_HEIGHT: Final = Param("block", params_tracing.height)
_RAW: Final = Param("data", params.data)
_CALL: Final = Param("transaction", params_call.call)
_TYPES: Final = Param("types", params_tracing.trace_types)
_ACCOUNTS: Final = Param("stateOverrides", params_call.state_overrides, None)
_SURROUNDINGS: Final = Param("blockOverrides", params_call.block_overrides, None)
_OPTIONS: Final = Param("options", params_tracing.trace_config, TraceConfig())
_CALL_OPTIONS: Final = Param(
    "options", params_tracing.call_trace_options, params_tracing.CallTraceOptions()
)


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Add the methods to those of a chain."""
    for group in (_debug, _parity, _otterscan):
        group(methods, rpc)


def _debug(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "debug_traceTransaction",
        rpc.bind(traces.trace_transaction),
        params=[_HASH, _OPTIONS],
    )
    methods.add(
        "debug_traceBlockByNumber",
        rpc.bind(traces.trace_block_by_number),
        params=[Param("block", params.block_number), _OPTIONS],
    )
    methods.add(
        "debug_traceBlockByHash",
        rpc.bind(traces.trace_block_by_hash),
        params=[_HASH, _OPTIONS],
    )
    methods.add("debug_traceBlock", rpc.bind(traces.trace_block), params=[_RAW, _OPTIONS])
    methods.add(
        "debug_traceCall",
        rpc.bind(traces.trace_call),
        params=[_CALL, _LATEST, _CALL_OPTIONS],
    )


def _parity(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add("trace_transaction", rpc.bind(parity_traces.trace_transaction), params=[_HASH])
    methods.add("trace_block", rpc.bind(parity_traces.trace_block), params=[_BLOCK])
    methods.add(
        "trace_get",
        rpc.bind(parity_traces.trace_get),
        params=[_HASH, Param("indexes", params.list_of(params.count))],
    )
    methods.add(
        "trace_filter",
        rpc.bind(trace_filter.trace_filter),
        params=[Param("filter", params_tracing.trace_search)],
    )
    methods.add(
        "trace_call",
        rpc.bind(parity_traces.call),
        params=[_CALL, _TYPES, _LATEST, _ACCOUNTS, _SURROUNDINGS],
    )
    methods.add(
        "trace_callMany",
        rpc.bind(parity_traces.call_many),
        params=[Param("calls", params_tracing.traced_calls), _LATEST],
    )
    methods.add(
        "trace_rawTransaction", rpc.bind(parity_traces.raw_transaction), params=[_RAW, _TYPES]
    )
    methods.add(
        "trace_replayTransaction",
        rpc.bind(parity_traces.replay_transaction),
        params=[_HASH, _TYPES],
    )
    methods.add(
        "trace_replayBlockTransactions",
        rpc.bind(parity_traces.replay_block_transactions),
        params=[_BLOCK, _TYPES],
    )


def _otterscan(methods: MethodRegistry, rpc: EvmRpc) -> None:
    page = [_HEIGHT, Param("page", params.count), Param("pageSize", params.count)]
    methods.add("ots_getApiLevel", otterscan.api_level, hot=True, computes=True)
    methods.add("ots_hasCode", rpc.bind(otterscan.has_code), params=[_ADDRESS, _HEIGHT])
    methods.add("ots_getBlockDetails", rpc.bind(otterscan.block_details), params=[_HEIGHT])
    methods.add(
        "ots_getBlockDetailsByHash", rpc.bind(otterscan.block_details_by_hash), params=[_HASH]
    )
    methods.add("ots_getBlockTransactions", rpc.bind(otterscan.block_transactions), params=page)
    methods.add("ots_getTransactionError", rpc.bind(otterscan.transaction_error), params=[_HASH])
    methods.add(
        "ots_getInternalOperations", rpc.bind(otterscan.internal_operations), params=[_HASH]
    )
    methods.add("ots_traceTransaction", rpc.bind(otterscan.trace_transaction), params=[_HASH])
    methods.add(
        "ots_getTransactionBySenderAndNonce",
        rpc.bind(otterscan.by_sender_and_nonce),
        params=[_ADDRESS, Param("nonce", params.count)],
    )
    search = [_ADDRESS, Param("block", params.count), Param("pageSize", params.count)]
    methods.add(
        "ots_searchTransactionsBefore", rpc.bind(otterscan_searches.search_before), params=search
    )
    methods.add(
        "ots_searchTransactionsAfter", rpc.bind(otterscan_searches.search_after), params=search
    )
    methods.add(
        "ots_getContractCreator",
        rpc.bind(otterscan_searches.contract_creator),
        params=[_ADDRESS],
    )
    methods.add(
        "erigon_getHeaderByNumber",
        rpc.bind(otterscan.header_by_number),
        params=[_HEIGHT],
        hot=True,
    )
    methods.add(
        "erigon_getHeaderByHash", rpc.bind(otterscan.header_by_hash), params=[_HASH], hot=True
    )

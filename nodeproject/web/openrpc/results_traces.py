"""The schemas of the results of tracing methods: geth's, Parity's, Otterscan's and Erigon's."""

from collections.abc import Mapping
from typing import Any, Final

from nodeproject.web.openrpc.schemas import (
    BOOLEAN,
    COUNT,
    TEXT,
    Schema,
    array,
    nullable,
    record,
    ref,
)
from nodeproject.web.openrpc.schemas_evm import ADDRESS, DATA, HASH, HEADER, QUANTITY, TRANSACTION

_TRACER_RESULT: Final = ref("TracerResult")
_OF_BLOCK: Final = array(record({"txHash": HASH, "result": _TRACER_RESULT}))
_ENTRY: Final = ref("LocalizedTraceEntry")
_REPLAY: Final = ref("ReplayResult")

_DETAILS: Final = nullable(
    record({
        "block": ref("OtterscanBlock"),
        "issuance": record({
            "blockReward": QUANTITY, "uncleReward": QUANTITY, "issuance": QUANTITY,
        }),
        "totalFees": QUANTITY,
    })
)  # fmt: skip

_PAGE: Final = record({
    "txs": array(TRANSACTION), "receipts": array(ref("OtterscanReceipt")), "firstPage": BOOLEAN,
    "lastPage": BOOLEAN,
})  # fmt: skip

_OPERATION: Final[Mapping[str, Any]] = {
    "type": "integer", "enum": [0, 1, 2, 3],
    "description": "0: value moved, 1: SELFDESTRUCT, 2: CREATE, 3: CREATE2",
}  # fmt: skip

RESULTS: Final[Mapping[str, Schema]] = {
    "debug_traceTransaction": _TRACER_RESULT,
    "debug_traceBlockByNumber": _OF_BLOCK,
    "debug_traceBlockByHash": _OF_BLOCK,
    "debug_traceBlock": _OF_BLOCK,
    "debug_traceCall": _TRACER_RESULT,
    "trace_transaction": nullable(array(_ENTRY)),
    "trace_block": array(_ENTRY),
    "trace_get": nullable(_ENTRY),
    "trace_filter": array(_ENTRY),
    "trace_call": _REPLAY,
    "trace_callMany": array(_REPLAY),
    "trace_rawTransaction": _REPLAY,
    "trace_replayTransaction": _REPLAY,
    "trace_replayBlockTransactions": array(ref("ReplayedTransaction")),
    "ots_getApiLevel": COUNT,
    "ots_hasCode": BOOLEAN,
    "ots_getBlockDetails": _DETAILS,
    "ots_getBlockDetailsByHash": _DETAILS,
    "ots_getBlockTransactions": nullable(
        record({"fullblock": ref("OtterscanBlock"), "receipts": array(ref("OtterscanReceipt"))})
    ),
    "ots_getTransactionError": DATA,
    "ots_getInternalOperations": array(
        record({"type": _OPERATION, "from": ADDRESS, "to": ADDRESS, "value": QUANTITY})
    ),
    "ots_traceTransaction": array(
        record(
            {
                "type": TEXT, "depth": COUNT, "from": ADDRESS, "to": nullable(ADDRESS),
                "value": nullable(QUANTITY), "input": DATA,
            },
            {"output": nullable(DATA)},
        )
    ),
    "ots_getTransactionBySenderAndNonce": nullable(HASH),
    "ots_searchTransactionsBefore": _PAGE,
    "ots_searchTransactionsAfter": _PAGE,
    "ots_getContractCreator": nullable(record({"hash": HASH, "creator": ADDRESS})),
    "erigon_getHeaderByNumber": nullable(HEADER),
    "erigon_getHeaderByHash": nullable(HEADER),
}  # fmt: skip

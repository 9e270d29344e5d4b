"""The calls that a reader answers: those that only read rows of accepted blocks or of the pool."""

from typing import Final

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.errors import JsonRpcError

READS: Final = frozenset({
    "web3_clientVersion", "web3_sha3", "net_version", "eth_chainId",
    "eth_blockNumber", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash",
    "eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber", "eth_getBlockTransactionCountByHash",
    "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash",
    "eth_getTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockHashAndIndex",
    "eth_getRawTransactionByBlockNumberAndIndex", "eth_getRawTransactionByBlockHashAndIndex",
    "eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt", "eth_getStorageValues", "eth_getAccountInfo",
    "eth_getProof",
    "eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1",
    "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_baseFee", "eth_blobBaseFee", "eth_suggestPriceOptions", "eth_feeHistory",
    "eth_getLogs",
    "debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts", "debug_getRawTransaction",
    "debug_traceTransaction", "debug_traceBlockByNumber", "debug_traceBlockByHash", "debug_traceCall",
    "trace_transaction", "trace_block", "trace_get", "trace_filter",
    "trace_replayTransaction", "trace_replayBlockTransactions",
})  # fmt: skip
"""Methods by name. The writer answers all other methods and refuses unknown ones."""


def only_reads(dispatcher: Dispatcher, body: Body) -> bool:
    """Return whether a reader answers a body; False if inspecting it would take long."""
    if dispatcher.is_long(body):
        return False
    said = body.says(dispatcher.dialect.read, dispatcher.limits.batch)
    if isinstance(said, JsonRpcError):
        return False
    if isinstance(said, list):
        return bool(said) and all(call.method in READS for call in said)
    return said.method in READS

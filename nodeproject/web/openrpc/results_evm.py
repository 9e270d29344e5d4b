"""The schemas of the results of the C-Chain's methods, without tracing and development methods."""

from collections.abc import Mapping
from typing import Final

from nodeproject.web.openrpc.schemas import (
    ADDRESS,
    ANYTHING,
    BLOCK,
    BOOLEAN,
    COUNT,
    DATA,
    HASH,
    HEADER,
    LOG,
    NULL,
    NUMBER,
    QUANTITY,
    RECEIPT,
    TEXT,
    TRANSACTION,
    WORD,
    Schema,
    array,
    described,
    mapping,
    nullable,
    one_of,
    pattern,
    record,
    ref,
)

_BLOBS: Final = record({"target": COUNT, "max": COUNT, "baseFeeUpdateFraction": COUNT})

_FORK: Final = record({
    "activationTime": COUNT, "blobSchedule": nullable(_BLOBS), "chainId": QUANTITY,
    "forkId": DATA, "precompiles": mapping(ADDRESS), "systemContracts": mapping(ADDRESS),
})  # fmt: skip

_CHAIN_CONFIG: Final = described(
    {
        "type": "object",
        "properties": {
            "chainId": COUNT, "freshPrevRandao": BOOLEAN, "blobSchedule": mapping(_BLOBS),
            "noTransactionGasLimit": BOOLEAN, "noBlockGasLimit": BOOLEAN,
        },
        "required": ["chainId"],
        "additionalProperties": COUNT,
    },
    "forks by their first block or time",
)  # fmt: skip

_SYNCING: Final = one_of(
    {"const": False},
    record({"startingBlock": QUANTITY, "currentBlock": QUANTITY, "highestBlock": QUANTITY}),
)

_TIPS: Final = record({"maxPriorityFeePerGas": QUANTITY, "maxFeePerGas": QUANTITY})

_FEE_HISTORY: Final = record(
    {"oldestBlock": QUANTITY, "gasUsedRatio": nullable(array(NUMBER))},
    {
        "baseFeePerGas": array(QUANTITY),
        "reward": array(array(QUANTITY)),
        "baseFeePerBlobGas": array(QUANTITY),
        "blobGasUsedRatio": array(NUMBER),
    },
)

_PROOF: Final = record({
    "address": ADDRESS, "accountProof": array(DATA), "balance": QUANTITY, "codeHash": HASH,
    "nonce": QUANTITY, "storageHash": HASH,
    "storageProof": array(record({"key": TEXT, "value": QUANTITY, "proof": array(DATA)})),
})  # fmt: skip

_FILTER_ID: Final = pattern("^0x[0-9a-f]+$", "the ID of the filter")
_SUBSCRIPTION_ID: Final = pattern("^0x[0-9a-f]+$", "the ID of the subscription")

_LINES: Final = mapping(mapping(TEXT))
_WAITING: Final = mapping(TRANSACTION)
_COUNT_OR_NULL: Final = nullable(QUANTITY)
_BLOCK_OR_NULL: Final = nullable(BLOCK)
_HEADER_OR_NULL: Final = nullable(HEADER)
_TRANSACTION_OR_NULL: Final = nullable(TRANSACTION)
_UNCLE_OR_NULL: Final = nullable(ref("Uncle"))

_SIMULATED: Final = described(
    array({
        "type": "object",
        "properties": {"number": QUANTITY, "hash": HASH, "calls": array(ref("SimulatedCall"))},
        "required": ["number", "hash", "calls"],
    }),
    "blocks as eth_getBlockByNumber has them, and in each its calls",
)  # fmt: skip

_DUMP: Final = record(
    {
        "root": pattern("^[0-9a-f]{64}$", "the state root, without 0x"),
        "accounts": mapping(
            record(
                {
                    "balance": pattern("^[0-9]+$", "wei, decimal"), "nonce": COUNT, "root": HASH,
                    "codeHash": HASH, "address": ADDRESS, "key": HASH,
                },
                {"code": DATA, "storage": mapping(TEXT)},
            )
        ),
    },
    {"next": described(ANYTHING, "the start of the next page")},
)  # fmt: skip

COMPONENTS: Final[Mapping[str, Schema]] = {
    "Retention": record(
        {"disabled": BOOLEAN, "oldestBlock": QUANTITY},
        {"deleteStrategy": record({"type": {"const": "window"}, "retentionBlocks": QUANTITY})},
    ),
    "SimulatedCall": record(
        {
            "returnData": DATA, "logs": array(LOG), "gasUsed": QUANTITY, "maxUsedGas": QUANTITY,
            "status": QUANTITY,
        },
        {"error": record({"message": TEXT, "code": {"type": "integer"}}, {"data": DATA})},
    ),
}  # fmt: skip

RESULTS: Final[Mapping[str, Schema]] = {
    "web3_clientVersion": TEXT,
    "web3_sha3": HASH,
    "net_version": pattern("^[0-9]+$", "the chain ID, decimal"),
    "net_listening": BOOLEAN,
    "net_peerCount": QUANTITY,
    "rpc_modules": mapping(TEXT),
    "eth_chainId": QUANTITY,
    "eth_chainConfig": _CHAIN_CONFIG,
    "eth_getChainConfig": _CHAIN_CONFIG,
    "eth_feeConfig": record({
        "feeConfig": record(dict.fromkeys(
            (
                "gasLimit", "targetBlockRate", "minBaseFee", "targetGas", "baseFeeChangeDenominator",
                "minBlockGasCost", "maxBlockGasCost", "blockGasCostStep",
            ),
            COUNT,
        )),
        "lastChangedAt": described(COUNT, "the height of the block that set them; 0: the genesis"),
    }),
    "eth_config": record({
        "current": nullable(_FORK), "next": nullable(_FORK), "last": nullable(_FORK),
    }),
    "eth_capabilities": record({
        "head": record({"number": QUANTITY, "hash": HASH}),
        **dict.fromkeys(
            ("state", "tx", "logs", "receipts", "blocks", "stateproofs"), ref("Retention")
        ),
    }),
    "eth_syncing": _SYNCING,
    "eth_accounts": array(ADDRESS),
    "eth_coinbase": ADDRESS,
    "eth_mining": BOOLEAN,
    "eth_hashrate": QUANTITY,
    "eth_getWork": array(HASH),
    "eth_submitWork": BOOLEAN,
    "eth_submitHashrate": BOOLEAN,
    "eth_protocolVersion": QUANTITY,
    "eth_blockNumber": QUANTITY,
    "eth_getBlockByNumber": _BLOCK_OR_NULL,
    "eth_getBlockByHash": _BLOCK_OR_NULL,
    "eth_getHeaderByNumber": _HEADER_OR_NULL,
    "eth_getHeaderByHash": _HEADER_OR_NULL,
    "eth_getBlockReceipts": nullable(array(RECEIPT)),
    "eth_getBlockTransactionCountByNumber": _COUNT_OR_NULL,
    "eth_getBlockTransactionCountByHash": _COUNT_OR_NULL,
    "eth_getUncleCountByBlockNumber": _COUNT_OR_NULL,
    "eth_getUncleCountByBlockHash": _COUNT_OR_NULL,
    "eth_getUncleByBlockNumberAndIndex": _UNCLE_OR_NULL,
    "eth_getUncleByBlockHashAndIndex": _UNCLE_OR_NULL,
    "eth_getTransactionByHash": _TRANSACTION_OR_NULL,
    "eth_getTransactionReceipt": nullable(RECEIPT),
    "eth_getTransactionByBlockNumberAndIndex": _TRANSACTION_OR_NULL,
    "eth_getTransactionByBlockHashAndIndex": _TRANSACTION_OR_NULL,
    "eth_getTransactionBySenderAndNonce": _TRANSACTION_OR_NULL,
    "eth_getRawTransactionByHash": DATA,
    "eth_getRawTransactionByBlockNumberAndIndex": DATA,
    "eth_getRawTransactionByBlockHashAndIndex": DATA,
    "eth_sendRawTransaction": HASH,
    "eth_sendRawTransactionSync": RECEIPT,
    "eth_getBalance": QUANTITY,
    "eth_getTransactionCount": QUANTITY,
    "eth_getCode": DATA,
    "eth_getStorageAt": WORD,
    "eth_getStorageValues": described(mapping(array(WORD)), "values by account"),
    "eth_getAccountInfo": record({"balance": QUANTITY, "nonce": QUANTITY, "code": DATA}),
    "eth_getAccount": record({
        "nonce": QUANTITY, "balance": QUANTITY, "storageRoot": HASH, "codeHash": HASH,
    }),
    "eth_getProof": _PROOF,
    "eth_call": DATA,
    "eth_callDetailed": record({
        "gas": COUNT, "errCode": {"enum": [0, 3]}, "err": TEXT, "returnData": DATA,
    }),
    "eth_getActiveRulesAt": record({
        "ethRules": mapping(one_of(BOOLEAN, COUNT)),
        "avalancheRules": mapping(BOOLEAN),
        "precompiles": mapping(record({"timestamp": COUNT})),
    }),
    "eth_estimateGas": QUANTITY,
    "eth_createAccessList": record(
        {"accessList": ref("AccessList"), "gasUsed": QUANTITY}, {"error": TEXT}
    ),
    "eth_simulateV1": _SIMULATED,
    "eth_fillTransaction": record({"raw": DATA, "tx": ref("UnsignedTransaction")}),
    "eth_gasPrice": QUANTITY,
    "eth_maxPriorityFeePerGas": QUANTITY,
    "eth_baseFee": QUANTITY,
    "eth_blobBaseFee": QUANTITY,
    "eth_suggestPriceOptions": record({"slow": _TIPS, "normal": _TIPS, "fast": _TIPS}),
    "eth_feeHistory": _FEE_HISTORY,
    "eth_getLogs": array(LOG),
    "eth_newFilter": _FILTER_ID,
    "eth_newBlockFilter": _FILTER_ID,
    "eth_newPendingTransactionFilter": _FILTER_ID,
    "eth_getFilterChanges": described(
        one_of(array(LOG), array(HASH), array(TRANSACTION)),
        "logs, block hashes, transaction hashes, or whole transactions",
    ),
    "eth_getFilterLogs": array(LOG),
    "eth_uninstallFilter": BOOLEAN,
    "eth_subscribe": _SUBSCRIPTION_ID,
    "eth_unsubscribe": BOOLEAN,
    "txpool_status": record({"pending": QUANTITY, "queued": QUANTITY}),
    "txpool_content": record({"pending": mapping(_WAITING), "queued": mapping(_WAITING)}),
    "txpool_contentFrom": record({"pending": _WAITING, "queued": _WAITING}),
    "txpool_inspect": record({"pending": _LINES, "queued": _LINES}),
    "debug_getRawBlock": DATA,
    "debug_getRawHeader": DATA,
    "debug_getRawReceipts": nullable(array(DATA)),
    "debug_getRawTransaction": DATA,
    "debug_storageRangeAt": record({
        "storage": nullable(mapping(record({"key": nullable(WORD), "value": WORD}))),
        "nextKey": nullable(HASH),
    }),
    "debug_accountRange": _DUMP,
    "debug_dumpBlock": _DUMP,
    "debug_getModifiedAccountsByNumber": array(ADDRESS),
    "debug_getModifiedAccountsByHash": array(ADDRESS),
    "debug_intermediateRoots": array(HASH),
    "debug_preimage": DATA,
    "debug_getBadBlocks": array(ANYTHING, maxItems=0),
    "eth_getBadBlocks": array(ANYTHING, maxItems=0),
    "debug_codeByHash": DATA,
    "debug_dbGet": DATA,
    "debug_setHead": NULL,
    "warp_getMessage": DATA,
    "warp_getMessageSignature": DATA,
    "warp_getBlockSignature": DATA,
    "warp_getMessageAggregateSignature": DATA,
    "warp_getBlockAggregateSignature": DATA,
}  # fmt: skip

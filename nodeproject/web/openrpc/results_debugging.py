"""The schemas of the results of traces (geth's, Parity's, Otterscan's and Erigon's) and of a development chain's methods."""

from collections.abc import Mapping
from typing import Any, Final

from nodeproject.web.openrpc.schemas import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    DATA,
    HASH,
    HEADER,
    NULL,
    QUANTITY,
    RECEIPT,
    TEXT,
    TRANSACTION,
    TRUE,
    Schema,
    array,
    described,
    mapping,
    nullable,
    pattern,
    record,
    ref,
)

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
    "description": "0: value transfer, 1: SELFDESTRUCT, 2: CREATE, 3: CREATE2",
}  # fmt: skip

TRACES: Final[Mapping[str, Schema]] = {
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


_SIGNATURE: Final = pattern("^0x[0-9a-f]{130}$", "r, s and v: 65 bytes")
_SECONDS: Final = {"type": "integer", "description": "seconds"}

_NULL_FOR: Final = """
    anvil_setBalance evm_setAccountBalance tenderly_setBalance anvil_addBalance tenderly_addBalance
    anvil_setNonce evm_setAccountNonce anvil_setCode evm_setAccountCode anvil_dealERC20
    anvil_setERC20Balance tenderly_setErc20Balance anvil_setERC20Allowance anvil_mine
    evm_setAutomine anvil_setAutomine evm_setIntervalMining anvil_setIntervalMining
    evm_setNextBlockTimestamp anvil_setNextBlockTimestamp anvil_setBlockTimestampInterval
    anvil_setNextBlockBaseFeePerGas anvil_setMinGasPrice anvil_setCoinbase
    anvil_setNextBlockPrevRandao anvil_setChainId anvil_reset anvil_setRpcUrl anvil_rollback
    anvil_reorg anvil_dropAllTransactions debug_clearTxpool anvil_removePoolTransactions
    anvil_setLoggingEnabled anvil_impersonateAccount anvil_stopImpersonatingAccount
    anvil_autoImpersonateAccount anvil_impersonateSignature
"""
"""Methods that return null, because they have nothing to report."""

_TRUE_FOR: Final = """
    hardhat_setBalance hardhat_addBalance hardhat_setNonce hardhat_setCode anvil_setStorageAt
    hardhat_setStorageAt evm_setAccountStorageAt hardhat_dealERC20 hardhat_mine
    hardhat_setNextBlockBaseFeePerGas hardhat_setMinGasPrice evm_setBlockGasLimit
    anvil_setBlockGasLimit hardhat_setCoinbase hardhat_setPrevRandao hardhat_reset anvil_loadState
    hardhat_loadState hardhat_dropAllTransactions hardhat_setLoggingEnabled
    hardhat_impersonateAccount hardhat_autoImpersonateAccount evm_unlockUnknownAccount
    personal_unlockAccount
"""
"""Methods that return true, because the clients of Hardhat and Ganache check it."""

_BOOLEAN_FOR: Final = """
    anvil_getAutomine hardhat_getAutomine anvil_removeBlockTimestampInterval evm_revert
    anvil_revert hardhat_dropTransaction hardhat_stopImpersonatingAccount evm_lockUnknownAccount
    evm_addAccount evm_removeAccount
"""

_MINED: Final = described(
    array({
        "type": "object",
        "properties": {"number": QUANTITY, "hash": HASH, "transactions": array({"type": "object"})},
        "required": ["number", "hash", "transactions"],
    }),
    "blocks as eth_getBlockByNumber has them, with whole transactions that have `output` and, "
    "where they reverted, `revertReason`",
)  # fmt: skip

_NODE_INFO: Final = record({
    "currentBlockNumber": QUANTITY, "currentBlockTimestamp": COUNT, "currentBlockHash": HASH,
    "hardFork": TEXT, "transactionOrder": TEXT,
    "environment": record({
        "baseFee": QUANTITY, "chainId": COUNT, "gasLimit": QUANTITY, "gasPrice": QUANTITY,
    }),
    "forkConfig": record({
        "forkUrl": nullable(TEXT), "forkBlockNumber": nullable(COUNT),
        "forkRetryBackoff": nullable(COUNT),
    }),
})  # fmt: skip

_FORKED_NETWORK: Final = record({
    "chainId": COUNT, "forkBlockNumber": COUNT, "forkBlockHash": HASH,
})  # fmt: skip

_METADATA: Final[Mapping[str, Any]] = {
    "clientVersion": TEXT, "clientSemver": TEXT, "chainId": COUNT, "instanceId": HASH,
    "latestBlockNumber": COUNT, "latestBlockHash": HASH,
}  # fmt: skip

DEVELOPMENT: Final[Mapping[str, Schema]] = {
    **dict.fromkeys(_NULL_FOR.split(), NULL),
    **dict.fromkeys(_TRUE_FOR.split(), TRUE),
    **dict.fromkeys(_BOOLEAN_FOR.split(), BOOLEAN),
    "evm_mine": {"const": "0x0"},
    "evm_mine_detailed": _MINED,
    "anvil_mine_detailed": _MINED,
    "anvil_getIntervalMining": nullable({"type": "number", "minimum": 0}),
    "evm_increaseTime": _SECONDS,
    "anvil_increaseTime": _SECONDS,
    "evm_setTime": _SECONDS,
    "anvil_setTime": _SECONDS,
    "anvil_getGenesisTime": COUNT,
    "evm_snapshot": QUANTITY,
    "anvil_snapshot": QUANTITY,
    "anvil_dumpState": DATA,
    "hardhat_dumpState": DATA,
    "anvil_dropTransaction": nullable(HASH),
    "eth_pendingTransactions": array(TRANSACTION),
    "anvil_getBlobByHash": nullable(DATA),
    "anvil_getBlobsByTransactionHash": nullable(array(DATA)),
    "anvil_nodeInfo": _NODE_INFO,
    "anvil_metadata": record({
        **_METADATA, "forkedNetwork": nullable(_FORKED_NETWORK),
        "snapshots": described(mapping(array({})), "height and block hash, by snapshot number"),
    }),
    "hardhat_metadata": record(_METADATA, {"forkedNetwork": _FORKED_NETWORK}),
    "eth_requestAccounts": array(ADDRESS),
    "personal_newAccount": ADDRESS,
    "eth_sign": _SIGNATURE,
    "personal_sign": _SIGNATURE,
    "eth_signTypedData": _SIGNATURE,
    "eth_signTypedData_v3": _SIGNATURE,
    "eth_signTypedData_v4": _SIGNATURE,
    "eth_signTransaction": DATA,
    "eth_sendTransaction": HASH,
    "eth_resend": HASH,
    "eth_sendTransactionSync": RECEIPT,
    "eth_sendUnsignedTransaction": HASH,
}  # fmt: skip

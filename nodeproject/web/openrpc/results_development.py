"""The schemas of the results of methods that only a development chain has."""

from collections.abc import Mapping
from typing import Any, Final

from nodeproject.web.openrpc.schemas import (
    BOOLEAN,
    COUNT,
    NULL,
    TEXT,
    TRUE,
    Schema,
    array,
    described,
    mapping,
    nullable,
    pattern,
    record,
)
from nodeproject.web.openrpc.schemas_evm import ADDRESS, DATA, HASH, QUANTITY, RECEIPT, TRANSACTION

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

RESULTS: Final[Mapping[str, Schema]] = {
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
    "anvil_nodeInfo": _NODE_INFO,
    "anvil_metadata": record({
        **_METADATA, "forkedNetwork": nullable(_FORKED_NETWORK),
        "snapshots": described(mapping(array({})), "height and block hash, by number"),
    }),
    "hardhat_metadata": record(_METADATA, {"forkedNetwork": _FORKED_NETWORK}),
    "eth_requestAccounts": array(ADDRESS),
    "personal_newAccount": ADDRESS,
    "eth_sign": _SIGNATURE,
    "personal_sign": _SIGNATURE,
    "eth_signTypedData_v4": _SIGNATURE,
    "eth_signTransaction": DATA,
    "eth_sendTransaction": HASH,
    "eth_resend": HASH,
    "eth_sendTransactionSync": RECEIPT,
    "eth_sendUnsignedTransaction": HASH,
}  # fmt: skip

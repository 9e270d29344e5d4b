"""The RPC methods of the C-Chain, registered by group.

Parameters are read in `params…`, results are written in `wire` and `rendered`, and error codes are in `errors`. `hot`
methods may be tried on the event loop, where they answer from memory or raise `WouldBlock`. A method that is not
registered does not exist (-32601): there are no administrative methods. Development methods, which include signing with
the node's keys (`accounts`), exist in the embedded profile only, because one process holds their state.
"""

from typing import Final

from cchain_app.api import warp
from cchain_app.api.debug import methods as state_methods
from cchain_app.api.devnet import accounts
from cchain_app.api.devnet import methods as development_methods
from cchain_app.api.errors import to_error_object
from cchain_app.api.eth import blocks as eth_blocks
from cchain_app.api.eth import (
    coreth,
    execution,
    execution_gas,
    forked,
    node,
    subnet_evm,
    subscriptions,
)
from cchain_app.api.eth import fees as eth_fees
from cchain_app.api.eth import logs as eth_logs
from cchain_app.api.eth import state as eth_state
from cchain_app.api.eth import transactions as eth_transactions
from cchain_app.api.params import accounts as params_accounts
from cchain_app.api.params import call as params_call
from cchain_app.api.params import logs as params_logs
from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from cchain_app.api.trace import methods as tracing_methods
from cchain_app.chain import EvmChain
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import Gathers, MethodRegistry
from primitives.networks import LOCAL

__all__ = ["EvmRpc", "registry"]

NEEDS_EMBEDDED: Final = "development methods need the embedded profile (NODE_PROFILE=embedded)"
"""Why a local chain of the production profile has no development methods: the reason in the error for a call."""

_LATEST: Final = params.Tag.LATEST

_ADDRESS = Param("address", params.address)
_BLOCK = Param("block", params.block_param, _LATEST)
_NUMBER = Param("block", params.block_number)
_HASH = Param("hash", params.hash32)
_INDEX = Param("index", params.uint64)
_FULL = Param("full", params.boolean)
_FILTER = Param("filter", params_logs.log_criteria)
_FILTER_ID = Param("filter", params.filter_id)
_CALL = Param("transaction", params_call.call)
_ACCOUNTS = Param("stateOverrides", params_call.state_overrides, None)
_SURROUNDINGS = Param("blockOverrides", params_call.block_overrides, None)
_RAW = Param("data", params.data)


def registry(rpc: EvmRpc) -> MethodRegistry:
    """Return the RPC methods of a chain."""
    methods = MethodRegistry(to_error_object)
    for group in (_node, _blocks, _transactions, _state, _execution, _fees, _logs, _pool, _raw):
        group(methods, rpc)
    coreth.add(methods, rpc)
    tracing_methods.add(methods, rpc)
    state_methods.add(methods, rpc)
    warp.add(methods, rpc)
    if rpc.chain.rule_set is not None:
        subnet_evm.add(methods, rpc)
    if rpc.chain.has_development_methods:
        _add_development(methods, rpc)
        forked.add(methods, rpc)
    elif reason := _reason_without_development(rpc.chain):
        elsewhere = MethodRegistry()
        _add_development(elsewhere, rpc)
        methods.add_unavailable(elsewhere.methods, reason)
    return methods


def _reason_without_development(chain: EvmChain) -> str:
    """Return why a local chain has no development methods; an empty text on other networks, which never have them."""
    node = chain.node
    if node.network_id != LOCAL:
        return ""
    if not chain.settings.development:
        return "development methods are switched off (NODE_DEVELOPMENT)"
    if node.votes:
        return "development methods do not exist where the validators vote (NODE_CONSENSUS)"
    if node.bootstrap:
        return "development methods do not exist on a node that follows others (NODE_BOOTSTRAP)"
    return NEEDS_EMBEDDED


def _add_development(methods: MethodRegistry, rpc: EvmRpc) -> None:
    for group in (development_methods, accounts):
        group.add(methods, rpc)


def _node(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "web3_clientVersion",
        rpc.bind_kept("web3_clientVersion", node.client_version),
        hot=True,
        computes=True,
    )
    methods.add("web3_sha3", node.sha3, params=[_RAW], hot=True, computes=True)
    methods.add(
        "net_version", rpc.bind_kept("net_version", node.network_version), hot=True, computes=True
    )
    methods.add("net_listening", node.listening, hot=True, computes=True)
    methods.add("net_peerCount", node.peer_count, hot=True, computes=True)
    methods.add("eth_chainId", rpc.bind_kept("eth_chainId", node.chain_id), hot=True, computes=True)
    methods.add("eth_chainConfig", rpc.bind(node.chain_config), hot=True, computes=True)
    methods.add("eth_getChainConfig", rpc.bind(node.chain_config), hot=True, computes=True)
    methods.add("eth_capabilities", rpc.bind(node.capabilities))
    methods.add("eth_config", rpc.bind(node.fork_config), hot=True, computes=True)
    methods.add("eth_syncing", rpc.bind(node.syncing), hot=True, computes=True)
    if not rpc.chain.has_development_methods:
        methods.add("eth_accounts", node.accounts, hot=True, computes=True)
    methods.add("eth_coinbase", rpc.bind(node.coinbase), hot=True, computes=True)
    methods.add("eth_mining", node.mining, hot=True, computes=True)
    methods.add("eth_hashrate", node.hashrate, hot=True, computes=True)
    methods.add("eth_getWork", node.get_work, hot=True, computes=True)
    methods.add(
        "eth_submitWork",
        node.submit_work,
        params=[
            Param("nonce", params.data),
            Param("powHash", params.hash32),
            Param("mixDigest", params.hash32),
        ],
        hot=True,
        computes=True,
    )
    methods.add(
        "eth_submitHashrate",
        node.submit_hashrate,
        params=[Param("hashrate", params.anything), Param("id", params.hash32)],
        hot=True,
        computes=True,
    )
    methods.add("eth_protocolVersion", node.protocol_version, hot=True, computes=True)

    def modules() -> dict[str, str]:
        """rpc_modules: the prefixes of the available methods, each with its only version."""
        named = (method.name.partition("_") for method in methods)
        return dict.fromkeys(sorted({module for module, parted, _ in named if parted}), "1.0")

    methods.add("rpc_modules", modules, hot=True, computes=True)


def _blocks(methods: MethodRegistry, rpc: EvmRpc) -> None:
    by_number = [_NUMBER]
    by_hash = [_HASH]
    methods.add(
        "eth_blockNumber", rpc.bind_kept("eth_blockNumber", eth_blocks.block_number), hot=True
    )
    methods.add(
        "eth_getBlockByNumber",
        rpc.bind(eth_blocks.get_block_by_number),
        params=[_NUMBER, _FULL],
        hot=True,
    )
    methods.add(
        "eth_getBlockByHash",
        rpc.bind(eth_blocks.get_block_by_hash),
        params=[_HASH, _FULL],
        hot=True,
    )
    methods.add(
        "eth_getHeaderByNumber",
        rpc.bind(eth_blocks.get_header_by_number),
        params=by_number,
        hot=True,
    )
    methods.add(
        "eth_getHeaderByHash", rpc.bind(eth_blocks.get_header_by_hash), params=by_hash, hot=True
    )
    methods.add(
        "eth_getBlockReceipts",
        rpc.bind(eth_blocks.get_block_receipts),
        params=[Param("block", params.block_param)],
        hot=True,
    )
    methods.add(
        "eth_getBlockTransactionCountByNumber",
        rpc.bind(eth_blocks.get_block_transaction_count_by_number),
        params=by_number,
        hot=True,
    )
    methods.add(
        "eth_getBlockTransactionCountByHash",
        rpc.bind(eth_blocks.get_block_transaction_count_by_hash),
        params=by_hash,
        hot=True,
    )
    methods.add(
        "eth_getUncleCountByBlockNumber",
        rpc.bind(eth_blocks.get_uncle_count_by_number),
        params=by_number,
        hot=True,
    )
    methods.add(
        "eth_getUncleCountByBlockHash",
        rpc.bind(eth_blocks.get_uncle_count_by_hash),
        params=by_hash,
        hot=True,
    )
    methods.add(
        "eth_getUncleByBlockNumberAndIndex",
        rpc.bind(eth_blocks.get_uncle_by_number),
        params=[_NUMBER, _INDEX],
        hot=True,
    )
    methods.add(
        "eth_getUncleByBlockHashAndIndex",
        rpc.bind(eth_blocks.get_uncle_by_hash),
        params=[_HASH, _INDEX],
        hot=True,
    )


def _transactions(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "eth_getTransactionByHash",
        rpc.bind(eth_transactions.get_transaction_by_hash),
        params=[_HASH],
        hot=True,
    )
    methods.add(
        "eth_getTransactionReceipt",
        rpc.bind(eth_transactions.get_transaction_receipt),
        params=[_HASH],
        hot=True,
    )
    methods.add(
        "eth_getTransactionByBlockNumberAndIndex",
        rpc.bind(eth_transactions.get_transaction_by_number_and_index),
        params=[_NUMBER, _INDEX],
        hot=True,
    )
    methods.add(
        "eth_getTransactionByBlockHashAndIndex",
        rpc.bind(eth_transactions.get_transaction_by_hash_and_index),
        params=[_HASH, _INDEX],
        hot=True,
    )
    methods.add(
        "eth_getRawTransactionByHash",
        rpc.bind(eth_transactions.get_raw_transaction),
        params=[_HASH],
        hot=True,
    )
    methods.add(
        "eth_getRawTransactionByBlockNumberAndIndex",
        rpc.bind(eth_transactions.get_raw_transaction_by_number_and_index),
        params=[_NUMBER, _INDEX],
        hot=True,
    )
    methods.add(
        "eth_getRawTransactionByBlockHashAndIndex",
        rpc.bind(eth_transactions.get_raw_transaction_by_hash_and_index),
        params=[_HASH, _INDEX],
        hot=True,
    )
    methods.add(
        "eth_sendRawTransaction",
        params=[_RAW],
        vectorized=rpc.bind(eth_transactions.send_raw_transactions),
    )
    methods.add(
        "eth_sendRawTransactionSync",
        rpc.bind(eth_transactions.send_raw_transaction_sync),
        params=[_RAW, Param("timeout", params.milliseconds, None)],
    )


def _asks_rows_for_nonce(rpc: EvmRpc) -> Gathers:
    """Return a predicate for calls whose pending nonce is read from rows, because other processes add transactions."""
    if rpc.chain.node.profile == "embedded":
        return lambda _params: False
    return lambda params: b'"pending"' in params


def _state(methods: MethodRegistry, rpc: EvmRpc) -> None:
    at = [_ADDRESS, _BLOCK]
    methods.add(
        "eth_getBalance",
        rpc.bind(eth_state.get_balance),
        params=at,
        hot=True,
        vectorized=rpc.bind(eth_state.get_balances),
    )
    methods.add(
        "eth_getTransactionCount",
        rpc.bind(eth_state.get_transaction_count),
        params=at,
        hot=True,
        vectorized=rpc.bind(eth_state.get_transaction_counts),
        gathers=_asks_rows_for_nonce(rpc),
    )
    methods.add("eth_getCode", rpc.bind(eth_state.get_code), params=at, hot=True)
    methods.add(
        "eth_getStorageAt",
        rpc.bind(eth_state.get_storage_at),
        params=[_ADDRESS, Param("key", params.storage_key), _BLOCK],
        hot=True,
    )
    methods.add(
        "eth_getStorageValues",
        rpc.bind(eth_state.get_storage_values),
        params=[Param("requests", params_accounts.storage_requests), _BLOCK],
    )
    methods.add("eth_getAccountInfo", rpc.bind(eth_state.get_account_info), params=at, hot=True)
    methods.add("eth_getAccount", rpc.bind(eth_state.get_account), params=at)
    methods.add(
        "eth_getProof",
        rpc.bind(eth_state.get_proof),
        params=[_ADDRESS, Param("keys", params.list_of(params.storage_key)), _BLOCK],
    )


def _execution(methods: MethodRegistry, rpc: EvmRpc) -> None:
    everything = [_CALL, _BLOCK, _ACCOUNTS, _SURROUNDINGS]
    methods.add("eth_call", rpc.bind(execution.call), params=everything, hot=True)
    methods.add(
        "eth_estimateGas",
        rpc.bind(execution_gas.estimate_gas),
        params=[_CALL, Param("block", params.block_param, None), _ACCOUNTS, _SURROUNDINGS],
        hot=True,
    )
    methods.add(
        "eth_createAccessList",
        rpc.bind(execution_gas.create_access_list),
        params=[_CALL, _BLOCK, _ACCOUNTS],
        hot=True,
    )


def _fees(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "eth_gasPrice", rpc.bind_kept("eth_gasPrice", eth_fees.gas_price, is_fee=True), hot=True
    )
    methods.add(
        "eth_maxPriorityFeePerGas",
        rpc.bind_kept("eth_maxPriorityFeePerGas", eth_fees.max_priority_fee_per_gas),
        hot=True,
    )
    methods.add(
        "eth_baseFee", rpc.bind_kept("eth_baseFee", eth_fees.base_fee, is_fee=True), hot=True
    )
    methods.add(
        "eth_blobBaseFee", rpc.bind_kept("eth_blobBaseFee", eth_fees.blob_base_fee), hot=True
    )
    methods.add("eth_suggestPriceOptions", rpc.bind(eth_fees.suggest_price_options), hot=True)
    methods.add(
        "eth_feeHistory",
        rpc.bind(eth_fees.fee_history),
        params=[
            Param("count", params.count),
            Param("newest", params.block_number),
            Param("percentiles", params.percentiles, None),
        ],
        hot=True,
    )


def _logs(methods: MethodRegistry, rpc: EvmRpc) -> None:
    by_id = [_FILTER_ID]
    methods.add("eth_getLogs", rpc.bind(eth_logs.get_logs), params=[_FILTER], hot=True)
    methods.add("eth_newFilter", rpc.bind(eth_logs.new_filter), params=[_FILTER], client=True)
    methods.add("eth_newBlockFilter", rpc.bind(eth_logs.new_block_filter), client=True)
    methods.add(
        "eth_newPendingTransactionFilter",
        rpc.bind(eth_logs.new_pending_transaction_filter),
        params=[Param("full", params.boolean, default=False)],
        client=True,
    )
    methods.add("eth_getFilterChanges", rpc.bind(eth_logs.get_filter_changes), params=by_id)
    methods.add("eth_getFilterLogs", rpc.bind(eth_logs.get_filter_logs), params=by_id)
    methods.add("eth_uninstallFilter", rpc.bind(eth_logs.uninstall_filter), params=by_id)
    methods.add(
        "eth_subscribe",
        rpc.bind(subscriptions.subscribe),
        params=[Param("kind", params.anything, None), Param("argument", params.anything, None)],
        connection=True,
    )
    methods.add(
        "eth_unsubscribe",
        subscriptions.unsubscribe,
        params=[Param("id", params.subscription_id)],
        connection=True,
    )


def _pool(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add("txpool_status", rpc.bind(node.pool_status))
    methods.add("txpool_content", rpc.bind(node.pool_content))
    methods.add("txpool_contentFrom", rpc.bind(node.pool_content_from), params=[_ADDRESS])
    methods.add("txpool_inspect", rpc.bind(node.inspect_pool))


def _raw(methods: MethodRegistry, rpc: EvmRpc) -> None:
    block = [Param("block", params.block_param)]
    methods.add("debug_getRawBlock", rpc.bind(eth_blocks.get_raw_block), params=block)
    methods.add("debug_getRawHeader", rpc.bind(eth_blocks.get_raw_header), params=block)
    methods.add("debug_getRawReceipts", rpc.bind(eth_blocks.get_raw_receipts), params=block)
    methods.add(
        "debug_getRawTransaction", rpc.bind(eth_transactions.get_raw_transaction), params=[_HASH]
    )

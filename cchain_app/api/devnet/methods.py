"""The methods that only a development chain registers (devnet.md 16).

They exist only where `EvmChain.has_development_methods` is true. None of them is hot: all of them write, or are
called rarely.

Unspecified: methods whose work grows with the chain or the request have no time limit, as in Anvil and Hardhat. The
server cannot stop them, so an answer "request timed out" would be wrong.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

from cchain_app.api.devnet import chain as development_chain
from cchain_app.api.devnet import mining as development_mining
from cchain_app.api.devnet import state as development_state
from cchain_app.api.devnet.callers import keys_guard, upstream_guard
from cchain_app.api.eth import blobs, forked
from cchain_app.api.params import development as read
from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from jsonrpc.dispatch.caller import Guard
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry

_ADDRESS: Final = Param("address", params.address)
_ADDRESSES: Final = Param("addresses", read.addresses)
_WEI: Final = Param("amount", read.amount)
_HASH: Final = Param("hash", params.hash32)
_SECONDS: Final = Param("seconds", read.seconds)
_MINING: Final = Param("mining", read.mining, read.Mining())
_TOKEN: Final = Param("token", params.address)

ANVIL: Final = "anvil_"
HARDHAT: Final = "hardhat_"
EVM: Final = "evm_"


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Add the methods to those of a chain."""
    for group in (
        _state,
        _tokens,
        _mining,
        _time,
        _environment,
        _going_back,
        _pool,
        _about,
        _logging,
    ):
        group(_MethodTable(methods, rpc))


class _MethodTable:
    """Adds one method under several names."""

    def __init__(self, methods: MethodRegistry, rpc: EvmRpc) -> None:
        self._methods = methods
        self._rpc = rpc

    def __call__(
        self,
        names: str,
        handler: Callable[..., Any],
        takes: Sequence[Param] = (),
        guard: Callable[[EvmRpc], Guard] | None = None,
        *,
        untimed: bool = False,
    ) -> None:
        """Add a method under each of several names, separated by blanks; `guard` makes its guard."""
        caller_guard = None if guard is None else guard(self._rpc)
        for name in names.split():
            nothing = True if name.startswith(HARDHAT) else None
            answer = _named(name, self._rpc.bind(handler), nothing)
            self._methods.add(name, answer, params=takes, guard=caller_guard, untimed=untimed)


def _named(name: str, handler: Callable[..., Any], nothing: object) -> Callable[..., Any]:
    """Return a handler under one of its names.

    Args:
        name: The name of the method, which its documentation shows too.
        handler: The function that answers the call.
        nothing: The result if the handler returns None; Hardhat's own code checks it.
    """

    @wraps(handler)
    def answer(*arguments: Any) -> Any:
        result = handler(*arguments)
        return nothing if result is None else result

    answer.__doc__ = f"{name}: {(handler.__doc__ or '').partition(': ')[2]}"
    return answer


def _state(add_as: _MethodTable) -> None:
    amounts = [_ADDRESS, _WEI]
    several = [_ADDRESSES, _WEI]
    nonce = [_ADDRESS, Param("nonce", read.amount64)]
    code = [_ADDRESS, Param("code", read.code)]
    slot = [_ADDRESS, Param("slot", read.slot), Param("value", read.word)]
    state = development_state
    add_as("anvil_setBalance hardhat_setBalance evm_setAccountBalance", state.set_balance, amounts)
    add_as("tenderly_setBalance", state.set_balances, several)
    add_as("anvil_addBalance hardhat_addBalance", state.add_balance, amounts)
    add_as("tenderly_addBalance", state.add_balances, several)
    add_as("anvil_setNonce hardhat_setNonce evm_setAccountNonce", state.set_nonce, nonce)
    add_as("anvil_setCode hardhat_setCode evm_setAccountCode", state.set_code, code)
    add_as(
        "anvil_setStorageAt hardhat_setStorageAt evm_setAccountStorageAt",
        state.set_storage_at,
        slot,
    )


def _tokens(add_as: _MethodTable) -> None:
    state = development_state
    holder, owner, spender = (
        Param(name, params.address) for name in ("holder", "owner", "spender")
    )
    add_as(
        "anvil_dealERC20 anvil_setERC20Balance hardhat_dealERC20",
        state.set_erc20_balance,
        [holder, _TOKEN, _WEI],
    )
    add_as("tenderly_setErc20Balance", state.set_erc20_balance_of, [_TOKEN, holder, _WEI])
    add_as("anvil_setERC20Allowance", state.set_erc20_allowance, [owner, spender, _TOKEN, _WEI])


def _mining(add_as: _MethodTable) -> None:
    mining = development_mining
    on = [Param("on", read.flag)]
    add_as("evm_mine", mining.evm_mine, [_MINING], untimed=True)
    detailed = mining.evm_mine_detailed
    add_as("evm_mine_detailed anvil_mine_detailed", detailed, [_MINING], untimed=True)
    add_as(
        "anvil_mine hardhat_mine",
        mining.mine,
        [Param("blocks", read.amount64, 1), Param("interval", read.seconds, 0)],
        untimed=True,
    )
    add_as("evm_setAutomine anvil_setAutomine", mining.set_automine, on)
    add_as("anvil_getAutomine hardhat_getAutomine", mining.get_automine)
    add_as(
        "evm_setIntervalMining anvil_setIntervalMining",
        mining.set_interval_mining,
        [Param("interval", read.interval)],
    )
    add_as("anvil_getIntervalMining", mining.get_interval_mining)


def _time(add_as: _MethodTable) -> None:
    mining = development_mining
    add_as("evm_increaseTime anvil_increaseTime", mining.increase_time, [_SECONDS])
    add_as("evm_setTime anvil_setTime", mining.set_time, [Param("time", read.moment)])
    add_as(
        "evm_setNextBlockTimestamp anvil_setNextBlockTimestamp",
        mining.set_next_block_timestamp,
        [Param("time", read.timestamp)],
    )
    add_as("anvil_setBlockTimestampInterval", mining.set_block_timestamp_interval, [_SECONDS])
    add_as("anvil_removeBlockTimestampInterval", mining.remove_block_timestamp_interval)
    add_as("anvil_getGenesisTime", mining.genesis_time)


def _environment(add_as: _MethodTable) -> None:
    mining = development_mining
    add_as(
        "anvil_setNextBlockBaseFeePerGas hardhat_setNextBlockBaseFeePerGas",
        mining.set_next_base_fee,
        [Param("amount", read.amount64)],
    )
    add_as("anvil_setMinGasPrice hardhat_setMinGasPrice", mining.set_min_gas_price, [_WEI])
    add_as(
        "evm_setBlockGasLimit anvil_setBlockGasLimit",
        mining.set_block_gas_limit,
        [Param("gas", read.gas)],
    )
    add_as("anvil_setCoinbase hardhat_setCoinbase", mining.set_coinbase, [_ADDRESS])
    add_as("hardhat_setPrevRandao anvil_setNextBlockPrevRandao", mining.set_prev_randao, [_HASH])
    add_as("anvil_setChainId", mining.set_chain_id, [Param("chainId", read.chain_id)], keys_guard)


def _going_back(add_as: _MethodTable) -> None:
    chain = development_chain
    add_as("evm_snapshot anvil_snapshot", chain.evm_snapshot)
    add_as(
        "evm_revert anvil_revert",
        chain.evm_revert,
        [Param("id", read.amount64), Param("options", read.options("keep"), {})],
        untimed=True,
    )
    options = [Param("options", read.options("forking"), {})]
    add_as("anvil_reset hardhat_reset", chain.reset, options, upstream_guard, untimed=True)
    add_as("anvil_setRpcUrl", chain.set_rpc_url, [Param("url", forked.url)], upstream_guard)
    add_as("anvil_rollback", chain.rollback, [Param("depth", read.amount64, 1)], untimed=True)
    add_as(
        "anvil_reorg",
        chain.reorg,
        [Param("depth", read.amount64), Param("transactions", chain.pairs, [])],
        keys_guard,  # transactions of the node's accounts are signed
        untimed=True,
    )
    add_as(
        "anvil_dumpState hardhat_dumpState",
        chain.dump_state,
        [Param("historical", read.flag, default=False)],
        untimed=True,
    )
    dump = [Param("dump", params.data)]
    add_as("anvil_loadState hardhat_loadState", chain.load_state, dump, untimed=True)


def _pool(add_as: _MethodTable) -> None:
    chain = development_chain
    add_as("anvil_dropTransaction", chain.drop_transaction, [_HASH])
    add_as("hardhat_dropTransaction", chain.hardhat_drop_transaction, [_HASH])
    add_as(
        "anvil_dropAllTransactions hardhat_dropAllTransactions debug_clearTxpool",
        chain.drop_all_transactions,
    )
    add_as("anvil_removePoolTransactions", chain.remove_pool_transactions, [_ADDRESS])
    add_as("eth_pendingTransactions", chain.pending_transactions)
    add_as("anvil_getBlobByHash", blobs.get_blob_by_hash, [_HASH])
    add_as("anvil_getBlobsByTransactionHash", blobs.get_blobs_by_transaction_hash, [_HASH])


def _about(add_as: _MethodTable) -> None:
    chain = development_chain
    add_as("anvil_nodeInfo", chain.node_info)
    add_as("anvil_metadata", chain.metadata)
    add_as("hardhat_metadata", chain.hardhat_metadata)


def _logging(add_as: _MethodTable) -> None:
    on = [Param("enabled", params.boolean)]
    add_as("anvil_setLoggingEnabled", set_logging, on)
    add_as("hardhat_setLoggingEnabled", set_logging_as_hardhat, on)


def set_logging(rpc: EvmRpc, enabled: bool) -> None:  # noqa: FBT001  # as the wire has it
    """anvil_setLoggingEnabled: set whether transactions and calls are logged.

    Unspecified: a log that NODE_LOG_TRANSACTIONS disables stays disabled.
    """
    rpc.transaction_log.is_enabled = enabled


def set_logging_as_hardhat(rpc: EvmRpc, enabled: bool) -> bool:  # noqa: FBT001  # as the wire has it
    """hardhat_setLoggingEnabled: set whether transactions and calls are logged; returns true."""
    set_logging(rpc, enabled)
    return True

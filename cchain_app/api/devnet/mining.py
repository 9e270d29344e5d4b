"""Mining on demand, and overrides of block times and other block fields (devnet.md 2 and 7)."""

from dataclasses import replace
from typing import Any

from cchain_app.api import wire
from cchain_app.api.errors import server_error
from cchain_app.api.params.development import Mining
from cchain_app.api.rpc import EvmRpc
from cchain_app.evm.failures import reason_of
from cchain_app.evm.tracing import Recording
from cchain_app.selectors import blocks, development, tracing
from cchain_app.services import cheats, manual_mining
from jsonrpc.errors import invalid_params
from primitives.evm import Address, Hash
from primitives.hexadecimal import encode_data


def evm_mine(rpc: EvmRpc, mining: Mining) -> str:
    """evm_mine: make one or more blocks with the pool's transactions; returns "0x0".

    Raises:
        InvalidDevelopmentRequest: The time is before the head's.
        DevelopmentError: Other nodes follow the chain.
        JsonRpcError: -32602, there are too many blocks; -32000, the chain makes no blocks.
    """
    _mine(rpc, mining.blocks, 0, mining.time)
    return "0x0"


def evm_mine_detailed(rpc: EvmRpc, mining: Mining) -> list[Any]:
    """evm_mine_detailed: make one or more blocks; returns them, with each transaction's output and revert reason.

    Raises as `evm_mine`.
    """
    return [_detailed(rpc, number) for number in _mine(rpc, mining.blocks, 0, mining.time)]


def mine(rpc: EvmRpc, count: int, interval: int) -> None:
    """anvil_mine, hardhat_mine: make blocks with this many seconds between them, and before the first. Raises as `evm_mine`."""
    _mine(rpc, count, interval, None)


def _mine(rpc: EvmRpc, count: int, interval: int, time: int | None) -> list[int]:
    if count > manual_mining.MAX_BLOCKS:
        raise invalid_params(
            f"{count} blocks are too many for one call, want at most {manual_mining.MAX_BLOCKS}"
        )
    mined = manual_mining.mine(rpc.runtime, count, interval=interval, time=time)
    if len(mined) < count:
        raise server_error("this node makes no blocks on this chain now")
    return mined


def _detailed(rpc: EvmRpc, number: int) -> dict[str, Any]:
    block = blocks.by_number(rpc.chain, number)
    assert block is not None
    traces = tracing.trace_block(
        rpc.chain, block, Recording(frames=True), time_limit=rpc.chain.settings.trace.timeout
    )
    transactions = []
    for index, traced in enumerate(traces):
        frame = traced.frames[0]
        mined = wire.mined_transaction(block, index) | {"output": encode_data(frame.output)}
        if frame.error is not None and (reason := reason_of(frame.output)) is not None:
            mined["revertReason"] = reason
        transactions.append(mined)
    return wire.block(block, transactions)


def set_automine(rpc: EvmRpc, on: bool) -> None:  # noqa: FBT001  # as it comes over RPC
    """evm_setAutomine: make a block whenever a transaction arrives, or only on request.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    manual_mining.set_automine(rpc.chain, on=on)


def get_automine(rpc: EvmRpc) -> bool:
    """anvil_getAutomine: whether a block is made whenever a transaction arrives."""
    return development.mines_on_arrival(rpc.chain)


def set_interval_mining(rpc: EvmRpc, seconds: float) -> None:
    """evm_setIntervalMining: make a block, even an empty one, every so many seconds; 0 ends that.

    Unspecified: a number above 999 is in milliseconds, as in scripts for Hardhat. As in Anvil, an arriving transaction
    no longer triggers a block then, and 0 does not change that back. Raises as `set_automine`.
    """
    manual_mining.set_interval(rpc.chain, seconds)


def get_interval_mining(rpc: EvmRpc) -> int | float | None:
    """anvil_getIntervalMining: the seconds between blocks of interval mining; null in another mining mode."""
    if not development.mines_by_clock(rpc.chain):
        return None
    seconds = development.block_interval(rpc.chain)
    return int(seconds) if seconds == int(seconds) else seconds


def increase_time(rpc: EvmRpc, seconds: int) -> int:
    """evm_increaseTime: move the clock of all chains; returns the seconds that it is ahead. Raises as `set_automine`."""
    return manual_mining.increase_time(rpc.chain, seconds)


def set_time(rpc: EvmRpc, moment: int) -> int:
    """evm_setTime: set the clock of all chains, forward or back; returns the seconds that it moved forward."""
    return manual_mining.set_time(rpc.chain, moment)


def set_next_block_timestamp(rpc: EvmRpc, moment: int) -> None:
    """evm_setNextBlockTimestamp: set the time of the next block; the clock continues from there.

    Raises:
        InvalidDevelopmentRequest: The time is before the head's.
        DevelopmentError: Other nodes follow the chain.
    """
    manual_mining.set_next_timestamp(rpc.chain, moment)


def set_block_timestamp_interval(rpc: EvmRpc, seconds: int) -> None:
    """anvil_setBlockTimestampInterval: set the seconds between each block and its parent. Raises as `set_automine`."""
    cheats.change_conditions(rpc.chain, lambda found, _: replace(found, timestamp_interval=seconds))


def remove_block_timestamp_interval(rpc: EvmRpc) -> bool:
    """anvil_removeBlockTimestampInterval: let block times follow the clock again; returns whether an interval was set."""
    had = development.conditions(rpc.chain).timestamp_interval is not None
    if had:
        cheats.change_conditions(
            rpc.chain, lambda found, _: replace(found, timestamp_interval=None)
        )
    return had


def genesis_time(rpc: EvmRpc) -> int:
    """anvil_getGenesisTime: the time of the first block in Unix seconds."""
    genesis = blocks.by_number(rpc.chain, rpc.chain.first_number)
    assert genesis is not None
    return genesis.header.timestamp


def set_next_base_fee(rpc: EvmRpc, wei: int) -> None:
    """anvil_setNextBlockBaseFeePerGas: set the base fee of the next block; 0 is allowed. Raises as `set_automine`."""
    cheats.change_conditions(rpc.chain, lambda found, _: replace(found, next_base_fee=wei))


def set_min_gas_price(rpc: EvmRpc, wei: int) -> None:
    """anvil_setMinGasPrice: always an error, as in Anvil, because the chain has base fees.

    Raises:
        JsonRpcError: -32602, always.
    """
    del rpc, wei
    raise invalid_params("anvil_setMinGasPrice is not supported when EIP-1559 is active")


def set_block_gas_limit(rpc: EvmRpc, gas: int) -> bool:
    """evm_setBlockGasLimit: set the gas limit of the next and all later blocks.

    Raises:
        JsonRpcError: -32602, it is 0.
        DevelopmentError: Other nodes follow the chain.
    """
    if not gas:
        raise invalid_params("Block gas limit must be greater than 0")
    cheats.change_conditions(rpc.chain, lambda found, _: replace(found, gas_limit=gas))
    return True


def set_coinbase(rpc: EvmRpc, address: Address) -> None:
    """anvil_setCoinbase: set the account that receives the tips of later blocks. Raises as `set_automine`."""
    cheats.change_conditions(rpc.chain, lambda found, _: replace(found, coinbase=address))


def set_prev_randao(rpc: EvmRpc, value: Hash) -> None:
    """hardhat_setPrevRandao: set the value that PREVRANDAO returns in the next block. Raises as `set_automine`."""
    cheats.change_conditions(rpc.chain, lambda found, _: replace(found, next_prev_randao=value))


def set_chain_id(rpc: EvmRpc, chain_id: int) -> None:
    """anvil_setChainId: set the chain ID, for a chain that has only its first block (devnet.md 8).

    eth_chainId, net_version, CHAINID and signatures use the new ID immediately. It survives a restart, with settings
    that name either the original ID or the new one. NODE_CHAIN_ID or --chain-id of a new data directory sets the
    original ID.

    Unspecified: a chain with blocks keeps its ID, because the blocks are signed for it; so do a chain with pending
    transactions, and a fork. evm_revert restores the ID of the snapshot, because the snapshot's pending transactions
    are signed for it. anvil_reset restores the original ID. In Anvil neither of them changes the ID.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        DevelopmentError: The ID is another one, and the chain is a fork.
        DevelopmentError: The ID is another one, and there are blocks.
        DevelopmentError: The ID is another one, and the pool is not empty.
    """
    cheats.set_chain_id(rpc.chain, chain_id)

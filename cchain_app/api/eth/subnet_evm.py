"""Methods of EVM chains of subnets that the C-Chain does not have (etna.md 12)."""

from typing import Any

from cchain_app.api import block_tags
from cchain_app.api.params import values as params
from cchain_app.api.params.values import BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.evm.upgrades import fee_config_after
from cchain_app.precompiles.fee_config import render_fee_config
from cchain_app.selectors import state
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry


def fee_config(rpc: EvmRpc, block: BlockParam) -> dict[str, Any]:
    """eth_feeConfig: the figures of the fees in the block after a block, and the height of the block that set them.

    The height is 0 for the figures of the genesis file.
    """
    found = block_tags.require(rpc, block)
    after = state.state_after(rpc.chain, found)
    current = fee_config_after(rpc.chain.config.stateful, after, found.header.timestamp)
    return {
        "feeConfig": render_fee_config(current.config),
        "lastChangedAt": current.last_changed_at,
    }


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Register the methods."""
    block = Param("block", params.block_param, Tag.LATEST)
    methods.add("eth_feeConfig", rpc.bind(fee_config), params=[block])

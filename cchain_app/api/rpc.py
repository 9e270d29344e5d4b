"""The RPC door of one chain in one process: what its handlers keep between calls, and its listeners."""

import math
import threading
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Final

from cchain_app import feemarket
from cchain_app.api.heads import SentHeads
from cchain_app.api.loop_gas import LoopGas
from cchain_app.api.rendered import Remembered, RenderedBlocks
from cchain_app.api.trace_turns import TraceTurns
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BlockEnv
from cchain_app.feemarket import BlockFees
from cchain_app.selectors.blocks import blob_base_fee
from cchain_app.services.transaction_log import TransactionLog
from jsonrpc.hub import Hub, HubLimits
from jsonrpc.turn import LoopTurn

SYNC_CALLS: Final = 8
"""Calls of eth_sendRawTransactionSync that wait at a time."""


class EvmRpc:
    """A chain's door; handlers take it first.

    Args:
        chain: Whose door it is.
        turn: What all doors of the process may take of a turn of the event loop.
        transaction_log: Is told what is called; without, it has one that has not begun.
    """

    def __init__(
        self,
        chain: EvmChain,
        turn: LoopTurn | None = None,
        transaction_log: TransactionLog | None = None,
    ) -> None:
        self.chain = chain
        node = chain.node
        # So that nobody alone keeps all others out.
        of_client = math.ceil(node.ws_connections * 3 / 4)
        self.hub = Hub(HubLimits(node.ws_connections, node.ws_subscriptions, of_client))
        """Who listens to the chain in this process."""
        self.heads = SentHeads()
        self.rendered = RenderedBlocks(blob_price=partial(blob_base_fee, chain))
        self.environments: Remembered[BlockEnv] = Remembered(16)
        self.tips: Remembered[int] = Remembered(1)
        self.fees: Remembered[BlockFees] = Remembered(4 * feemarket.SAMPLED_BLOCKS)
        self.loop_gas = LoopGas(turn=turn)
        self.sync_calls = threading.BoundedSemaphore(SYNC_CALLS)
        self.transaction_log = transaction_log or TransactionLog(chain)
        self.sending = threading.Lock()
        """Held by whoever takes the next nonce of an account of the node, until it waits in the pool."""
        self.trace_turns = TraceTurns(node.trace_calls)

    def bind(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Return a handler of this door, under its own name and documentation."""
        return update_wrapper(partial(handler, self), handler)

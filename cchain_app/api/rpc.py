"""The RPC door of one chain in one process: what its handlers keep between calls, and its listeners."""

import math
import threading
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Final

import msgspec
from msgspec import Raw

from cchain_app import feemarket
from cchain_app.api.heads import SentHeads
from cchain_app.api.loop_gas import LoopGas
from cchain_app.api.rendered import BY_PYTHON, LogRenderer, Remembered, RenderedBlocks
from cchain_app.api.shortcut import shortcut_of, thread_shortcut_of
from cchain_app.api.trace_turns import TraceTurns
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BlockEnv
from cchain_app.feemarket import BlockFees
from cchain_app.selectors.blocks import blob_base_fee
from cchain_app.services.pending import PendingBlocks
from cchain_app.services.transaction_log import TransactionLog
from cchain_app.transaction_log.console import CONSOLE
from chaindb.connections import WOULD_BLOCK
from jsonrpc.limits.turn import LoopTurn
from jsonrpc.websocket.hub import Hub, HubLimits
from primitives.evm import Hash
from primitives.fair_lock import FairLock

UNLIMITED_GAS: Final = 2**63 - 1
"""Gas of a call when no cap is set."""

_encode: Final = msgspec.json.Encoder().encode

LONGEST_KEPT: Final = 65_536
"""Bytes of a block's JSON that is kept for the shortcut: what is longer takes as long to write as to find."""

SYNC_CALLS: Final = 8
"""Calls of eth_sendRawTransactionSync that wait at a time."""


class EvmRpc:
    """A chain's door; handlers take it first.

    Args:
        chain: Whose door it is.
        turn: What all doors of the process may take of a turn of the event loop, but for calls in whole requests
            and frames.
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
        self.rendered = RenderedBlocks(
            blob_price=partial(blob_base_fee, chain), renderer=_log_renderer_of(chain)
        )
        self.environments: Remembered[BlockEnv] = Remembered(16)
        self.pending = PendingBlocks(chain)
        """Builds the block that `pending` names."""
        self.tips: Remembered[int] = Remembered(1)
        self.fees: Remembered[BlockFees] = Remembered(4 * feemarket.SAMPLED_BLOCKS)
        turn = turn or LoopTurn()
        self.loop_gas = LoopGas(turn=turn)
        self.sync_calls = threading.BoundedSemaphore(SYNC_CALLS)
        self.transaction_log = transaction_log or TransactionLog(chain)
        self.sending = FairLock()
        """Held by whoever takes the next nonce of an account of the node, until it waits in the pool."""
        self.trace_turns = TraceTurns(node.trace_calls)
        self.shortcut = shortcut_of(chain, self.transaction_log, turn)
        """Answers frequent bodies by itself; None: the engine cannot."""
        self.thread_shortcut = thread_shortcut_of(chain, self.transaction_log)
        """Likewise in threads."""

    def gas_cap(self, block_gas_limit: int) -> int:
        """Return the most gas that one call may use on a block with a gas limit."""
        return self.chain.gas_cap(block_gas_limit) or UNLIMITED_GAS

    @property
    def epoch(self) -> int:
        """What a result must have been found out in that is kept for the shortcut: to be read before."""
        answers = self.chain.memory.answers
        return 0 if answers is None else answers.epoch

    def keep_environment(self, epoch: int, env: BlockEnv) -> None:
        """Keep where calls at the head are run, for the shortcut."""
        answers = self.chain.memory.answers
        if answers is not None:
            answers.keep_environment(epoch, env, self.gas_cap(env.gas_limit), CONSOLE)

    def keep_estimates(
        self, epoch: int, *, gas: int, most_gas: int, error_ratio: float, is_default: bool
    ) -> None:
        """Keep how gas is estimated at the head, for the shortcut.

        Args:
            epoch: In which that was found out.
            gas: What is tried first where a call names none.
            most_gas: The most that is tried.
            error_ratio: By how much an estimate may be too high.
            is_default: Whether what names no block is about the head.
        """
        answers = self.chain.memory.answers
        if answers is not None:
            answers.keep_estimates(epoch, gas, most_gas, error_ratio, is_default)

    def keep_by_hash(self, epoch: int, method: str, transaction_hash: Hash, result: Raw) -> Raw:
        """Keep what a method says of a transaction in a block, for the shortcut, and return it."""
        answers = self.chain.memory.answers
        if answers is not None:
            answers.keep_by_hash(epoch, method, transaction_hash, bytes(result))
        return result

    def keep_block(self, epoch: int, block: AcceptedBlock, result: Raw, *, full: bool) -> Raw:
        """Keep an accepted block as it is shown, for the shortcut, and return that.

        Args:
            epoch: In which the block was found.
            block: Which one.
            result: It, with whole transactions or with their hashes.
            full: Which of both.
        """
        answers = self.chain.memory.answers
        if answers is not None and memoryview(result).nbytes <= LONGEST_KEPT:
            answers.keep_block(epoch, block.number, block.hash, full, bytes(result))
        return result

    def bind_kept(self, name: str, handler: Callable[["EvmRpc"], object]) -> Callable[[], object]:
        """Return a handler without params of this door, whose result is kept for the shortcut.

        It may depend on nothing but the head, the rules and what was set by hand.
        """
        answers = self.chain.memory.answers
        if answers is None:
            return self.bind(handler)

        def keeping() -> Raw:
            epoch = answers.epoch
            result = _encode(handler(self))
            answers.keep(epoch, name, result)
            return Raw(result)

        return update_wrapper(keeping, handler)

    def bind(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Return a handler of this door, under its own name and documentation."""
        return update_wrapper(partial(handler, self), handler)


def outcome(handler: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the answer to one call of several, or why there is none; who executes calls knows which are expected.

    Raises:
        WouldBlock: Or Django's word for it: then all of them are for a thread.
    """
    try:
        return handler(*arguments)
    except WOULD_BLOCK:
        raise
    except Exception as error:
        return error


def _log_renderer_of(chain: EvmChain) -> LogRenderer:
    """Return what renders a block's logs: the crate where it was built."""
    if chain.memory.answers is None:
        return BY_PYTHON
    # Only here: without the crate there is no such module.
    from cchain_app.memory import native

    return LogRenderer(native.render_logs, 2_000)

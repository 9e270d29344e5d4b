"""The RPC context of one chain in one process: caches and limits that its handlers share, and its subscribers."""

import math
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import Any, Final

import msgspec
from msgspec import Raw

from cchain_app import feemarket
from cchain_app.api import wire
from cchain_app.api.loop_gas import LoopGas
from cchain_app.api.rendered import BY_PYTHON, LogRenderer, RenderedBlocks, RenderedCache
from cchain_app.api.shortcut import shortcut_of, thread_shortcut_of
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BlockEnv
from cchain_app.feemarket import BlockFees
from cchain_app.selectors.blocks import blob_base_fee
from cchain_app.services.pending import PendingBlocks
from cchain_app.services.runtime import EvmRuntime
from cchain_app.services.transaction_log import TransactionLog
from cchain_app.services.warp import MessageSignatures
from cchain_app.transaction_log.console import CONSOLE
from cchain_app.txs.transaction import Transaction
from chaindb.connections import WOULD_BLOCK
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError
from jsonrpc.limits.interpreter import LoopTurn
from jsonrpc.websocket.hub import Hub, HubLimits
from primitives.evm import Hash
from primitives.fair_lock import FairLock

PATIENCE_SECONDS: Final = 10.0
"""Longest time that a call waits for its turn."""


class TraceTurns:
    """Lets a number of calls trace concurrently, and as many again wait. Each RPC context has its own limit.

    Unspecified: geth has no such limit. The error code is that of a rate limit, because clients that know it
    try again.
    """

    def __init__(self, at_once: int, patience: float = PATIENCE_SECONDS) -> None:
        self._admitted = threading.BoundedSemaphore(2 * at_once)
        self._turns = threading.BoundedSemaphore(at_once)
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run the body as one of the tracing calls.

        Raises:
            JsonRpcError: -32005, too many calls wait, or this call's turn did not come in time.
        """
        if not self._admitted.acquire(blocking=False):
            raise _busy()
        try:
            if not self._turns.acquire(timeout=self._patience):
                raise _busy()
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._admitted.release()


def _busy() -> JsonRpcError:
    return JsonRpcError(LIMIT_EXCEEDED, "too many calls trace already")


class SentHeads:
    """The last head that was sent. Each head is sent once, in order, even if announcements were lost."""

    def __init__(self) -> None:
        self._sent: int | None = None
        self._target = -1
        self._sending = False

    def reset_to(self, number: int) -> None:
        """Note the head at the first subscription; only later heads will be sent."""
        if self._sent is None:
            self._sent = number

    def go_back(self, number: int) -> None:
        """Follow a chain that was reset to a lower height; this sends nothing."""
        if self._sent is not None and number < self._sent:
            self._sent = self._target = number

    def due(self, number: int) -> Generator[int, None, None]:
        """Yield the heights up to this one that must be sent; none if another call is sending them already.

        Requesting the next height confirms that the previous one was sent. A caller that closes the generator early
        leaves the remaining heights for later.
        """
        if self._sent is None:
            return  # there was no subscription yet
        self._target = max(self._target, number)
        if self._sending:
            return
        self._sending = True
        try:
            while self._sent < self._target:
                height = self._sent + 1
                yield height
                if self._sent == height - 1:  # otherwise the chain was rewound meanwhile
                    self._sent = height
        finally:
            self._sending = False


UNLIMITED_GAS: Final = 2**63 - 1
"""The gas limit of a call if no cap is set."""

_encode: Final = msgspec.json.Encoder().encode

LONGEST_KEPT: Final = 65_536
"""Largest JSON of a block that is stored for the shortcut, in bytes; a larger one takes as long to write as to find."""

SYNC_CALLS: Final = 8
"""Maximum number of calls of eth_sendRawTransactionSync that wait at the same time."""


class EvmRpc:
    """The RPC context of a chain, which is the first argument of its handlers.

    Args:
        runtime: The chain.
        turn: The time that all RPC endpoints of the process share in a turn of the event loop, except for calls in
            whole requests and frames.
        transaction_log: The log of called methods; by default a log that is not started.
        signatures: Returns what signs the chain's warp messages; None: this process has no key.
    """

    def __init__(
        self,
        runtime: EvmRuntime,
        turn: LoopTurn | None = None,
        transaction_log: TransactionLog | None = None,
        signatures: Callable[[], MessageSignatures] | None = None,
    ) -> None:
        self.runtime = runtime
        self.chain = chain = runtime.chain
        self._find_signatures = signatures
        limits = chain.settings.ws
        # No single client may use up all connections.
        of_client = math.ceil(limits.connections * 3 / 4)
        self.hub = Hub(HubLimits(limits.connections, limits.subscriptions, of_client))
        """The chain's subscribers in this process."""
        self.heads = SentHeads()
        self.rendered = RenderedBlocks(
            blob_price=partial(blob_base_fee, chain),
            renderer=_log_renderer_of(chain),
        )
        self.environments: RenderedCache[BlockEnv] = RenderedCache(16)
        self.pending = PendingBlocks(runtime)
        """Builds the pending block."""
        self.tips: RenderedCache[int] = RenderedCache(1)
        self.last_tip = 1
        """The tip that was suggested last on a chain of coreth, in wei."""
        self.fees: RenderedCache[BlockFees] = RenderedCache(4 * feemarket.SAMPLED_BLOCKS)
        self.low_tips: RenderedCache[tuple[int, ...]] = RenderedCache(4 * feemarket.SAMPLED_BLOCKS)
        turn = turn or LoopTurn()
        self.loop_gas = LoopGas(turn=turn)
        self.sync_calls = threading.BoundedSemaphore(SYNC_CALLS)
        self.transaction_log = transaction_log or TransactionLog(chain)
        self.sending = FairLock()
        """Held from the choice of a nonce for an account of the node until the transaction is in the pool."""
        self.trace_turns = TraceTurns(chain.settings.trace.calls)
        self.shortcut = shortcut_of(chain, self.transaction_log, turn)
        """Answers frequent request bodies on the event loop; None if the engine cannot."""
        self.thread_shortcut = thread_shortcut_of(chain, self.transaction_log)
        """The same for threads."""

    @property
    def signatures(self) -> MessageSignatures | None:
        """Signs the chain's warp messages; None: this process has no key."""
        return None if self._find_signatures is None else self._find_signatures()

    def gas_cap(self, block_gas_limit: int) -> int:
        """Return the most gas that one call may use on a block with this gas limit."""
        return self.chain.gas_cap(block_gas_limit) or UNLIMITED_GAS

    @property
    def epoch(self) -> int:
        """The current epoch of the shortcut's results; read it before computing a result to store for the shortcut."""
        answers = self.chain.memory.answers
        return 0 if answers is None else answers.epoch

    def keep_environment(self, epoch: int, env: BlockEnv) -> None:
        """Store the environment of calls at the head for the shortcut, which prints no traces."""
        answers = self.chain.memory.answers
        prints = self.chain.settings.print_traces and self.transaction_log.is_on
        if answers is not None and not prints:
            answers.keep_environment(epoch, env, self.gas_cap(env.gas_limit), CONSOLE)

    def keep_estimates(
        self, epoch: int, *, gas: int, most_gas: int, error_ratio: float, is_default: bool
    ) -> None:
        """Store the parameters of gas estimates at the head for the shortcut.

        Args:
            epoch: The epoch in which they were read.
            gas: The limit to try first for a call that names none.
            most_gas: The highest limit to try.
            error_ratio: Maximum relative error of an estimate, as a fraction.
            is_default: Whether a call that names no block is estimated at the head.
        """
        answers = self.chain.memory.answers
        if answers is not None:
            answers.keep_estimates(epoch, gas, most_gas, error_ratio, is_default)

    def keep_by_hash(self, epoch: int, method: str, transaction_hash: Hash, result: Raw) -> Raw:
        """Store a method's result for a mined transaction for the shortcut, and return it."""
        answers = self.chain.memory.answers
        if answers is not None:
            answers.keep_by_hash(epoch, method, transaction_hash, bytes(result))
        return result

    def keep_block(self, epoch: int, block: AcceptedBlock, result: Raw, *, full: bool) -> Raw:
        """Store the JSON of an accepted block for the shortcut, and return it.

        Args:
            epoch: The epoch in which the block was read.
            block: The block.
            result: Its JSON, with whole transactions or with their hashes.
            full: Whether the transactions are whole.
        """
        answers = self.chain.memory.answers
        if answers is not None and memoryview(result).nbytes <= LONGEST_KEPT:
            answers.keep_block(epoch, block.number, block.hash, full, bytes(result))
        return result

    def pool_transaction(self, transaction: Transaction) -> wire.Json:
        """Return a transaction of the pool as this chain's clients get it."""
        return wire.pool_transaction(transaction, of_coreth=self.chain.is_of_coreth)

    def bind_kept(
        self, name: str, handler: Callable[["EvmRpc"], object], *, is_fee: bool = False
    ) -> Callable[[], object]:
        """Bind a handler without params to this context, and store its result for the shortcut.

        The result may depend only on the head, the rules and the development overrides.

        Args:
            name: The method.
            handler: Its handler.
            is_fee: Whether the result depends on the base fee of the next block; it is not stored on a chain on which
                that depends on the time.
        """
        answers = self.chain.memory.answers
        if answers is None:
            return self.bind(handler)

        def keeping() -> Raw:
            epoch = answers.epoch
            result = _encode(handler(self))
            if not (is_fee and self.chain.rules.fees_follow_time):
                answers.keep(epoch, name, result)
            return Raw(result)

        return update_wrapper(keeping, handler)

    def bind(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Bind a handler to this context, under its own name and documentation."""
        return update_wrapper(partial(handler, self), handler)


def outcome(handler: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result or the exception of one of several calls; the caller decides which exceptions are expected.

    Raises:
        WouldBlock: Or Django's equivalent; then all of the calls must run in a thread.
    """
    try:
        return handler(*arguments)
    except WOULD_BLOCK:
        raise
    except Exception as error:
        return error


def _log_renderer_of(chain: EvmChain) -> LogRenderer:
    """Return the renderer of a block's logs: the crate's if it was built."""
    if chain.memory.answers is None:
        return BY_PYTHON
    # Imported here because the module exists only if the crate was built.
    from cchain_app.memory import native

    return LogRenderer(native.render_logs, 2_000)

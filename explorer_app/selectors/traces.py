"""Traces of transactions for pages: executed again, with limits on time, size and concurrency."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Semaphore
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.evm.tracing import Recording, TraceTimedOut, TraceTooLarge, TransactionTrace
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.tracing import GenesisNotTraceable, TraceDiffers
from cchain_app.store.history import HistoryPruned
from cchain_app.txs.transaction import InvalidTransaction

PATIENCE: Final = 2.0
"""Seconds that a request waits for an execution slot."""


class Busy(Exception):
    """All executing were taken for as long as the request waited."""

    def __init__(self) -> None:
        super().__init__("Too many executions are running. Try again in a moment.")


@contextmanager
def execution_slot(executing: Semaphore, *, waits: bool = False) -> Iterator[None]:
    """Hold one of the execution slots during the block.

    Args:
        executing: The semaphore of the execution slots (`Explorer.executing`).
        waits: Whether to wait without a limit; otherwise for `PATIENCE` seconds.

    Raises:
        Busy: No execution slot became free in time.
    """
    if not executing.acquire(timeout=None if waits else PATIENCE):
        raise Busy
    try:
        yield
    finally:
        executing.release()


SECONDS: Final = 2.0
"""Time limit of an execution for a page."""

MAX_BYTES: Final = 16_000_000


class TracedTransaction(NamedTuple):
    """A transaction's trace, or the reason why it is missing."""

    trace: TransactionTrace | None
    trouble: str = ""


def traced_in_turn(
    chain: EvmChain,
    executing: Semaphore,
    number: int,
    index: int,
    *,
    state: bool = False,
    waits: bool = False,
) -> TracedTransaction:
    """Return the result of `traced`, with a limit on concurrent executions, because each occupies a thread.

    Args:
        chain: The chain.
        executing: The semaphore of concurrent executions (`Explorer.executing`).
        number: The block's height.
        index: The transaction's index in the block.
        state: Whether to include state.
        waits: Whether to wait for an execution slot without a limit.

    Raises:
        Busy: No execution slot became free in time.
    """
    with execution_slot(executing, waits=waits):
        return traced(chain, number, index, state=state)


def traced(chain: EvmChain, number: int, index: int, *, state: bool = False) -> TracedTransaction:
    """Return the call frames of a transaction, and with `state` the state that it read and changed.

    Args:
        chain: The chain.
        number: The block's height.
        index: The transaction's index in the block.
        state: Whether to include state.
    """
    block = blocks.by_number(chain, number)
    if block is None or index >= len(block.transactions):
        return TracedTransaction(
            None, "The transaction is no longer in a block, because the chain was rewound."
        )
    recording = Recording(frames=True, state=state, most_bytes=MAX_BYTES)
    try:
        return TracedTransaction(
            tracing.trace_transaction(chain, block, index, recording, time_limit=SECONDS)
        )
    except (TraceTimedOut, TraceTooLarge):
        return TracedTransaction(
            None, "Executing the transaction again takes longer than the time limit of the page."
        )
    except HistoryPruned:
        return TracedTransaction(
            None, "The state before the transaction was deleted (NODE_HISTORY_STATE)."
        )
    except (TraceDiffers, InvalidTransaction, GenesisNotTraceable):
        return TracedTransaction(None, "The transaction cannot be executed again.")

"""What transactions did inside, for pages: executed once more, within the time and bytes of a page, few at once."""

from threading import Semaphore
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.evm.tracing import Recording, TraceTimedOut, TraceTooLarge, TransactionTrace
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.tracing import GenesisNotTraceable, TraceDiffers
from cchain_app.store.history import HistoryPruned
from cchain_app.txs.errors import InvalidTransaction
from explorer_app.selectors.places import place

SECONDS: Final = 2.0
"""So long a transaction may be executed for a page."""

MOST_BYTES: Final = 16_000_000


class Traced(NamedTuple):
    """A transaction's trace, or why there is none."""

    trace: TransactionTrace | None
    trouble: str = ""


def traced_in_turn(
    chain: EvmChain,
    places: Semaphore,
    number: int,
    index: int,
    *,
    state: bool = False,
    waits: bool = False,
) -> Traced:
    """Return what `traced` does, while few others of this process are executed: whoever asks has one of its threads.

    Args:
        chain: The chain.
        places: Has one for each that may be executed at the same time (`Explorer.executing`).
        number: Of the block.
        index: The transaction's place there.
        state: Whether the state is wanted too.
        waits: Whether to wait until there is a place.

    Raises:
        Busy: There was none in time.
    """
    with place(places, waits=waits):
        return traced(chain, number, index, state=state)


def traced(chain: EvmChain, number: int, index: int, *, state: bool = False) -> Traced:
    """Return the frames of a transaction, and with `state` what it touched and changed.

    Args:
        chain: The chain.
        number: Of its block.
        index: Its place there.
        state: Whether the state is wanted too.
    """
    block = blocks.by_number(chain, number)
    if block is None or index >= len(block.transactions):
        return Traced(None, "The chain has gone back, and the transaction is in no block.")
    recording = Recording(frames=True, state=state, most_bytes=MOST_BYTES)
    try:
        return Traced(tracing.trace_transaction(chain, block, index, recording, time_limit=SECONDS))
    except (TraceTimedOut, TraceTooLarge):
        return Traced(None, "It does too much to be executed again in the time of a page.")
    except HistoryPruned:
        return Traced(None, "The state before it was given up (NODE_HISTORY_STATE).")
    except (TraceDiffers, InvalidTransaction, GenesisNotTraceable):
        return Traced(None, "It cannot be executed again.")

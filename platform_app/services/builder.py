"""What the P-Chain's blocks are built of: the mempool, as far as a block has room."""

import logging
from collections.abc import Iterator
from itertools import islice

from platform_app.chain import PlatformChain
from platform_app.executor.clock import at_next_block
from platform_app.executor.standard import execute
from platform_app.state.chain import ChainState
from platform_app.state.diff import Diff
from platform_app.store import mempool
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.errors import InvalidTx
from primitives.ids import ID

_BATCH = 64
"""Transactions whose outputs are read together; a block seldom takes more than a few hundred."""

_log = logging.getLogger(__name__)


def waiting(chain: PlatformChain, state: DatabaseState) -> Iterator[Tx]:
    """Walk what waits, reading what it spends a batch at a time.

    Args:
        chain: Whose mempool.
        state: The accepted state, which remembers what is read.
    """
    found = mempool.oldest_first(chain.db)
    while batch := list(islice(found, _BATCH)):
        state.prefetch(batch)
        yield from batch


def failing(
    chain: PlatformChain, state: DatabaseState, parent_state: ChainState, now: int
) -> Iterator[tuple[ID, str]]:
    """Walk the waiting transactions that make the rules fail instead of refusing, with what is told of it.

    Args:
        chain: Whose mempool.
        state: The accepted state.
        parent_state: What the block is built on.
        now: The node's time in Unix seconds.
    """
    environment = chain.env(state.network, now)
    at = at_next_block(parent_state, now, chain.config)
    for tx in waiting(chain, state):
        try:
            execute(tx, Diff(at), environment)
        except InvalidTx:
            continue  # the builder finds that too, and says so
        except Exception:
            _log.exception("transaction %s fails instead of being refused", tx.tx_id)
            yield tx.tx_id, "internal error"

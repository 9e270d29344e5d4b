"""Pending transactions for the builder of P-Chain blocks."""

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
from primitives.ids import ID
from utxo.errors import InvalidTx

_BATCH = 64
"""Transactions whose outputs are read together; a block seldom includes more than a few hundred."""

_log = logging.getLogger(__name__)


def waiting(chain: PlatformChain, state: DatabaseState) -> Iterator[Tx]:
    """Yield the pending transactions, reading the outputs they spend in batches.

    Args:
        chain: The chain with the mempool.
        state: The accepted state, which caches the outputs.
    """
    found = mempool.oldest_first(chain.db)
    while batch := list(islice(found, _BATCH)):
        state.prefetch(batch)
        yield from batch


def failing(
    chain: PlatformChain, state: DatabaseState, parent_state: ChainState, now: int
) -> Iterator[tuple[ID, str]]:
    """Yield the pending transactions that crash the rules instead of being rejected, with the reason to report.

    Args:
        chain: The chain with the mempool.
        state: The accepted state.
        parent_state: The state that the block is built on.
        now: The node's time in Unix seconds.
    """
    environment = chain.env(state.network, now)
    at = at_next_block(parent_state, now, chain.config)
    for tx in waiting(chain, state):
        try:
            execute(tx, Diff(at), environment)
        except InvalidTx:
            continue  # the builder rejects and reports it too
        except Exception:
            _log.exception("transaction %s fails instead of being refused", tx.tx_id)
            yield tx.tx_id, "internal error"

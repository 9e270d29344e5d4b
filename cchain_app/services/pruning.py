"""Deletes history that the settings do not keep: states and tries of old blocks, the rows of their calls, and blobs.

The chain itself stays complete: blocks, transactions, receipts and logs. Rows are deleted in small transactions,
for a short time per call, so that block producers wait for a few milliseconds at most.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.store import blobs as blob_rows
from cchain_app.store import calls as call_rows
from cchain_app.store import chain as stored
from cchain_app.store import history, trie_history
from chaindb import clock
from chaindb.database import Database
from chaindb.locks import Lock

ROWS_AT_ONCE: Final = 1_000
"""Limit of the rows in one transaction."""

BLOBS_AT_ONCE: Final = 16
"""The same for blobs, which have 128 KiB each."""


class PruneResult(NamedTuple):
    """The numbers of deleted rows."""

    changes: int
    calls: int
    blobs: int
    nodes: int


def prune(chain: EvmChain, *, seconds: float) -> PruneResult:
    """Delete history that the settings do not keep, for about the given time; the next call continues."""
    until = time.monotonic() + seconds
    changes = calls = blobs = 0
    if chain.settings.history.kept_states:
        changes = _prune(
            chain, _first_state, history.keep_states_from, history.delete_changes, until
        )
    if chain.settings.history.calls:
        calls = _prune(chain, _first_call, history.keep_calls_from, history.delete_calls, until)
    if chain.config.blob_transactions and chain.settings.history.blobs:
        blobs = _prune_blobs(chain, clock.wall() - chain.settings.history.blobs, until)
    return PruneResult(changes, calls, blobs, _prune_nodes(chain, until))


def _prune(
    chain: EvmChain,
    first: Callable[[EvmChain], int],
    keep: Callable[[Database, int], None],
    delete: Callable[[Database, int], int],
    until: float,
) -> int:
    """Delete rows until there are none left, or the time is over; return their number."""
    deleted = 0
    while True:
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN)  # no rewind, or reads for one, meanwhile
            keep(chain.db, first(chain))
            part = delete(chain.db, ROWS_AT_ONCE)
        deleted += part
        if not part or time.monotonic() >= until:
            return deleted


def _prune_blobs(chain: EvmChain, before: int, until: float) -> int:
    """Delete the blobs that arrived before a time (Unix seconds), as `_prune`."""
    deleted = 0
    while True:
        with chain.db.atomic(durable=True):
            part = blob_rows.delete_before(chain.db, before, BLOBS_AT_ONCE)
        deleted += part
        if not part or time.monotonic() >= until:
            return deleted


def _prune_nodes(chain: EvmChain, until: float) -> int:
    """Delete the trie nodes of blocks that NODE_PROOF_WINDOW does not cover or whose states are pruned, as `_prune`."""
    window = chain.settings.proof_window
    before = _below_head(chain, min(window, chain.settings.history.kept_states or window))
    deleted = 0
    while trie_history.has_before(chain.db, before):
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN)
            trie_history.keep_from(chain.db, before)
            deleted += trie_history.delete_before(chain.db, before, ROWS_AT_ONCE)
        if time.monotonic() >= until:
            break
    return deleted


def _first_state(chain: EvmChain) -> int:
    """Return the first block whose state is kept. Calls that are not indexed yet need the states of their blocks."""
    kept = _below_head(chain, chain.settings.history.kept_states)
    if not chain.settings.indexes_calls(chain.node.network_id):
        return kept
    written = call_rows.progress(chain.db)
    return min(kept, 0 if written is None else written.height)


def _first_call(chain: EvmChain) -> int:
    written = call_rows.progress(chain.db)
    reached = 0 if written is None else written.height + 1
    return min(_below_head(chain, chain.settings.history.calls), reached)


def _below_head(chain: EvmChain, blocks: int) -> int:
    return max((stored.head_number(chain.db) or 0) - blocks, 0)

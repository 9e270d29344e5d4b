"""Making blocks: choose from the pool, execute, commit, tell.

A block is executed on a view of the head, without a lock, and written under the chain's lock if the
head is still its parent; else it is made anew on the new head.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction as database

from cchain_app import notifications, runtime
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import assemble, next_env
from cchain_app.evm.engine import ExecutedBlock
from cchain_app.evm.trie import TrieError, TrieUpdate
from cchain_app.feemarket import next_gas_limit
from cchain_app.pool.ordering import select
from cchain_app.selectors import blocks, pool, state
from cchain_app.selectors.next_block import base_fee_after
from cchain_app.services.limits import pool_limits
from cchain_app.store import chain, evm_state
from cchain_app.store import pool as rows
from cchain_app.txs.transaction import Transaction
from chaindb.locks import Lock, acquire
from primitives.evm import Hash

_CHOICE = 3
"""So many blocks' worth of gas limits are offered to the engine, since most use less than theirs."""

_log = logging.getLogger(__name__)


class _HeadMoved(Exception):
    """Another process has written a block on the same parent."""


class _Made(NamedTuple):
    """A block before it is written."""

    block: AcceptedBlock
    executed: ExecutedBlock
    trie: TrieUpdate
    invalid: tuple[Hash, ...]
    """Of the pool, what can never be mined."""


def produce_block(*, now: int, allow_empty: bool = False) -> AcceptedBlock | None:
    """Make one block of what the pool has and return it, or None when there is nothing to put in.

    Args:
        now: Unix seconds; the block's time, unless its parent's is later.
        allow_empty: Make a block even so.
    """
    while True:
        head = blocks.catch_up()
        chosen = _choose(head)
        if not chosen and not allow_empty:
            return None
        try:
            made = _make(head, chosen, now)
        except TrieError:
            # Unless another process has written a block meanwhile, the rows are damaged.
            if chain.head_pointer() == (head.number, head.hash):
                raise
            continue
        if not made.block.transactions and not allow_empty:
            _drop(made.invalid)
            return None
        try:
            _write(made, head)
        except _HeadMoved:
            continue
        _accept(made)
        return made.block


def _choose(head: AcceptedBlock) -> list[Transaction]:
    """Return transactions of the pool in the order in which they should run."""
    waiting = rows.entries()
    if not waiting:
        return []
    executable = [lane.executable for lane in pool.lanes(waiting).values()]
    chosen = select(
        executable,
        base_fee_after(head) or 0,
        head.header.gas_limit * _CHOICE,
        pool_limits().minimum_tip,
    )
    memory = blocks.memory().transactions
    unknown = pool.transactions(one.hash for one in chosen if memory.get(one.hash) is None)
    found = (memory.get(one.hash) or unknown.get(one.hash) for one in chosen)
    return [one for one in found if one is not None]


def _make(head: AcceptedBlock, transactions: Sequence[Transaction], now: int) -> _Made:
    """Execute transactions on the head and put the block together."""
    env = next_env(
        head,
        runtime.config(),
        timestamp=max(now, head.header.timestamp),
        gas_limit=next_gas_limit(head.header.gas_limit, runtime.genesis().gas_limit),
        base_fee=base_fee_after(head),
    )
    recipients = {tx.to for tx in transactions if tx.to is not None}
    state.prefetch_accounts([*recipients, env.coinbase], head.number)
    executed = runtime.engine().execute_block(
        env, transactions, state.state_at(head.number), skip_invalid=True
    )
    trie = runtime.trie().update(head.header.state_root, executed.changes, evm_state.NodeRows())
    block = assemble(
        env,
        [transactions[index] for index in executed.included],
        executed,
        state_root=trie.root,
        ordered_root=runtime.trie().ordered_root,
    )
    return _Made(block, executed, trie, _invalid(transactions, executed))


def _write(made: _Made, parent: AcceptedBlock) -> None:
    """Commit a block and take what it used out of the pool."""
    with database.atomic(durable=True):
        acquire(Lock.CCHAIN)
        if chain.head_pointer() != (parent.number, parent.hash):
            raise _HeadMoved
        chain.commit(made.block, made.executed, made.trie)
        acquire(Lock.CCHAIN_POOL)
        rows.remove_mined(made.block.transactions)
        rows.remove(made.invalid)


def _accept(made: _Made) -> None:
    """Move this process to the new head, and tell the others."""
    block = made.block
    blocks.memory().pool.changed()
    runtime.trie().commit(made.trie.root)
    blocks.memory().advance(block, made.executed.changes)
    notifications.head_accepted(block.number, block.hash)


def _drop(invalid: Sequence[Hash]) -> None:
    if invalid:
        with database.atomic(durable=True):
            acquire(Lock.CCHAIN_POOL)
            rows.remove(invalid)
        blocks.memory().pool.changed()


def _invalid(transactions: Sequence[Transaction], executed: ExecutedBlock) -> tuple[Hash, ...]:
    """Return what the engine refused for good."""
    refused = [one for one in executed.skipped if not one.retry]
    for one in refused:
        _log.info("dropped 0x%s: %s", transactions[one.index].hash.hex(), one.reason)
    return tuple(transactions[one.index].hash for one in refused)

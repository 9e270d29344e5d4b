"""Admission to the mempool, verified on the preferred state; and pending transactions for the builder of blocks."""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Self

from django.db import transaction

from chaindb.locks import Lock
from platform_app import notifications
from platform_app.chain import PlatformChain
from platform_app.config import Env
from platform_app.executor.clock import at_next_block
from platform_app.executor.standard import execute
from platform_app.services.errors import (
    ConflictingTx,
    IssueReason,
    MempoolFull,
    RefusedIssue,
    TransactionTooLarge,
)
from platform_app.state.chain import ChainState, Diff
from platform_app.store import blocks, mempool, rows
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.subnets import ExportTx
from primitives.ids import ID
from utxo.errors import InvalidTx

MAX_BYTES = 64 * 1024 * 1024
"""Maximum total bytes of the pending transactions (pchain.md 5.6)."""
LARGEST_TX = 64 * 1024
"""Maximum bytes of one transaction (pchain.md 5.6)."""

Outcome = ID | Exception
"""The ID, or an `InvalidTx`, a `RefusedIssue` or an unexpected exception."""


def issue_tx(chain: PlatformChain, tx: Tx, *, now: int) -> ID:
    """Admit one transaction and return its ID.

    Raises:
        RefusedIssue: The mempool rejects it for now; it may be submitted again.
        InvalidTx: It cannot be accepted.
    """
    (outcome,) = issue(chain, [tx], now=now)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def issue(
    chain: PlatformChain, txs: Sequence[Tx], *, now: int, gossiped: bool = False
) -> list[Outcome]:
    """Admit transactions, all in one commit, and return an ID or an error for each.

    An acknowledged transaction is stored. A transaction that is already pending or accepted is
    acknowledged again. A transaction that fails verification is recorded as dropped, with the reason.

    All transactions are checked before the lock is taken, and those that cannot be admitted are rejected
    without it, so invalid transactions do not block others. Under the lock no block can come between two
    queries. There only the mempool is checked again, and the rules only if a block has come meanwhile.

    Unspecified: a dropped transaction is verified again when it is submitted again, because it may have
    arrived before the coins that it spends. The reference repeats the reason for as long as it remembers it.
    And a conflict with pending transactions is reported before any verification, because that is cheaper.

    Unspecified: as long as no chain of this node imports, users cannot export here, because their coins would
    be lost. This is a rule of this API and not of blocks, about which the nodes of a network must agree:
    existing chains have exports in their blocks, and nodes of the reference can import them. So
    transactions from peers may export.

    Args:
        chain: The chain that they are for.
        txs: In order of arrival.
        now: Unix seconds.
        gossiped: Whether they come from peers, not from this node's users.
    """
    outcomes: dict[ID, Outcome] = {
        tx.tx_id: TransactionTooLarge(
            IssueReason.TOO_LARGE, tx_id=tx.tx_id, size=len(tx.raw), largest=LARGEST_TX
        )
        for tx in txs
        if len(tx.raw) > LARGEST_TX
    }
    small = [tx for tx in txs if tx.tx_id not in outcomes]
    if small:
        outcomes |= _issue(chain, small, now, gossiped=gossiped)
    return [outcomes[tx.tx_id] for tx in txs]


def withdraw(chain: PlatformChain, tx_id: ID, reason: str, *, now: int) -> bool:
    """Drop a transaction from this node's mempool and record the reason; return whether it was pending.

    For the operator. A peer that has the transaction may still get it accepted, or send it again.

    Args:
        chain: The chain with the mempool.
        tx_id: The transaction.
        reason: The reason that `platform.getTxStatus` reports from then on.
        now: Unix seconds.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN_MEMPOOL)
        waited = bool(mempool.known(chain.db, [tx_id]))
        if waited:
            mempool.drop(chain.db, [(tx_id, reason)], now)
    return waited


def _issue(
    chain: PlatformChain, txs: Sequence[Tx], now: int, *, gossiped: bool
) -> dict[ID, Outcome]:
    ground = _AdmissionContext.read(chain, txs, now)
    first = _Admission(txs, ground, gossiped=gossiped)
    first.look()
    # If a block came between, the queries may have seen two states: then they reject no transaction.
    settled = blocks.read(chain.db) == ground.place
    hopeful = list(first.admitted.values()) if settled else txs
    dropped = first.dropped if settled else []
    if not hopeful and not dropped:
        return first.outcomes
    return first.outcomes | _admit(chain, first, hopeful, dropped, now)


def _admit(
    chain: PlatformChain,
    first: "_Admission",
    hopeful: Sequence[Tx],
    dropped: Sequence[tuple[ID, str]],
    now: int,
) -> dict[ID, Outcome]:
    """Write admitted and dropped transactions under the lock, which excludes other admissions and blocks."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN_MEMPOOL)
        if blocks.read(chain.db) == first.ground.place:
            second = _Admission(
                hopeful, first.ground, gossiped=first.gossiped, verified=first.admitted
            )
        else:
            second = _Admission(
                hopeful, _AdmissionContext.read(chain, hopeful, now), gossiped=first.gossiped
            )
        second.look()
        mempool.add(chain.db, second.admitted.values(), now)
        mempool.drop(chain.db, [*dropped, *second.dropped], now)
        if second.admitted:
            transaction.on_commit(
                partial(notifications.txs_issued, chain, list(second.admitted)),
                using=chain.db.alias,
            )
            chain.producer.request()
        return second.outcomes


@dataclass(frozen=True, slots=True)
class _AdmissionContext:
    """The state on which the rules are executed."""

    chain: PlatformChain
    place: tuple[StoredNetwork, Tip]
    """The result of `store.blocks.read`; while it is unchanged, the results of the rules are valid."""
    state: Diff
    """The state at the next block's time."""
    env: Env

    @classmethod
    def read(cls, chain: PlatformChain, txs: Sequence[Tx], now: int) -> Self:
        """Read the objects that transactions use, with a few statements for all."""
        state = DatabaseState(chain.db)
        state.prefetch(txs)
        at = at_next_block(state, now, chain.config)
        return cls(chain, (state.network, state.tip), at, chain.env(state.network, now))


class _Admission:
    """The transactions of one commit, checked one after the other."""

    def __init__(
        self,
        txs: Sequence[Tx],
        ground: _AdmissionContext,
        *,
        gossiped: bool,
        verified: Collection[ID] = (),
    ) -> None:
        """Read the mempool; the rules are not executed for transactions in `verified`."""
        self.ground = ground
        self.gossiped = gossiped
        self.outcomes: dict[ID, Outcome] = {}
        self.admitted: dict[ID, Tx] = {}
        self.dropped: list[tuple[ID, str]] = []
        self._txs = txs
        self._verified = verified
        self._spenders = mempool.spenders(
            ground.chain.db, [spent.utxo_id for tx in txs for spent in rows.inputs_of(tx)]
        )
        # Without the lock a transaction may arrive between the two queries; it would conflict with itself.
        self._waiting = mempool.known(ground.chain.db, [tx.tx_id for tx in txs]) | {
            *self._spenders.values()
        }
        self._room = MAX_BYTES - mempool.size(ground.chain.db)

    def look(self) -> None:
        """Decide on each transaction. An unexpected exception affects only the sender of that transaction."""
        for tx in self._txs:
            try:
                self.outcomes[tx.tx_id] = self._look_at(tx)
            except Exception as error:  # the API logs it and returns -32603 to this sender alone
                self.outcomes[tx.tx_id] = error

    def _look_at(self, tx: Tx) -> Outcome:
        """Return the transaction's ID, or the reason why it is not admitted."""
        if tx.tx_id in self._waiting or self.ground.state.txs.get(tx.tx_id) is not None:
            return tx.tx_id
        refused = self._refuse(tx)
        if refused is not None:
            return refused
        try:
            if tx.tx_id not in self._verified:
                execute(tx, Diff(self.ground.state), self.ground.env)
        except InvalidTx as reason:
            self.dropped.append((tx.tx_id, str(reason)))
            return reason
        self._take(tx)
        return tx.tx_id

    def _refuse(self, tx: Tx) -> RefusedIssue | None:
        """Return why the mempool rejects it, independent of the rules; such reasons are not recorded."""
        if isinstance(tx.unsigned, ExportTx) and not self.gossiped:
            return RefusedIssue(IssueReason.NOTHING_IMPORTS, tx_id=tx.tx_id)
        size = len(tx.raw)
        if size > self._room:
            return MempoolFull(IssueReason.MEMPOOL_FULL, tx_id=tx.tx_id, size=size, room=self._room)
        for spent in rows.inputs_of(tx):
            if spent.utxo_id in self._spenders:
                return ConflictingTx(IssueReason.CONFLICTING_TX, tx_id=tx.tx_id)
        return None

    def _take(self, tx: Tx) -> None:
        self.admitted[tx.tx_id] = tx
        self._waiting.add(tx.tx_id)
        self._room -= len(tx.raw)
        for spent in rows.inputs_of(tx):
            self._spenders[spent.utxo_id] = tx.tx_id


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

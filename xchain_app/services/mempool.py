"""Admission of transactions to the mempool."""

from collections.abc import Collection, Sequence
from functools import partial

from django.db import transaction

from chaindb.locks import Lock
from primitives.ids import ID
from utxo.errors import InvalidTx
from xchain_app import notifications
from xchain_app.chain import AvmChain
from xchain_app.executor.errors import MissingSharedUtxo, causes_of
from xchain_app.executor.semantic import verify_semantics
from xchain_app.services.errors import AvmIssueReason, AvmMempoolFull, RefusedAvmTx
from xchain_app.store import blocks, mempool
from xchain_app.store.state import XDatabaseState
from xchain_app.txs.base import AvmTx, conflict_keys
from xchain_app.txs.syntax import verify_syntax

MAX_BYTES = 64 * 1024 * 1024
"""Maximum total bytes of the pending transactions (xchain.md 13)."""
LARGEST_TX = 64 * 1024
"""Maximum bytes of one transaction (xchain.md 13)."""

AvmOutcomeOrError = ID | Exception
"""The ID, or an `InvalidTx`, a `RefusedAvmTx` or an unexpected exception."""


def issue_tx(chain: AvmChain, tx: AvmTx, *, now: int) -> ID:
    """Admit one transaction and return its ID.

    Raises:
        RefusedAvmTx: The mempool rejects it.
        InvalidTx: It cannot be executed on the last accepted state.
    """
    (outcome,) = issue(chain, [tx], now=now)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def issue(
    chain: AvmChain, txs: Sequence[AvmTx], *, now: int, gossiped: bool = False
) -> list[AvmOutcomeOrError]:
    """Admit transactions, all in one commit, and return an ID or an error for each.

    An acknowledged transaction is stored. A transaction that is already pending is acknowledged again. A transaction
    that was refused since the last accepted block is refused again with the same reason, without executing the rules.
    Rules are executed without the lock. Under the lock the mempool is checked again, and the rules are executed again
    only if a block was accepted meanwhile. Until the chain is bootstrapped, the transactions of users are rejected,
    because the state is too old to check them.

    Unspecified: the reference keeps the last 64 reasons. Here the next accepted block removes them too, because it may
    have created the missing outputs. The reason of an import before its export is not kept, because the import is valid
    as soon as the other chain has accepted the export.

    Args:
        chain: The chain that they are for.
        txs: In order of arrival.
        now: Unix seconds.
        gossiped: Whether they come from peers, not from this node's users.
    """
    if not gossiped and not chain.is_synced():
        return [RefusedAvmTx(AvmIssueReason.NOT_SYNCED) for _ in txs]
    state = chain.state()
    first = _AvmAdmission(chain, txs, state, now)
    first.check_all()
    if not first.admitted and not first.dropped:
        return first.results()
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.XCHAIN_MEMPOOL)
        place = blocks.read(chain.db)
        if place == state.place:
            second = _AvmAdmission(chain, txs, state, now, verified=first.admitted)
            second.known_failures = first.failures
        else:
            second = _AvmAdmission(chain, txs, XDatabaseState(chain.db, place), now)
        second.check_all()
        mempool.add(chain.db, second.admitted.values(), now)
        mempool.drop(chain.db, second.dropped.items(), now)
        if second.admitted:
            transaction.on_commit(
                partial(notifications.txs_issued, chain, list(second.admitted)),
                using=chain.db.alias,
            )
            chain.producer.request()
    return second.results()


def withdraw(chain: AvmChain, tx_id: ID) -> bool:
    """Take a transaction out of this node's mempool; return whether it was pending.

    For the operator. A peer that has the transaction may still get it accepted, or send it again.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.XCHAIN_MEMPOOL)
        waited = bool(mempool.raws(chain.db, [tx_id]))
        mempool.remove(chain.db, [tx_id])
    return waited


class _AvmAdmission:
    """The transactions of one commit, checked one after the other on the last accepted state."""

    def __init__(
        self,
        chain: AvmChain,
        txs: Sequence[AvmTx],
        state: XDatabaseState,
        now: int,
        *,
        verified: Collection[ID] = (),
    ) -> None:
        """Read the mempool; the rules are not executed for transactions in `verified`."""
        self.admitted: dict[ID, AvmTx] = {}
        self.dropped: dict[ID, str] = {}
        self.failures: dict[ID, InvalidTx] = {}
        self.known_failures: dict[ID, InvalidTx] = {}
        self._outcomes: dict[ID, AvmOutcomeOrError] = {}
        self._txs = txs
        self._state = state
        self._env = chain.env(state.chain)
        self._now = max(now, state.timestamp())
        self._verified = verified
        tx_ids = [tx.tx_id for tx in txs]
        keys = {key for tx in txs for key in conflict_keys(tx.unsigned)}
        self._spenders = mempool.spenders(chain.db, list(keys))
        self._pending = {*mempool.raws(chain.db, tx_ids), *self._spenders.values()}
        self._reasons = mempool.reasons(chain.db, tx_ids)
        self._room = MAX_BYTES - mempool.size(chain.db)

    def check_all(self) -> None:
        """Decide on each transaction. An unexpected exception affects only the sender of that transaction."""
        self._state.prefetch(self._txs)
        for tx in self._txs:
            try:
                self._outcomes[tx.tx_id] = self._check(tx)
            except Exception as error:  # the API logs it and returns -32603 to this sender alone
                self._outcomes[tx.tx_id] = error

    def results(self) -> list[AvmOutcomeOrError]:
        """Return the outcomes in the order of the transactions."""
        return [self._outcomes[tx.tx_id] for tx in self._txs]

    def _check(self, tx: AvmTx) -> AvmOutcomeOrError:
        tx_id = tx.tx_id
        if tx_id in self._pending:
            return tx_id
        if tx_id in self._reasons:
            return RefusedAvmTx(AvmIssueReason.REMEMBERED, cause=self._reasons[tx_id])
        try:
            self._verify(tx)
        except InvalidTx as reason:
            self.failures[tx_id] = reason
            if not any(isinstance(cause, MissingSharedUtxo) for cause in causes_of(reason)):
                self.dropped[tx_id] = str(reason)
            return reason
        refused = refusal(tx, self._room, self._spenders)
        if refused is not None:
            if not isinstance(refused, AvmMempoolFull):
                self.dropped[tx_id] = str(refused)
            return refused
        self.admitted[tx_id] = tx
        self._pending.add(tx_id)
        self._room -= len(tx.raw)
        self._spenders.update(dict.fromkeys(conflict_keys(tx.unsigned), tx_id))
        return tx_id

    def _verify(self, tx: AvmTx) -> None:
        if tx.tx_id in self._verified:
            return
        if tx.tx_id in self.known_failures:
            raise self.known_failures[tx.tx_id]
        verify_syntax(tx, self._env)
        verify_semantics(tx, self._state, self._env, self._now)


def verify(chain: AvmChain, tx: AvmTx, state: XDatabaseState, now: int) -> None:
    """Check a transaction on the last accepted state. Raises `InvalidTx` if it cannot be executed."""
    env = chain.env(state.chain)
    verify_syntax(tx, env)
    verify_semantics(tx, state, env, max(now, state.timestamp()))


def refusal(tx: AvmTx, room: int, spenders: Collection[ID]) -> RefusedAvmTx | None:
    """Return why the mempool does not accept a valid transaction; None if it does.

    Args:
        tx: The transaction, which is not pending.
        room: The bytes that are left in the mempool.
        spenders: The outputs that pending transactions spend.
    """
    size, tx_id = len(tx.raw), tx.tx_id
    if size > LARGEST_TX:
        return RefusedAvmTx(AvmIssueReason.TOO_LARGE, tx_id=tx_id, size=size, largest=LARGEST_TX)
    if size > room:
        return AvmMempoolFull(AvmIssueReason.MEMPOOL_FULL, tx_id=tx_id, size=size, room=room)
    if any(key in spenders for key in conflict_keys(tx.unsigned)):
        return RefusedAvmTx(AvmIssueReason.CONFLICTING_TX, tx_id=tx_id)
    return None

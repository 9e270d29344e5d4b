"""Taking transactions in: verified on the preferred state, kept until a block has them."""

from collections.abc import Sequence

from django.db import transaction as database

from chaindb.locks import Lock, acquire
from platform_app import runtime
from platform_app.executor.clock import at_next_block
from platform_app.executor.env import Env
from platform_app.executor.standard import execute
from platform_app.services import scheduling
from platform_app.services.environment import env
from platform_app.services.errors import (
    ConflictingTx,
    MempoolFull,
    RefusedIssue,
    TooLarge,
)
from platform_app.state.diff import Diff
from platform_app.store import mempool, rows
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.errors import InvalidTx
from primitives.ids import ID

MOST_BYTES = 64 * 1024 * 1024
"""Of all transactions that wait (pchain.md 5.6)."""
LARGEST_TX = 64 * 1024
"""Bytes of one transaction (pchain.md 5.6)."""

Outcome = ID | InvalidTx | RefusedIssue


def issue_tx(tx: Tx, *, now: int) -> ID:
    """Take one transaction in and return its ID.

    Raises:
        RefusedIssue: The mempool does not take it; it may be offered again.
        InvalidTx: It cannot be accepted.
    """
    (outcome,) = issue([tx], now=now)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@database.atomic(durable=True)
def issue(txs: Sequence[Tx], *, now: int) -> list[Outcome]:
    """Take transactions in, all in one commit, and return an ID or a reason for each.

    What is acknowledged is stored. A transaction that waits already, or that was accepted, is
    acknowledged again. One that fails verification is remembered as dropped, with the reason.

    Args:
        txs: In the order in which they came.
        now: Unix seconds.
    """
    acquire(Lock.PCHAIN_MEMPOOL)
    admission = _Admission(txs, now)
    outcomes = [admission.admit(tx) for tx in txs]
    mempool.add(admission.admitted, now)
    mempool.drop(admission.dropped, now)
    if admission.admitted:
        database.on_commit(scheduling.request_block)
    return outcomes


class _Admission:
    """One commit's worth of transactions, looked at one after the other."""

    def __init__(self, txs: Sequence[Tx], now: int) -> None:
        self.admitted: list[Tx] = []
        self.dropped: list[tuple[ID, str]] = []
        state = DatabaseState()
        state.prefetch(txs)
        self._env: Env = env(state.network, now)
        self._state = at_next_block(state, now, runtime.config())
        self._waiting = mempool.known([tx.tx_id for tx in txs])
        self._spenders = mempool.spenders(
            [spent.utxo_id for tx in txs for spent in rows.inputs_of(tx)]
        )
        self._room = MOST_BYTES - mempool.size()

    def admit(self, tx: Tx) -> Outcome:
        """Return the transaction's ID, or why it is not taken."""
        if tx.tx_id in self._waiting or self._state.tx(tx.tx_id) is not None:
            return tx.tx_id
        refused = self._refuse(tx)
        if refused is not None:
            return refused
        try:
            execute(tx, Diff(self._state), self._env)
        except InvalidTx as reason:
            self.dropped.append((tx.tx_id, str(reason)))
            return reason
        self._take(tx)
        return tx.tx_id

    def _refuse(self, tx: Tx) -> RefusedIssue | None:
        """Return what speaks against it, whatever it says; none of this is remembered."""
        size = len(tx.raw)
        if size > LARGEST_TX:
            return TooLarge(tx.tx_id, size, LARGEST_TX)
        if size > self._room:
            return MempoolFull(tx.tx_id, size, self._room)
        for spent in rows.inputs_of(tx):
            other = self._spenders.get(spent.utxo_id)
            if other is not None:
                return ConflictingTx(other)
        return None

    def _take(self, tx: Tx) -> None:
        self.admitted.append(tx)
        self._waiting.add(tx.tx_id)
        self._room -= len(tx.raw)
        for spent in rows.inputs_of(tx):
            self._spenders[spent.utxo_id] = tx.tx_id

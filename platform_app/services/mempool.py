"""Admission of transactions to the mempool."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from django.db import transaction

from chaindb.chains import X_CHAIN, is_left_out
from chaindb.locks import Lock
from platform_app import notifications
from platform_app.chain import PlatformChain
from platform_app.config import Env
from platform_app.executor.clock import at_next_block
from platform_app.executor.fees import gas_of_tx, verify_fits
from platform_app.executor.standard import execute
from platform_app.executor.warp import verify_warp_message
from platform_app.selectors import stakers
from platform_app.services.errors import (
    ConflictingTx,
    IssueReason,
    MempoolFull,
    RefusedIssue,
    TransactionTooLarge,
)
from platform_app.state.chain import Diff
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

    Until the chain is bootstrapped, the transactions of users are rejected, because the state is too old to check them.

    Unspecified: as long as this node runs no X-Chain, users cannot export to it here, because their coins would
    be lost. This is a rule of this API and not of blocks, about which the nodes of a network must agree:
    existing chains have exports in their blocks, and nodes of the reference can import them. So
    transactions from peers may export.

    Args:
        chain: The chain that they are for.
        txs: In order of arrival.
        now: Unix seconds.
        gossiped: Whether they come from peers, not from this node's users.
    """
    if not gossiped and not chain.is_synced():
        return [RefusedIssue(IssueReason.NOT_SYNCED) for _ in txs]
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
    context = _AdmissionContext.read(chain, txs, now)
    first = _Admission(txs, context, gossiped=gossiped)
    first.check_all()
    # If a block came between, the queries may have seen two states: then they reject no transaction.
    settled = blocks.read(chain.db) == context.place
    candidates = list(first.admitted.values()) if settled else txs
    dropped = first.dropped if settled else []
    if not candidates and not dropped:
        return first.outcomes
    return first.outcomes | _admit(chain, first, candidates, dropped, now)


def _admit(
    chain: PlatformChain,
    first: "_Admission",
    candidates: Sequence[Tx],
    dropped: Sequence[tuple[ID, str]],
    now: int,
) -> dict[ID, Outcome]:
    """Write admitted and dropped transactions under the lock, which excludes other admissions and blocks."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN_MEMPOOL)
        if blocks.read(chain.db) == first.context.place:
            second = _Admission(
                candidates, first.context, gossiped=first.gossiped, verified=first.admitted
            )
        else:
            second = _Admission(
                candidates, _AdmissionContext.read(chain, candidates, now), gossiped=first.gossiped
            )
        second.check_all()
        mempool.add(chain.db, second.admitted.values(), now, first.context.prices(second.admitted))
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
        env = chain.env(state.network, now)
        env = replace(env, signers=partial(stakers.signers_at, chain))
        return cls(chain, (state.network, state.tip), at, env)

    def verify(self, tx: Tx) -> None:
        """Check that a block with the transaction alone would be valid.

        Unspecified: the signers of warp messages are those at the last accepted height, because the next block's
        epoch is not known here; the builder leaves a transaction waiting until they are those of its epoch too.

        Raises:
            InvalidTx: It breaks a rule.
        """
        state, env = self.state, self.env
        try:
            verify_warp_message(tx.unsigned, state, env)
        except InvalidTx as cause:
            raise InvalidTx(IssueReason.MESSAGE_NOT_VERIFIED, cause=cause) from cause
        verify_fits(tx.unsigned, env.config, state.clock.fee_state())
        execute(tx, Diff(state), env)

    def prices(self, txs: Mapping[ID, Tx]) -> dict[ID, float]:
        """Return what admitted transactions burn per gas, if blocks take the dearest first (etna.md 2).

        Unspecified: where a transaction may pay a static fee, which depends on its kind, blocks take the oldest first.
        """
        config = self.env.config
        if not config.gas_fees_only:
            return {}
        return {
            tx_id: rows.burned(tx, self.env.asset_id) / gas
            for tx_id, tx in txs.items()
            if (gas := gas_of_tx(tx.unsigned, config.gas))
        }


class _Admission:
    """The transactions of one commit, checked one after the other."""

    def __init__(
        self,
        txs: Sequence[Tx],
        context: _AdmissionContext,
        *,
        gossiped: bool,
        verified: Collection[ID] = (),
    ) -> None:
        """Read the mempool; the rules are not executed for transactions in `verified`."""
        self.context = context
        self.gossiped = gossiped
        self.outcomes: dict[ID, Outcome] = {}
        self.admitted: dict[ID, Tx] = {}
        self.dropped: list[tuple[ID, str]] = []
        self._txs = txs
        self._verified = verified
        self._spenders = mempool.spenders(
            context.chain.db, [spent.utxo_id for tx in txs for spent in rows.inputs_of(tx)]
        )
        # Without the lock a transaction may arrive between the two queries; it would conflict with itself.
        self._pending = mempool.known(context.chain.db, [tx.tx_id for tx in txs]) | {
            *self._spenders.values()
        }
        self._room = MAX_BYTES - mempool.size(context.chain.db)

    def check_all(self) -> None:
        """Decide on each transaction. An unexpected exception affects only the sender of that transaction."""
        for tx in self._txs:
            try:
                self.outcomes[tx.tx_id] = self._check(tx)
            except Exception as error:  # the API logs it and returns -32603 to this sender alone
                self.outcomes[tx.tx_id] = error

    def _check(self, tx: Tx) -> Outcome:
        """Return the transaction's ID, or the reason why it is not admitted."""
        if tx.tx_id in self._pending or self.context.state.txs.get(tx.tx_id) is not None:
            return tx.tx_id
        refused = self._refuse(tx)
        if refused is not None:
            return refused
        try:
            if tx.tx_id not in self._verified:
                self.context.verify(tx)
        except InvalidTx as reason:
            self.dropped.append((tx.tx_id, str(reason)))
            return reason
        self._add(tx)
        return tx.tx_id

    def _refuse(self, tx: Tx) -> RefusedIssue | None:
        """Return why the mempool rejects it, independent of the rules; such reasons are not recorded."""
        unsigned, x_chain_id = tx.unsigned, self.context.env.x_chain_id
        to_x_chain = isinstance(unsigned, ExportTx) and unsigned.destination_chain == x_chain_id
        if to_x_chain and not self.gossiped and is_left_out(X_CHAIN):
            return RefusedIssue(IssueReason.NOTHING_IMPORTS, tx_id=tx.tx_id)
        size = len(tx.raw)
        if size > self._room:
            return MempoolFull(IssueReason.MEMPOOL_FULL, tx_id=tx.tx_id, size=size, room=self._room)
        for spent in rows.inputs_of(tx):
            if spent.utxo_id in self._spenders:
                return ConflictingTx(IssueReason.CONFLICTING_TX, tx_id=tx.tx_id)
        return None

    def _add(self, tx: Tx) -> None:
        self.admitted[tx.tx_id] = tx
        self._pending.add(tx.tx_id)
        self._room -= len(tx.raw)
        for spent in rows.inputs_of(tx):
            self._spenders[spent.utxo_id] = tx.tx_id

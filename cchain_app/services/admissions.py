"""Admits transactions to the pool.

Envelopes become transactions with verified signers first: signers are recovered together, because the engine does
that in parallel, and no accounts are read. The transactions that the pool accepts are stored in a single database
transaction.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from cchain_app import notifications
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm import failures
from cchain_app.evm.engine import AccountState
from cchain_app.evm.upgrades import role_of
from cchain_app.pool.blobs import check_blobs
from cchain_app.pool.checks import (
    AdmissionRules,
    check_after_sender,
    check_before_sender,
    check_size,
)
from cchain_app.pool.delegation import PLAIN, Authorities, Delegation
from cchain_app.pool.entry import (
    EMPTY_ACCOUNT_QUEUE,
    AccountQueue,
    Newcomer,
    PoolEntry,
    PoolLimits,
    make_entry,
)
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.pool.eviction import slots_of
from cchain_app.pool.queues import Admission, Outcome, PoolCounts, check_against, select
from cchain_app.precompiles.addresses import TRANSACTION_ALLOW_LIST, is_enabled
from cchain_app.selectors import blocks, development, pool, state
from cchain_app.selectors.blocks import (
    base_fee_after,
    blob_market_after,
    fork_of_next,
    precompiles_after,
)
from cchain_app.selectors.forked import supplied
from cchain_app.store import blobs as blob_rows
from cchain_app.store import pool as pool_rows
from cchain_app.store import queries
from cchain_app.txs.blobs import Sidecar, is_blob_transaction, separate
from cchain_app.txs.codec import (
    DecodedTransaction,
    check_signature,
    decode_unsigned,
    signed_digest,
    with_sender,
)
from cchain_app.txs.signing import authorities_of, names_sender
from cchain_app.txs.transaction import BLOB, InvalidTransaction, Transaction, TransactionReason
from chaindb import clock
from chaindb.database import SqlQuery
from chaindb.locks import QUEUE_SECONDS, Lock
from primitives.counting import counted
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH
from primitives.networks import LOCAL

_NOT_YET_STORED = 1 << 62
"""First arrival number of newcomers, above those of stored transactions, which are the keys of their rows."""

_log: Final = logging.getLogger(__name__)

Refusal = PoolRejection | InvalidTransaction
"""Why an envelope is rejected without reading accounts."""


def read_envelopes(
    chain: EvmChain, raws: Sequence[bytes], *, gossiped: bool = False
) -> list[Newcomer | Refusal]:
    """Decode envelopes, recover their signers together, and do all checks that need no account.

    The checks are in go-ethereum's order. Unspecified: the type of blob transactions and the size are checked before all
    others, so that nothing oversized is decoded, and senders of blobs learn where they are not accepted. The proofs of
    blobs are verified last, for one transaction at a time.

    Args:
        chain: The chain.
        raws: The envelopes; those of blob transactions with their sidecars.
        gossiped: Whether other nodes sent them. These have acknowledged them, so the limits that
            protect this node's own users from mistakes do not apply, as in go-ethereum.
    """
    limits = chain.pool_limits
    if gossiped:
        limits = replace(limits, fee_cap=None, unprotected_allowed=True)
    rules = admission_rules(chain, limits)
    sidecars: dict[Hash, Sidecar] = {}
    outcomes = [_decoded(chain, raw, rules, sidecars) for raw in raws]
    decoded = [outcome for outcome in outcomes if isinstance(outcome, DecodedTransaction)]
    senders = iter(chain.recover_senders([signed_digest(item) for item in decoded]))
    newcomers = _with_authorities(
        chain,
        [
            _with_sender(other, next(senders), rules)
            if isinstance(other, DecodedTransaction)
            else other
            for other in outcomes
        ],
    )
    return [_with_sidecar(chain, item, sidecars) for item in newcomers] if sidecars else newcomers


def read_impersonated(
    chain: EvmChain, transaction: Transaction, sidecar: Sidecar | None = None
) -> Newcomer | Refusal:
    """Check an unsigned transaction like an envelope, and recover its authorities.

    The caller has checked that its sender may send without a key.
    """
    rules = admission_rules(chain)
    try:
        check_before_sender(transaction, rules)
        check_after_sender(transaction, rules)
        if transaction.type == BLOB:
            check_accepts_blobs(chain)
            check_blobs(transaction, sidecar, rules)
    except (PoolRejection, InvalidTransaction) as refusal:
        return refusal
    (newcomer,) = _with_authorities(chain, [transaction])
    return (
        newcomer if sidecar is None else _with_sidecar(chain, newcomer, {transaction.hash: sidecar})
    )


def admission_rules(chain: EvmChain, limits: PoolLimits | None = None) -> AdmissionRules:
    """Return the rules for transactions that arrive now, with the chain's limits or with others."""
    head = blocks.head(chain)
    return AdmissionRules(
        fork=fork_of_next(chain, head),
        block_gas_limit=head.header.gas_limit,
        limits=limits or chain.pool_limits,
        execution=chain.config.limits,
        max_blobs=blob_market_after(chain, head).most if chain.config.blob_transactions else 0,
        stateful=precompiles_after(chain, head),
    )


def check_accepts_blobs(chain: EvmChain) -> None:
    """Check that the pool takes blob transactions: on a development chain alone.

    A local network's nodes that follow a development chain have no blobs, and its blocks are the rows of this node.

    Raises:
        InvalidTransaction: It takes none.
    """
    if not (chain.is_development and chain.config.blob_transactions):
        raise InvalidTransaction(TransactionReason.BLOBS_NOT_SUPPORTED)


def _decoded(
    chain: EvmChain, raw: bytes, rules: AdmissionRules, sidecars: dict[Hash, Sidecar]
) -> DecodedTransaction | Refusal:
    """Decode an envelope, and add its sidecar to those of others by the hash of its transaction."""
    sidecar = None
    try:
        if is_blob_transaction(raw):
            check_accepts_blobs(chain)
            raw, sidecar = separate(raw, rules.limits.transaction_bytes)
        check_size(len(raw), rules.limits)
        decoded = decode_unsigned(raw)
        check_before_sender(decoded, rules)
        check_signature(decoded, chain.config.chain_id)
        if decoded.type == BLOB:
            check_blobs(decoded, sidecar, rules)
    except (PoolRejection, InvalidTransaction) as refusal:
        return refusal
    if chain.node.network_id == LOCAL and names_sender(decoded):
        # The bytes of an impersonated transaction: a recovered sender would give another transaction, with the same hash.
        return InvalidTransaction(TransactionReason.SIGNATURE_VALUES)
    if sidecar is not None:
        sidecars[decoded.hash] = sidecar
    return decoded


def _with_sidecar(
    chain: EvmChain, outcome: Newcomer | Refusal, sidecars: Mapping[Hash, Sidecar]
) -> Newcomer | Refusal:
    """Verify the proofs of a transaction's blobs, if it has some and was not rejected."""
    sidecar = None
    if isinstance(outcome, Newcomer):
        sidecar = sidecars.get(outcome.transaction.hash)
    if sidecar is None or not isinstance(outcome, Newcomer):
        return outcome
    with chain.kzg_lock.held(QUEUE_SECONDS):
        if not chain.kzg.verify(sidecar):
            return PoolRejection(PoolReason.WRONG_PROOF)
    return outcome._replace(sidecar=sidecar)


def _with_sender(
    decoded: DecodedTransaction, sender: Address | None, rules: AdmissionRules
) -> Transaction | Refusal:
    if sender is None:
        return InvalidTransaction(TransactionReason.SENDER_NOT_RECOVERABLE)
    try:
        check_after_sender(decoded, rules)
    except PoolRejection as rejection:
        return rejection
    return with_sender(decoded, sender)


def _with_authorities(
    chain: EvmChain, outcomes: Sequence[Transaction | Refusal]
) -> list[Newcomer | Refusal]:
    """Recover authorities last, so that each recovery is covered by the transaction's gas."""
    setting_code = [
        outcome
        for outcome in outcomes
        if isinstance(outcome, Transaction) and outcome.authorizations
    ]
    recovered = iter(authorities_of(setting_code, chain.recover_senders))
    return [
        Newcomer(item, next(recovered) if item.authorizations else ())
        if isinstance(item, Transaction)
        else item
        for item in outcomes
    ]


class AdmissionResult(NamedTuple):
    """The result of admitting a batch."""

    outcomes: list[Outcome]
    """One outcome per transaction, in the same order."""
    pending: Sequence[Hash]
    """Transactions that became executable: those of the batch, and those in the pool whose nonce gap it filled."""


def add_to_pool(chain: EvmChain, newcomers: Sequence[Newcomer]) -> AdmissionResult:
    """Store the transactions that the pool accepts, in one commit; then announce them and request a block.

    Raises:
        UpstreamError: The chain is a fork, and the upstream does not return the senders' accounts.
    """
    return supplied(chain, partial(_admit, chain, newcomers))


def take_back(chain: EvmChain, raws: Sequence[bytes]) -> None:
    """Add the transactions of other nodes' rejected blocks to the pool.

    The decision on the blocks is final even if this fails: clients send transactions that were not mined again.
    """
    try:
        read = read_envelopes(chain, raws, gossiped=True)
        newcomers = [item for item in read if isinstance(item, Newcomer)]
        if newcomers:
            add_to_pool(chain, newcomers)
    except Exception:
        lost = counted(len(raws), "transaction")
        _log.exception("not in the mempool: %s of rejected blocks", lost)


def _admit(chain: EvmChain, newcomers: Sequence[Newcomer]) -> AdmissionResult:
    memory = chain.memory.transactions
    admissions: Admissions | None = None
    try:
        with chain.db.atomic_together():
            chain.db.acquire(Lock.CCHAIN_POOL)
            with chain.db.read_ahead(queries.of_following(chain.memory.blocks.head)):
                head = blocks.catch_up(chain)
            with chain.db.read_ahead(_queries(chain, newcomers)):
                # All changes of overrides and state take this lock too, so the values read here stay valid.
                development.refresh_mining_settings(chain)
                admissions = Admissions(chain, head, newcomers, pool_rows.extent(chain.db))
            outcomes = [admissions.admit(newcomer) for newcomer in newcomers]
            pool_rows.remove(chain.db, admissions.removed)
            pool_rows.add(chain.db, admissions.added.values(), admissions.now)
            blob_rows.add(chain.db, admissions.added.values(), admissions.now)
            # Before the commit: immediately after it a block may include them and remove them from the memory.
            memory.remember(item.transaction for item in admissions.added.values())
            if admissions.pending and development.mines_on_arrival(chain):
                chain.producer.request()
    except BaseException:
        if admissions is not None:
            memory.forget(other.transaction for other in admissions.added.values())
        raise
    chain.memory.pool.changed()
    if admissions.pending:
        pending = notifications.pending_transactions(admissions.pending)
        chain.events.send(chain.name, pending)
    return AdmissionResult(outcomes, admissions.pending)


def _queries(chain: EvmChain, newcomers: Sequence[Newcomer]) -> list[SqlQuery]:
    named = _named(newcomers)
    return queries.of_admission(chain.db, named, is_development=chain.is_development)


class Admissions:
    """The pool while a batch is admitted: the stored transactions, and the changes by the batch so far.

    Args:
        chain: The chain.
        head: Its head.
        batch: All transactions that will be admitted.
        extent: Extent of the stored pool.
    """

    def __init__(
        self,
        chain: EvmChain,
        head: AcceptedBlock,
        batch: Sequence[Newcomer],
        extent: pool_rows.Extent,
    ) -> None:
        self._chain = chain
        self._base_fee = base_fee_after(self._chain, head) or 0
        self._limits = self._chain.pool_limits
        if self._base_fee < self._limits.minimum_fee and (
            chain.is_development or chain.config.stateful
        ):
            # The base fee was set manually to a value below the floor, or the fee manager has another floor.
            self._limits = replace(self._limits, minimum_fee=self._base_fee)
        accounts = _named(batch)
        state.prefetch_accounts(self._chain, list(accounts), head.number)
        self._state = state.state_at(self._chain, head.number)
        self._lists_senders = precompiles_after(chain, head).transaction_allow_list
        waiting = pool_rows.entries_of(self._chain.db, accounts) if extent.slots else ()
        self._queues = pool.queues(self._chain, waiting)
        self._authorities = Authorities(
            pool_rows.entries_with_authorities(self._chain.db) if extent.with_authorities else ()
        )
        self._counts: PoolCounts | None = None
        if self._may_fill(batch, extent.slots):
            self._queues = pool.queues(
                self._chain, pool_rows.entries(self._chain.db, self._chain.memory.pool)
            )
            self._counts = _counts_of(self._queues.values())
        self.now = clock.wall()
        """Arrival time of the whole batch, in Unix seconds."""
        self._arrivals = 0
        self.added: dict[Hash, Newcomer] = {}
        self.removed: list[Hash] = []
        self.pending: list[Hash] = []

    def admit(self, newcomer: Newcomer) -> Outcome:
        """Admit a transaction, or return the reason for rejecting it."""
        have, want = newcomer.transaction.chain_id, self._chain.config.chain_id
        if have is not None and have != want:
            # It was validated before anvil_setChainId changed the chain ID.
            return InvalidTransaction(TransactionReason.WRONG_CHAIN_ID, have=have, want=want)
        if self._is_mined(newcomer):
            return PoolRejection(PoolReason.ALREADY_KNOWN)
        self._arrivals += 1
        entry = make_entry(newcomer, arrival=_NOT_YET_STORED + self._arrivals, received_at=self.now)
        sender = entry.sender
        if self._lists_senders and not is_enabled(
            role_of(self._state, TRANSACTION_ALLOW_LIST, sender)
        ):
            words = failures.sender_not_allowed(sender)
            return PoolRejection(PoolReason.SENDER_NOT_LISTED, words=words)
        account = self._state.account(sender)
        try:
            admission = check_against(
                entry,
                nonce=account.nonce if account else 0,
                balance=self._limits.funds(account.balance if account else 0),
                queue=self._queues.get(sender, EMPTY_ACCOUNT_QUEUE),
                delegation=self._delegation(newcomer, entry, account),
                counts=self._counts,
                others=lambda: [queue for owner, queue in self._queues.items() if owner != sender],
                limits=self._limits,
                base_fee=self._base_fee,
            )
        except PoolRejection as rejection:
            return rejection
        self._apply(newcomer, entry, admission)
        return entry.hash

    def in_order(self, gas: int) -> list[Transaction] | None:
        """Return the admitted transactions in the order in which they should run.

        None if some of them have to wait: for a nonce, for a lower base fee, or because their gas limits together
        exceed `gas`. For a pool that was empty before the batch.
        """
        pending = [queue.pending for queue in self._queues.values()]
        settings = self._chain.settings
        chosen = select(
            pending,
            self._base_fee,
            gas,
            self._chain.pool_limits.minimum_tip,
            by_arrival=settings.order == "fifo",
            most=settings.max_transactions,
        )
        if len(chosen) < len(self.added):
            return None
        return [self.added[entry.hash].transaction for entry in chosen]

    def _is_mined(self, newcomer: Newcomer) -> bool:
        """Return whether a block contains it. Lowered nonces can make a mined transaction look valid again."""
        if not development.conditions(self._chain).nonces_lowered:
            return False
        return blocks.find_transaction(self._chain, newcomer.transaction.hash) is not None

    def _delegation(
        self, newcomer: Newcomer, entry: PoolEntry, account: AccountState | None
    ) -> Delegation:
        if newcomer.transaction.is_impersonated and not entry.authorities:
            return PLAIN  # the rule protects a public pool; a developer may let a contract send several
        has_code = account is not None and account.code_hash != EMPTY_HASH
        delegated = has_code or entry.sender in self._authorities
        if not delegated and not entry.authorities:
            return PLAIN
        queues = (
            self._queues.get(authority, EMPTY_ACCOUNT_QUEUE) for authority in entry.authorities
        )
        waiting = (len(queue.pending) + len(queue.queued) for queue in queues)
        return Delegation(delegated, max(waiting, default=0))

    def _apply(self, newcomer: Newcomer, entry: PoolEntry, admission: Admission) -> None:
        before = self._queues.get(entry.sender, EMPTY_ACCOUNT_QUEUE)
        self._queues[entry.sender] = admission.queue
        self.added[entry.hash] = newcomer
        self._authorities.add(entry)
        for gone in admission.evicted:
            self._forget(gone)
        if admission.replaces is not None:
            self._forget(admission.replaces)
        self._recount(before, admission)
        if admission.pending:
            self.pending.append(entry.hash)
        self.pending.extend(promoted.hash for promoted in admission.promoted)

    def _forget(self, entry: PoolEntry) -> None:
        self._authorities.remove(entry)
        if self.added.pop(entry.hash, None) is None:
            self.removed.append(entry.hash)

    def _recount(self, before: AccountQueue, admission: Admission) -> None:
        """Update the counts and the other accounts' queues, if limits matter."""
        if self._counts is None:
            return
        if admission.evicted:
            gone = {entry.hash for entry in admission.evicted}
            waiting = [entry for queue in self._queues.values() for entry in queue.waiting]
            self._queues = pool.queues(
                self._chain, (entry for entry in waiting if entry.hash not in gone)
            )
            self._counts = _counts_of(self._queues.values())
            return
        lost, won = _counts_of([before]), _counts_of([admission.queue])
        self._counts = PoolCounts(
            self._counts.pending + won.pending - lost.pending,
            self._counts.queued + won.queued - lost.queued,
        )

    def _may_fill(self, batch: Sequence[Newcomer], slots: int) -> bool:
        """Return whether the pool can reach a limit with this batch; otherwise its slots are not counted."""
        limit = min(self._limits.queued_slots, self._limits.pending_slots)
        coming = sum(item.slots for item in batch)
        return slots + coming > limit


def _named(batch: Iterable[Newcomer]) -> set[Address]:
    """Return the accounts that the transactions change or may change: senders and authorities."""
    return {who for item in batch for who in (item.transaction.sender, *item.authorities)}


def _counts_of(queues: Iterable[AccountQueue]) -> PoolCounts:
    """Return the number of slots that the queues take."""
    pending = queued = 0
    for queue in queues:
        pending += slots_of(queue.pending)
        queued += slots_of(queue.queued)
    return PoolCounts(pending, queued)

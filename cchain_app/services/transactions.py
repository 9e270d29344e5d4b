"""Taking in signed transactions: `eth_sendRawTransaction`, and batches of it.

Submissions that arrive while another is being written wait and are then written together, in one
transaction of the database: under load the cost of a commit is shared by all that waited for it.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction as database

from cchain_app import notifications, runtime
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.pool.admission import (
    Admission,
    AdmissionRules,
    PoolCounts,
    check_after_sender,
    check_against,
    check_before_sender,
    check_size,
)
from cchain_app.pool.entry import SLOT_BYTES, PoolEntry, make_entry
from cchain_app.pool.errors import PoolRejection
from cchain_app.pool.eviction import slots_of
from cchain_app.pool.ordering import EMPTY_LANE, Lane
from cchain_app.selectors import blocks, pool, state
from cchain_app.selectors.next_block import base_fee_after, fork_after
from cchain_app.services import scheduling
from cchain_app.services.limits import pool_limits
from cchain_app.store import pool as rows
from cchain_app.txs.codec import (
    DecodedTransaction,
    check_signature,
    decode_unsigned,
    signed_digest,
    with_sender,
)
from cchain_app.txs.errors import InvalidTransaction, SenderNotRecoverable
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from chaindb.locks import Lock, acquire
from primitives.evm import Address, Hash

Outcome = Hash | PoolRejection | InvalidTransaction
"""The hash of a transaction that is in the pool now, or why it is not."""

_NOT_YET_STORED = 1 << 62
"""Arrival numbers of newcomers: after all stored ones, whose numbers are their rows' keys."""


def submit(raws: Sequence[bytes]) -> list[Outcome]:
    """Take signed envelopes into the pool, in order, and return what became of each.

    A hash is returned after the transaction that stores it is committed: it survives a crash.
    """
    outcomes = _read(raws)
    job = _Job([one for one in outcomes if isinstance(one, Transaction)])
    if job.transactions:
        _QUEUE.work(job)
    admitted = iter(job.outcomes)
    return [next(admitted) if isinstance(one, Transaction) else one for one in outcomes]


def _read(raws: Sequence[bytes]) -> list[Transaction | PoolRejection | InvalidTransaction]:
    """Decode envelopes, recover their senders together, and check what needs no state.

    The checks are in go-ethereum's order. Unspecified: but for the size, which comes first of all,
    so that nothing oversized is decoded.
    """
    head = blocks.head()
    rules = AdmissionRules(
        fork=fork_after(head, clock.now()),
        block_gas_limit=head.header.gas_limit,
        limits=pool_limits(),
    )
    outcomes = [_decoded(raw, rules) for raw in raws]
    decoded = [one for one in outcomes if isinstance(one, DecodedTransaction)]
    senders = iter(runtime.recover_senders()([signed_digest(one) for one in decoded]))
    return [
        _with_sender(one, next(senders), rules) if isinstance(one, DecodedTransaction) else one
        for one in outcomes
    ]


def _decoded(
    raw: bytes, rules: AdmissionRules
) -> DecodedTransaction | PoolRejection | InvalidTransaction:
    try:
        check_size(len(raw), rules.limits)
        decoded = decode_unsigned(raw)
        check_before_sender(decoded, rules)
        check_signature(decoded, runtime.config().chain_id)
    except (PoolRejection, InvalidTransaction) as refusal:
        return refusal
    return decoded


def _with_sender(
    decoded: DecodedTransaction, sender: Address | None, rules: AdmissionRules
) -> Transaction | PoolRejection | InvalidTransaction:
    if sender is None:
        return SenderNotRecoverable()
    try:
        check_after_sender(decoded, rules)
    except PoolRejection as rejection:
        return rejection
    return with_sender(decoded, sender)


@dataclass(slots=True)
class _Job:
    """The transactions of one submission, and in the end their outcomes."""

    transactions: list[Transaction]
    outcomes: list[Outcome] = field(default_factory=list)
    error: BaseException | None = None
    done: bool = False


class _AdmissionQueue:
    """Whoever comes first writes for all who have come by then; the others wait for it."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._waiting: list[_Job] = []

    def work(self, job: _Job) -> None:
        """Return when the job is done.

        Raises:
            Exception: What the database raised; then nothing of the job was stored.
        """
        self._waiting.append(job)
        with self._writing:
            if not job.done:
                jobs, self._waiting = self._waiting, []
                self._write(jobs)
        if job.error is not None:
            raise job.error

    def _write(self, jobs: list[_Job]) -> None:
        try:
            admitted = iter(_admit([one for job in jobs for one in job.transactions]))
            for job in jobs:
                job.outcomes = [next(admitted) for _ in job.transactions]
        except BaseException as error:  # each waiting thread raises it itself
            for job in jobs:
                job.error = error
        for job in jobs:
            job.done = True


_QUEUE = _AdmissionQueue()


def _admit(transactions: Sequence[Transaction]) -> list[Outcome]:
    """Store what the pool takes, in one commit; then tell about it and ask for a block."""
    now = clock.now()
    memory = blocks.memory().transactions
    admissions: _Admissions | None = None
    try:
        with database.atomic(durable=True):
            acquire(Lock.CCHAIN_POOL)
            admissions = _Admissions(blocks.catch_up(), transactions, now)
            outcomes = [admissions.admit(one) for one in transactions]
            rows.remove(admissions.removed)
            rows.add(admissions.added.values(), now)
            # Before the commit: right after it a block may have them, and have them forgotten.
            memory.remember(admissions.added.values())
    except BaseException:
        memory.forget(admissions.added.values() if admissions else ())
        raise
    blocks.memory().pool.changed()
    if admissions.executable:
        notifications.pending_transactions(admissions.executable)
        scheduling.request_block()
    return outcomes


class _Admissions:
    """The pool while a batch is admitted: what is stored, and what the batch has changed so far."""

    def __init__(self, head: AcceptedBlock, batch: Sequence[Transaction], now: int) -> None:
        self._limits = pool_limits()
        self._base_fee = base_fee_after(head) or 0
        senders = {transaction.sender for transaction in batch}
        state.prefetch_accounts(list(senders), head.number)
        self._state = state.state_at(head.number)
        self._lanes = pool.lanes(rows.entries_of(senders))
        self._counts: PoolCounts | None = None
        if self._may_fill(batch):
            self._lanes = pool.lanes(rows.entries())
            self._counts = _counts_of(self._lanes.values())
        self._now = now
        self._arrivals = 0
        self.added: dict[Hash, Transaction] = {}
        self.removed: list[Hash] = []
        self.executable: list[Hash] = []

    def admit(self, transaction: Transaction) -> Outcome:
        """Take a transaction in or say why not."""
        self._arrivals += 1
        entry = make_entry(
            transaction, arrival=_NOT_YET_STORED + self._arrivals, received_at=self._now
        )
        sender = transaction.sender
        account = self._state.account(sender)
        try:
            admission = check_against(
                entry,
                nonce=account.nonce if account else 0,
                balance=account.balance if account else 0,
                lane=self._lanes.get(sender, EMPTY_LANE),
                counts=self._counts,
                others=lambda: [lane for owner, lane in self._lanes.items() if owner != sender],
                limits=self._limits,
                base_fee=self._base_fee,
            )
        except PoolRejection as rejection:
            return rejection
        self._apply(transaction, admission)
        return transaction.hash

    def _apply(self, transaction: Transaction, admission: Admission) -> None:
        before = self._lanes.get(transaction.sender, EMPTY_LANE)
        self._lanes[transaction.sender] = admission.lane
        self.added[transaction.hash] = transaction
        for gone in admission.evicted:
            self._forget(gone)
        if admission.replaces is not None:
            self._forget(admission.replaces)
        self._recount(before, admission)
        if admission.executable:
            self.executable.append(transaction.hash)
        self.executable.extend(promoted.hash for promoted in admission.promoted)

    def _forget(self, entry: PoolEntry) -> None:
        if self.added.pop(entry.hash, None) is None:
            self.removed.append(entry.hash)

    def _recount(self, before: Lane, admission: Admission) -> None:
        """Bring counts and others' lanes up to date, where they matter."""
        if self._counts is None:
            return
        if admission.evicted:
            gone = {entry.hash for entry in admission.evicted}
            waiting = [entry for lane in self._lanes.values() for entry in lane.waiting]
            self._lanes = pool.lanes(entry for entry in waiting if entry.hash not in gone)
            self._counts = _counts_of(self._lanes.values())
            return
        lost, won = _counts_of([before]), _counts_of([admission.lane])
        self._counts = PoolCounts(
            self._counts.executable + won.executable - lost.executable,
            self._counts.queued + won.queued - lost.queued,
        )

    def _may_fill(self, batch: Sequence[Transaction]) -> bool:
        """Return whether the pool can reach a limit with this batch; only then it is counted."""
        room = min(self._limits.queued_slots, self._limits.executable_slots)
        return rows.slots() + sum(-(-len(one.raw) // SLOT_BYTES) for one in batch) > room


def _counts_of(lanes: Iterable[Lane]) -> PoolCounts:
    """Return the slots that lanes take."""
    executable = queued = 0
    for lane in lanes:
        executable += slots_of(lane.executable)
        queued += slots_of(lane.queued)
    return PoolCounts(executable, queued)

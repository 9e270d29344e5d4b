"""A pool under random input always keeps its limits and its order."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cchain_app.pool.delegation import PLAIN
from cchain_app.pool.entry import PoolLimits
from cchain_app.pool.errors import PoolRejection
from cchain_app.pool.eviction import slots_of, trim
from cchain_app.pool.queues import PoolCounts, check_against, next_nonce, select, settle, split
from primitives.evm import Address
from tests.builders.pool import entry
from tests.searching import cases

LIMITS = PoolLimits(
    pending_slots=6, queued_slots=4, account_pending_slots=3, account_queued=3,
    queued_lifetime=100,
)  # fmt: skip
SENDERS = [Address(bytes((n,)) * 20) for n in range(1, 7)]
COST = 21_000

senders = st.sampled_from(SENDERS)
prices = st.integers(min_value=1, max_value=40)


class Pool(RuleBasedStateMachine):
    """A pool in the form of a service's: entries by hash, and the accounts."""

    @initialize()
    def begin(self):
        self.entries = {}
        self.nonces = dict.fromkeys(SENDERS, 0)
        self.balances = dict.fromkeys(SENDERS, 1_000 * COST)
        self.now = 1_000
        self.base_fee = 10

    def waiting(self, sender):
        return [entry for entry in self.entries.values() if entry.sender == sender]

    def queue(self, sender):
        return split(self.waiting(sender), self.nonces[sender], self.balances[sender])

    def queues(self, but=None):
        return [self.queue(sender) for sender in SENDERS if sender != but]

    def counts(self):
        queues = self.queues()
        return PoolCounts(
            sum(slots_of(queue.pending) for queue in queues),
            sum(slots_of(queue.queued) for queue in queues),
        )

    @rule(
        sender=senders,
        ahead=st.sampled_from([-2, -1, 0, 0, 0, 0, 1, 2]),
        fee=prices,
        tip=prices,
        large=st.booleans(),
    )
    def send(self, sender, ahead, fee, tip, large):
        free = next_nonce(self.nonces[sender], self.waiting(sender))
        newcomer = entry(
            max(self.nonces[sender], free + ahead),
            sender=sender,
            max_fee_per_gas=max(fee, tip),
            max_priority_fee_per_gas=tip,
            size=40_000 if large else 100,
            received_at=self.now,
        )
        before = self.queue(sender)
        old = next((o for o in self.waiting(sender) if o.nonce == newcomer.nonce), None)
        outbid = old is None or self.outbids(newcomer, old)
        try:
            admission = check_against(
                newcomer,
                nonce=self.nonces[sender],
                balance=self.balances[sender],
                queue=before,
                delegation=PLAIN,
                counts=self.counts(),
                others=lambda: self.queues(but=sender),
                limits=LIMITS,
                base_fee=self.base_fee,
            )
        except PoolRejection:
            return
        assert outbid
        assert admission.replaces == old
        for leaving in (*admission.evicted, *([old] if old else [])):
            del self.entries[leaving.hash]
        self.entries[newcomer.hash] = newcomer
        assert admission.queue == self.queue(sender)
        self.check_outcome(admission, newcomer, before)

    def outbids(self, new, old):
        return (
            new.max_fee_per_gas > old.max_fee_per_gas
            and new.max_priority_fee_per_gas > old.max_priority_fee_per_gas
            and 10 * new.max_fee_per_gas >= 11 * old.max_fee_per_gas - 9
            and 10 * new.max_priority_fee_per_gas >= 11 * old.max_priority_fee_per_gas - 9
        )

    def check_outcome(self, admission, newcomer, before):
        after = self.queue(newcomer.sender)
        assert admission.pending is (newcomer in after.pending)
        fresh = {entry for entry in after.pending if entry not in before.pending}
        assert {*admission.promoted} == fresh - {newcomer}
        if not admission.pending:
            assert not any(entry in self.pending_before for entry in admission.evicted)

    @rule(sender=senders, balance=st.integers(min_value=0, max_value=60))
    def accept_block(self, sender, balance):
        """A block includes the best-paying transactions; one sender's balance changes; the pool is updated."""
        pending = [queue.pending for queue in self.queues()]
        for chosen in select(pending, self.base_fee, 2 * COST):
            assert chosen.nonce == self.nonces[chosen.sender]
            self.nonces[chosen.sender] += 1
        self.balances[sender] = balance * COST
        settled = [
            settle(
                self.waiting(sender), self.nonces[sender], self.balances[sender],
                block_gas_limit=3 * COST, now=self.now, limits=LIMITS,
            )
            for sender in SENDERS
        ]  # fmt: skip
        leaving = [entry for outcome in settled for entry in outcome.dropped]
        leaving += trim([outcome.queue for outcome in settled], LIMITS, self.base_fee)
        for entry_ in leaving:
            del self.entries[entry_.hash]

    @rule(seconds=st.integers(min_value=1, max_value=60))
    def wait(self, seconds):
        self.now += seconds

    @rule(base_fee=st.integers(min_value=0, max_value=40))
    def move_base_fee(self, base_fee):
        self.base_fee = base_fee

    @invariant()
    def limits_hold(self):
        queues = self.queues()
        pending, queued = self.counts()
        assert queued <= LIMITS.queued_slots
        assert pending + queued <= LIMITS.slots
        assert all(len(queue.queued) <= LIMITS.account_queued for queue in queues)
        if pending > LIMITS.pending_slots:
            most = max(slots_of(queue.pending) for queue in queues)
            assert most <= LIMITS.account_pending_slots

    @invariant()
    def executable_ones_are_gap_free_and_funded(self):
        for sender in SENDERS:
            queue = self.queue(sender)
            first = self.nonces[sender]
            expected = list(range(first, first + len(queue.pending)))
            assert [entry.nonce for entry in queue.pending] == expected
            assert sum(entry.cost for entry in queue.pending) <= self.balances[sender]
            assert queue.used == ()

    @invariant()
    def a_nonce_waits_once(self):
        places = [(entry.sender, entry.nonce) for entry in self.entries.values()]
        assert len(places) == len(set(places))

    @invariant()
    def remember_what_is_executable(self):
        self.pending_before = {entry for queue in self.queues() for entry in queue.pending}


Pool.TestCase.settings = settings(max_examples=cases(20), stateful_step_count=40, deadline=None)
TestPool = Pool.TestCase

"""The pending transactions, their order of execution, and the changes by a new head."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.pool.entry import PoolLimits
from cchain_app.pool.queues import next_nonce, select, settle, split
from tests.builders.pool import BOB, entry, paying

RICH = 10**30
COST = 2_100_000


def nonces(entries):
    return [entry.nonce for entry in entries]


def settled(waiting, *, nonce=0, balance=RICH, block_gas_limit=30_000_000, now=1_001, **limits):
    return settle(
        waiting, nonce, balance,
        block_gas_limit=block_gas_limit, now=now, limits=PoolLimits(**limits),
    )  # fmt: skip


def test_a_gap_is_not_executable():
    queue = split([entry(5), entry(3), entry(6), entry(2)], 2, RICH)
    assert nonces(queue.pending) == [2, 3]
    assert nonces(queue.queued) == [5, 6]


def test_used_nonces_are_distinguished():
    queue = split([entry(1), entry(2)], 2, RICH)
    assert nonces(queue.used) == [1]
    assert nonces(queue.pending) == [2]


def test_unaffordable_transaction_and_successors_are_queued():
    queue = split([entry(0), entry(1, value=1), entry(2)], 0, 2 * COST)
    assert nonces(queue.pending) == [0]
    assert nonces(queue.queued) == [1, 2]


def test_next_nonce_is_the_first_unused_nonce():
    assert next_nonce(4, []) == 4
    assert next_nonce(4, [entry(5), entry(4), entry(7)]) == 6
    assert next_nonce(4, [entry(3), entry(5)]) == 4


def test_selection_is_by_tip_and_by_nonce_per_sender():
    alices = [paying(1, 0), paying(100, 1)]
    bobs = [paying(50, 0, sender=BOB), paying(2, 1, sender=BOB)]
    assert select([alices, bobs], 0, 10**6) == (bobs[0], bobs[1], alices[0], alices[1])


def test_equal_tips_are_ordered_by_arrival():
    first, second = paying(5), paying(5, sender=BOB)
    assert select([[second], [first]], 0, 10**6) == (first, second)


def test_selection_by_arrival_ignores_tips():
    cheap, dear = paying(1), paying(100, sender=BOB)
    following = paying(50, 1)
    queues = [[cheap, following], [dear]]

    assert select(queues, 0, 10**6, by_arrival=True) == (cheap, dear, following)
    assert select(queues, 0, 10**6) == (dear, cheap, following)


@pytest.mark.parametrize(("most", "count"), [(0, 3), (1, 1), (2, 2), (9, 3)])
def test_a_block_takes_no_more_transactions_than_it_may(most, count):
    queues = [[paying(1), paying(2, 1)], [paying(3, sender=BOB)]]

    everything = select(queues, 0, 10**6)
    assert select(queues, 0, 10**6, most=most) == everything[:count]


def test_fee_cap_below_base_fee_stops_the_senders_queue():
    alices = [entry(0, max_fee_per_gas=99), paying(5, 1)]
    bobs = [entry(0, sender=BOB)]
    assert select([alices, bobs], 100, 10**6) == (bobs[0],)
    assert select([bobs], 101, 10**6) == ()


def test_a_tip_is_what_remains_above_the_base_fee():
    capped = entry(0, max_fee_per_gas=100, max_priority_fee_per_gas=50)
    free = paying(20, sender=BOB)
    assert select([[capped], [free]], 90, 10**6) == (free, capped)
    assert select([[capped], [free]], 10, 10**6) == (capped, free)


def test_transactions_below_the_minimum_tip_are_not_selected():
    assert select([[paying(4)], [paying(5, sender=BOB)]], 0, 10**6, minimum_tip=5)[0].sender == BOB
    assert select([[paying(4)]], 0, 10**6, minimum_tip=5) == ()


def test_transaction_above_remaining_gas_ends_its_queue():
    alices = [paying(9, 0, gas=60_000), paying(8, 1)]
    bobs = [paying(1, 0, sender=BOB, gas=40_000)]
    assert select([alices, bobs], 0, 50_000) == (bobs[0],)
    assert select([alices, bobs], 0, 100_000) == (alices[0], alices[1])


def test_selection_respects_the_block_size_limit():
    alices = [paying(9, 0, size=600), paying(8, 1, size=10)]
    bobs = [paying(1, 0, sender=BOB, size=400)]
    assert select([alices, bobs], 0, 10**6, most_bytes=599) == (bobs[0],)
    assert select([alices, bobs], 0, 10**6, most_bytes=1009) == (alices[0], alices[1])
    assert select([alices, bobs], 0, 10**6, most_bytes=1010) == (*alices, bobs[0])


queues = st.lists(
    st.lists(
        st.tuples(st.integers(min_value=0, max_value=9), st.integers(min_value=1, max_value=9)),
        max_size=4,
    ),
    max_size=5,
)


@given(queues, st.integers(min_value=0, max_value=100))
def test_a_selection_is_gap_free_within_the_gas_and_greedy(queues, gas_limit):
    entries = [
        [paying(tip, nonce, sender=bytes((queue,)) * 20, gas=gas)
         for nonce, (tip, gas) in enumerate(fields)]
        for queue, fields in enumerate(queues)
    ]  # fmt: skip
    chosen = select(entries, 0, gas_limit)
    assert sum(entry.gas for entry in chosen) <= gas_limit
    taken = dict.fromkeys(range(len(entries)), 0)
    for entry_ in chosen:
        queue = entry_.sender[0]
        assert entries[queue][taken[queue]] == entry_
        heads = [other[taken[n]] for n, other in enumerate(entries) if taken[n] < len(other)]
        better = [head for head in heads if head.effective_tip(0) > entry_.effective_tip(0)]
        # a transaction with a higher tip that was skipped did not fit at that time
        assert all(head.gas > gas_limit for head in better)
        gas_limit -= entry_.gas
        taken[queue] += 1


def test_a_new_head_drops_used_nonces_and_promotes_the_rest():
    waiting = [entry(0), entry(1), entry(3)]
    queue, dropped = settled(waiting, nonce=1)
    assert nonces(queue.pending) == [1]
    assert nonces(queue.queued) == [3]
    assert queue.used == ()
    assert nonces(dropped) == [0]


def test_new_head_demotes_unaffordable_transactions():
    queue, dropped = settled([entry(0), entry(1)], balance=COST)
    assert nonces(queue.pending) == [0]
    assert nonces(queue.queued) == [1]
    assert dropped == ()


def test_new_head_drops_transactions_above_the_block_gas_limit():
    queue, dropped = settled([entry(0, gas=50_000), entry(1)], block_gas_limit=49_999)
    assert nonces(dropped) == [0]
    assert nonces(queue.queued) == [1]


@pytest.mark.parametrize(("now", "remaining"), [(1_000 + 10_799, [1]), (1_000 + 10_800, [])])
def test_queued_transaction_expires_after_three_hours(now, remaining):
    queue, dropped = settled([entry(1, received_at=1_000)], now=now)
    assert nonces(queue.queued) == remaining
    assert len(dropped) == 1 - len(remaining)


def test_executable_transaction_does_not_expire():
    queue, dropped = settled([entry(0, received_at=1_000)], now=10**9)
    assert nonces(queue.pending) == [0]
    assert dropped == ()


def test_surplus_queued_transactions_are_dropped_from_the_end():
    queue, dropped = settled([entry(n) for n in range(1, 6)], account_queued=3)
    assert nonces(queue.queued) == [1, 2, 3]
    assert nonces(dropped) == [4, 5]

"""Checks against the sender's account and the transactions in the pool."""

import pytest

from cchain_app.pool.delegation import PLAIN
from cchain_app.pool.entry import EMPTY_ACCOUNT_QUEUE, AccountQueue, PoolLimits
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.pool.eviction import slots_of
from cchain_app.pool.queues import PoolCounts, check_against, split
from tests.builders.pool import ALICE, BOB, entry, paying
from tests.builders.reasons import raises

RICH = 10**30


def admit(
    newcomer,
    waiting=(),
    *,
    nonce=0,
    balance=RICH,
    others=(),
    base_fee=0,
    delegation=PLAIN,
    **limits,
):
    """Check a transaction against a pool with the sender's transactions and other accounts' queues."""
    queues = (split(waiting, nonce, balance), *others)
    return check_against(
        newcomer,
        nonce=nonce,
        balance=balance,
        queue=queues[0],
        delegation=delegation,
        counts=PoolCounts(
            pending=sum(slots_of(queue.pending) for queue in queues),
            queued=sum(slots_of(queue.queued) for queue in queues),
        ),
        others=lambda: others,
        limits=PoolLimits(**limits),
        base_fee=base_fee,
    )


def refusal(reason, *arguments, **options):
    with raises(reason, kind=PoolRejection) as caught:
        admit(*arguments, **options)
    return str(caught.value)


def of_bob(*tips):
    """Return Bob's queue of pending transactions with these tips."""
    entries = [paying(tip, nonce, sender=BOB) for nonce, tip in enumerate(tips)]
    return split(entries, 0, RICH)


def queued_of_bob(*tips):
    entries = [paying(tip, nonce + 5, sender=BOB) for nonce, tip in enumerate(tips)]
    return AccountQueue((), (), tuple(entries), 0)


def test_the_next_nonce_is_executable():
    admission = admit(entry(0))
    assert admission.pending
    assert admission[:4] == (True, None, (), ())


def test_a_nonce_behind_a_gap_is_queued():
    assert not admit(entry(1)).pending


def test_filled_nonce_gap_promotes_queued_transactions():
    waiting = [entry(1), entry(2), entry(4)]
    admission = admit(entry(0), waiting)
    assert admission.pending
    assert admission.promoted == tuple(waiting[:2])


def test_the_same_transaction_is_known():
    first = entry(0)
    assert refusal(PoolReason.ALREADY_KNOWN, first, [first]) == "already known"


def test_a_used_nonce_is_too_low():
    message = refusal(PoolReason.NONCE_TOO_LOW, entry(4), nonce=7)
    assert message == "nonce too low: next nonce 7, tx nonce 4"


def test_a_fee_cap_that_no_block_takes_is_refused():
    message = refusal(PoolReason.FEE_CAP_BELOW_MINIMUM, entry(0), minimum_fee=101)
    assert message == (
        "transaction underpriced: address 0xA1A1a1a1A1A1A1A1A1a1a1a1a1a1A1A1a1A1a1a1 "
        "have gas fee cap (100) < pool minimum fee cap (101)"
    )


def test_a_transaction_must_be_affordable_alone():
    message = refusal(PoolReason.FUNDS_BELOW_COST, entry(0, value=5), balance=2_100_004)
    assert message == (
        "insufficient funds for gas * price + value: balance 2100004, tx cost 2100005, overshot 1"
    )
    assert admit(entry(0, value=5), balance=2_100_005).pending


def test_transaction_must_be_affordable_with_pending_ones():
    message = refusal(PoolReason.FUNDS_BELOW_QUEUED_COST, entry(1), [entry(0)], balance=4_000_000)
    assert message == (
        "insufficient funds for gas * price + value: "
        "balance 4000000, queued cost 2100000, tx cost 2100000, overshot 200000"
    )


def test_queued_transactions_do_not_count_against_funds():
    assert admit(entry(0), [entry(5)], balance=2_100_000).pending


def test_a_replacement_must_be_affordable_in_place_of_the_other():
    waiting = [entry(0), entry(1)]
    dearer = entry(0, max_fee_per_gas=200, max_priority_fee_per_gas=20)
    message = refusal(PoolReason.FUNDS_BELOW_REPLACEMENT_COST, dearer, waiting, balance=6_000_000)
    assert message == (
        "insufficient funds for gas * price + value: "
        "balance 6000000, queued cost 4200000, tx bumped 2100000, overshot 300000"
    )
    assert admit(dearer, waiting, balance=6_300_000).replaces == waiting[0]


@pytest.mark.parametrize("nonce", [0, 3])
def test_a_replacement_needs_ten_percent_on_both_fees_executable_or_queued(nonce):
    old = entry(nonce)
    for fee, tip in ((109, 11), (110, 10), (1_000, 10), (109, 100)):
        too_low = entry(nonce, max_fee_per_gas=fee, max_priority_fee_per_gas=tip)
        message = refusal(PoolReason.REPLACEMENT_UNDERPRICED, too_low, [old])
        assert message == "replacement transaction underpriced"
    admission = admit(entry(nonce, max_fee_per_gas=110, max_priority_fee_per_gas=11), [old])
    assert admission.replaces == old
    assert admission.pending is (nonce == 0)


def test_a_replacement_of_the_smallest_fees_still_needs_more():
    old = entry(0, max_fee_per_gas=1, max_priority_fee_per_gas=0)
    same = entry(0, max_fee_per_gas=2, max_priority_fee_per_gas=0)
    refusal(PoolReason.REPLACEMENT_UNDERPRICED, same, [old])
    more = same._replace(max_priority_fee_per_gas=1)
    assert admit(more, [old]).replaces == old


def test_a_sender_cannot_queue_more_than_its_share():
    waiting = [entry(nonce) for nonce in range(1, 65)]
    message = refusal(PoolReason.ACCOUNT_LIMIT_EXCEEDED, entry(65), waiting)
    assert message == "account limit exceeded: pooled 64 txs"


def test_lower_nonce_replaces_the_highest_queued_transaction():
    waiting = [entry(nonce) for nonce in range(2, 66)]
    admission = admit(entry(1), waiting)
    assert admission.evicted == (waiting[-1],)
    assert not admission.pending


def test_a_filled_gap_is_never_too_many():
    waiting = [entry(nonce) for nonce in range(1, 65)]
    admission = admit(entry(0), waiting)
    assert admission.promoted == tuple(waiting)
    assert admission.evicted == ()


def test_pool_below_its_limits_reads_no_other_queues():
    def look():
        raise AssertionError

    counts = PoolCounts(pending=5_119, queued=1_024)
    admission = check_against(
        entry(0), nonce=0, balance=RICH, queue=EMPTY_ACCOUNT_QUEUE, delegation=PLAIN, counts=counts,
        others=look, limits=PoolLimits(), base_fee=0,
    )  # fmt: skip
    assert admission.pending


FULL = {"pending_slots": 2, "queued_slots": 2, "account_pending_slots": 1}


def test_in_a_full_pool_the_cheapest_of_a_sender_beyond_its_guarantee_leaves():
    bobs = of_bob(50, 40)
    admission = admit(paying(1), others=[bobs], **FULL)
    assert admission.pending
    assert admission.evicted == (bobs.pending[1],)


def test_guaranteed_pending_transactions_use_queued_slots():
    limits = {"pending_slots": 1, "queued_slots": 1, "account_pending_slots": 1}
    assert admit(paying(1), others=[of_bob(50)], **limits).evicted == ()


def test_pending_transaction_evicts_a_queued_one_at_any_price():
    limits = {"pending_slots": 1, "queued_slots": 1, "account_pending_slots": 1}
    pending, queued = of_bob(50), queued_of_bob(90)
    admission = admit(paying(1), others=[pending, queued], **limits)
    assert admission.evicted == queued.queued


def test_queued_transaction_evicts_a_cheaper_queued_one():
    queued = queued_of_bob(20, 10)
    admission = admit(paying(15, nonce=3), others=[queued], **FULL)
    assert not admission.pending
    assert admission.evicted == (queued.queued[1],)


def test_queued_transaction_at_the_lowest_price_is_underpriced():
    others = [queued_of_bob(20, 10)]
    message = refusal(PoolReason.UNDERPRICED, paying(10, nonce=3), others=others, **FULL)
    assert message == "transaction underpriced"


def test_executable_transaction_at_the_lowest_price_is_underpriced():
    limits = {"pending_slots": 1, "queued_slots": 0, "account_pending_slots": 1}
    others = [of_bob(10)]
    refusal(PoolReason.UNDERPRICED, paying(10), others=others, **limits)
    assert admit(paying(11), others=others, **limits).pending


def test_queued_transaction_does_not_evict_pending_ones():
    limits = {"pending_slots": 1, "queued_slots": 0, "account_pending_slots": 1}
    message = refusal(
        PoolReason.FUTURE_REPLACES_PENDING, paying(99, nonce=3), others=[of_bob(10)], **limits
    )
    assert message == "future transaction tries to replace pending"
    refusal(PoolReason.UNDERPRICED, paying(9, nonce=3), others=[of_bob(10)], **limits)


def test_a_sender_that_fills_the_pool_alone_is_reported_that_it_is_full():
    limits = {"pending_slots": 2, "queued_slots": 0, "account_pending_slots": 1}
    waiting = [paying(10, nonce=0), paying(10, nonce=1)]
    assert refusal(PoolReason.POOL_FULL, paying(99, nonce=2), waiting, **limits) == "txpool is full"


def test_promotion_above_the_limit_evicts_highest_nonces():
    limits = {"pending_slots": 2, "queued_slots": 2, "account_pending_slots": 1}
    waiting = [paying(10, nonce=1), paying(10, nonce=2)]
    admission = admit(paying(1, nonce=0), waiting, **limits)
    assert admission.pending
    assert admission.promoted == (waiting[0],)
    assert admission.evicted == (waiting[1],)


def test_eviction_compares_effective_tips_at_the_base_fee():
    # 100 - 95 = 5 wei reach the coinbase, although the tip cap is 10
    bobs = split((entry(0, sender=BOB), paying(6, 1, sender=BOB)), 0, RICH)
    limits = {"pending_slots": 2, "queued_slots": 0, "account_pending_slots": 0}
    newcomer = paying(7)
    assert admit(newcomer, others=[bobs], base_fee=95, **limits).evicted == (bobs.pending[1],)
    assert newcomer.sender == ALICE


def test_large_transaction_evicts_several_small_ones():
    bobs = queued_of_bob(1, 2, 3)
    limits = {"pending_slots": 0, "queued_slots": 3}
    admission = admit(paying(9, nonce=3, size=32 * 1024 + 1), others=[bobs], **limits)
    assert admission.evicted == bobs.queued[:2]

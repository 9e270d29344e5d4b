"""Submission of transactions: stored and rejected ones, and the resulting notifications."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings
from django.db import connections

from cchain_app import models
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.pool.errors import PoolReason
from cchain_app.selectors import blocks, pool
from cchain_app.services import admissions, transactions
from cchain_app.services.removal import expire
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import TransactionReason
from primitives.evm import Address
from primitives.fair_lock import WaitedTooLong
from primitives.keys import DEV_KEYS
from primitives.secp256k1 import SignedDigest
from tests.builders.reasons import reason_of
from tests.builders.transactions import KEY, SENDER, signed, unsigned
from tests.integration.conftest import Chain
from tests.unit.cchain_app.txs.test_codec import resign

OTHER_KEY = bytes.fromhex(list(DEV_KEYS.values())[1][2:])


def test_an_acknowledged_transaction_is_a_row(chain: Chain) -> None:
    made = chain.make()

    assert transactions.submit(evm_runtime(), [made.raw]) == [made.hash]
    row = models.PoolTransaction.objects.get()
    assert (row.hash, row.sender, row.nonce, row.raw) == (made.hash, SENDER, 0, made.raw)


def test_a_batch_has_an_outcome_for_each_in_order(chain: Chain) -> None:
    good, gap, poor = signed(nonce=0), signed(nonce=7), signed(nonce=1, value=10**30)

    outcomes = transactions.submit(evm_runtime(), [good.raw, b"", gap.raw, poor.raw, good.raw])

    assert outcomes[0] == good.hash
    assert outcomes[1].reason is TransactionReason.TOO_SHORT
    assert outcomes[2] == gap.hash
    assert reason_of(outcomes[3]) is PoolReason.FUNDS_BELOW_COST
    assert reason_of(outcomes[4]) is PoolReason.ALREADY_KNOWN
    assert models.PoolTransaction.objects.count() == 2


@pytest.mark.node_settings(pool_balance_checks=False)
def test_without_balance_checks_the_block_decides_affordability(chain: Chain) -> None:
    poor = signed(nonce=0, key=bytes(31) + b"\x07")
    never = signed(nonce=0, key=bytes(31) + b"\x08", value=10**40)
    chain.send(poor, never)
    assert pool.counts(evm_chain()) == (2, 0)
    chain.do(
        to=poor.sender, value=10**18, max_fee_per_gas=90 * 10**9, max_priority_fee_per_gas=10**10
    )
    if models.PoolTransaction.objects.exists():
        chain.mine()

    mined = [item.hash for height in (1, 2) for item in _transactions_of(height)]
    assert poor.hash in mined
    assert never.hash not in mined
    assert pool.counts(evm_chain()) == (0, 0)


def _transactions_of(height: int) -> Sequence[Any]:
    block = blocks.by_number(evm_chain(), height)
    return () if block is None else block.transactions


def test_a_nonce_behind_a_gap_is_queued_until_the_gap_is_filled(chain: Chain) -> None:
    chain.send(signed(nonce=1))
    assert pool.counts(evm_chain()) == (0, 1)
    assert pool.next_nonce(evm_chain(), SENDER) == 0

    chain.send(signed(nonce=0))

    assert pool.counts(evm_chain()) == (2, 0)
    assert pool.next_nonce(evm_chain(), SENDER) == 2


def test_replacement_within_a_batch_leaves_one_row(chain: Chain) -> None:
    low = signed(nonce=0)
    high = signed(nonce=0, max_fee_per_gas=55 * 10**9, max_priority_fee_per_gas=11 * 10**8)

    assert transactions.submit(evm_runtime(), [low.raw, high.raw]) == [low.hash, high.hash]
    assert list(models.PoolTransaction.objects.values_list("hash", flat=True)) == [high.hash]


def test_replacement_takes_the_place_of_the_stored_transaction(chain: Chain) -> None:
    chain.send(signed(nonce=0))
    high = signed(nonce=0, max_fee_per_gas=55 * 10**9, max_priority_fee_per_gas=11 * 10**8)

    chain.send(high)

    assert [row.hash for row in models.PoolTransaction.objects.all()] == [high.hash]


def test_a_replacement_that_pays_too_little_is_refused(chain: Chain) -> None:
    chain.send(signed(nonce=0))
    cheap = signed(nonce=0, max_fee_per_gas=54 * 10**9, max_priority_fee_per_gas=11 * 10**8)

    (outcome,) = transactions.submit(evm_runtime(), [cheap.raw])

    assert reason_of(outcome) is PoolReason.REPLACEMENT_UNDERPRICED


def test_mined_transaction_is_refused(chain: Chain) -> None:
    made, _ = chain.do()

    (outcome,) = transactions.submit(evm_runtime(), [made.raw])

    assert reason_of(outcome) is PoolReason.NONCE_TOO_LOW
    assert not models.PoolTransaction.objects.exists()


@pytest.mark.node_settings(pool_slots=3, pool_queue=2, pool_account_slots=1)
def test_a_full_pool_keeps_those_that_pay_most(chain: Chain) -> None:
    cheap = [signed(nonce=nonce) for nonce in range(3)]
    chain.send(*cheap)
    rich = signed(
        key=OTHER_KEY, nonce=0, max_fee_per_gas=90 * 10**9, max_priority_fee_per_gas=9 * 10**9
    )

    chain.send(rich)

    # The last transaction of the cheap sender is dropped, so that no nonce gap opens.
    kept = set(models.PoolTransaction.objects.values_list("hash", flat=True))
    assert kept == {cheap[0].hash, cheap[1].hash, rich.hash}


@pytest.mark.node_settings(pool_slots=3, pool_queue=2, pool_account_slots=1)
def test_full_pool_refuses_cheaper_transaction(chain: Chain) -> None:
    chain.send(*(signed(nonce=nonce) for nonce in range(3)))
    cheap = signed(key=OTHER_KEY, nonce=1, max_priority_fee_per_gas=1)

    outcomes = transactions.submit(evm_runtime(), [signed(nonce=3).raw, cheap.raw])

    assert reason_of(outcomes[0]) is PoolReason.POOL_FULL
    assert outcomes[1] == cheap.hash  # queued: the queue has two slots


def test_waiting_too_long_ends_in_the_bin(chain: Chain) -> None:
    chain.send(signed(nonce=5))
    received = models.PoolTransaction.objects.get().received_at

    assert expire(evm_chain(), now=received + 10_799) == 0
    assert expire(evm_chain(), now=received + 10_801) == 1
    assert not models.PoolTransaction.objects.exists()


def test_threads_that_submit_at_once_lose_nothing(shared_chain: Chain) -> None:
    made = [signed(nonce=nonce) for nonce in range(24)]
    outcomes: dict[int, object] = {}

    def submit(index: int) -> None:
        try:
            (outcomes[index],) = transactions.submit(evm_runtime(), [made[index].raw])
        finally:
            connections.close_all()

    threads = [threading.Thread(target=submit, args=(index,)) for index in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [outcomes[index] for index in range(24)] == [item.hash for item in made]
    assert models.PoolTransaction.objects.count() == 24


def test_polling_a_pending_transaction_takes_no_statement(
    chain: Chain, django_assert_num_queries: Any
) -> None:
    made = chain.make()
    chain.send(made)

    with django_assert_num_queries(0):
        assert blocks.find_transaction(evm_chain(), made.hash) is None

    block = chain.mine()
    with django_assert_num_queries(0):
        assert blocks.find_transaction(evm_chain(), made.hash) == (block, 0)
    chain.forget()
    assert blocks.find_transaction(evm_chain(), made.hash) == (block, 0)


def test_a_commit_that_fails_leaves_no_trace(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    made = chain.make()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(admissions.pool_rows, "add", fail)
        with pytest.raises(OSError, match="disk full"):
            transactions.submit(evm_runtime(), [made.raw])

    assert evm_chain().memory.transactions.get(made.hash) is None
    assert transactions.submit(evm_runtime(), [made.raw]) == [made.hash]


def test_pending_nonce_does_not_decrease_during_a_commit(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.send(*(chain.make() for _ in range(3)))
    assert pool.next_nonce(evm_chain(), SENDER) == 3
    advance = evm_chain().memory.advance
    seen: list[int] = []

    def look_first(*moved: Any) -> None:
        seen.append(
            pool.next_nonce(evm_chain(), SENDER)
        )  # committed, but not yet announced to this process
        advance(*moved)

    monkeypatch.setattr(evm_chain().memory, "advance", look_first)
    chain.mine()

    assert seen == [3]
    assert pool.next_nonce(evm_chain(), SENDER) == 3


def test_a_pending_nonce_is_remembered_until_something_changes(
    chain: Chain, django_assert_num_queries: Any
) -> None:
    chain.send(chain.make())
    assert pool.next_nonce(evm_chain(), SENDER) == 1
    if settings.NODE.common.profile == "embedded":
        with django_assert_num_queries(0):
            assert pool.next_nonce(evm_chain(), SENDER) == 1

    chain.send(chain.make())
    assert pool.next_nonce(evm_chain(), SENDER) == 2
    chain.mine()
    assert pool.next_nonce(evm_chain(), SENDER) == 2


@pytest.mark.node_settings(rpc_tx_fee_cap=100.0)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"chain_id": 1, "max_priority_fee_per_gas": 60 * 10**9}, PoolReason.TIP_ABOVE_FEE_CAP),
        ({"chain_id": 1, "gas": 40_000_000}, PoolReason.GAS_ABOVE_BLOCK_LIMIT),
        ({"chain_id": 1, "max_fee_per_gas": 10**16}, PoolReason.FEE_ABOVE_CAP),
    ],
)
def test_first_fault_in_geths_order_is_reported(
    chain: Chain, changes: dict[str, int], reason: PoolReason
) -> None:
    raw = sign_transaction(unsigned(**changes), KEY)

    (outcome,) = transactions.submit(evm_runtime(), [raw])

    assert reason_of(outcome) is reason


@pytest.mark.node_settings(rpc_tx_fee_cap=100.0)
def test_another_chain_id_is_found_before_too_little_gas(chain: Chain) -> None:
    raw = sign_transaction(unsigned(chain_id=1, gas=20_000), KEY)

    (outcome,) = transactions.submit(evm_runtime(), [raw])

    assert outcome.reason is TransactionReason.WRONG_CHAIN_ID


def test_senders_of_a_batch_are_recovered_in_one_call(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, other = signed(nonce=0), signed(nonce=1)
    forged = resign(signed(), _10=b"\x05", _11=b"\x01")
    asked: list[int] = []
    recover = evm_chain().recover_senders

    def counted(signatures: Sequence[SignedDigest]) -> Sequence[Address | None]:
        asked.append(len(signatures))
        return recover(signatures)

    monkeypatch.setattr(evm_chain(), "recover_senders", counted)
    outcomes = transactions.submit(evm_runtime(), [good.raw, b"\x02\xc0", forged, other.raw])

    assert (outcomes[0], outcomes[3]) == (good.hash, other.hash)
    assert outcomes[1].reason is TransactionReason.MALFORMED
    assert outcomes[2].reason is TransactionReason.SENDER_NOT_RECOVERABLE
    assert asked == [3]


def test_transactions_that_wait_too_long_for_other_threads_are_not_admitted(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "QUEUE_SECONDS", 0.0)
    lock = evm_runtime().arrivals.lock
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            begun.set()
            assert end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert begun.wait(60)
    with pytest.raises(WaitedTooLong):
        transactions.submit(evm_runtime(), [chain.make().raw])
    end.set()
    thread.join()

    assert models.PoolTransaction.objects.count() == 0
    chain.send(chain.make())
    assert models.PoolTransaction.objects.count() == 1

"""Checks of a sidecar against its transaction, each with its own reason; replacement and selection of blob transactions."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app.pool.blobs import check_blobs
from cchain_app.pool.checks import AdmissionRules, check_before_sender
from cchain_app.pool.delegation import PLAIN
from cchain_app.pool.entry import EMPTY_ACCOUNT_QUEUE, Newcomer, PoolEntry, PoolLimits, make_entry
from cchain_app.pool.errors import PoolReason, PoolRejection, is_nonce_taken
from cchain_app.pool.queues import Admission, BlobMarket, check_against, select, split
from cchain_app.txs.blobs import Sidecar
from tests.builders.blobs import (
    GWEI,
    INFINITY,
    ZERO_BLOB,
    ZERO_HASH,
    blob_transaction,
    zero_sidecar,
)
from tests.builders.reasons import raises
from tests.builders.transactions import signed

PRAGUE = AdmissionRules("prague", 30_000_000, max_blobs=9)
OSAKA = replace(PRAGUE, fork="osaka")
OTHER_HASH = b"\x01" + bytes(31)
RICH = 10**24


@pytest.mark.parametrize("rules", [PRAGUE, OSAKA])
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("count", [1, 6])
def test_a_sidecar_of_either_version_passes(
    rules: AdmissionRules, version: int, count: int
) -> None:
    check_blobs(blob_transaction(count), zero_sidecar(count, version), rules)


@pytest.mark.parametrize(
    ("changes", "sidecar", "rules", "reason", "message"),
    [
        ({}, None, PRAGUE, PoolReason.NO_SIDECAR, "missing sidecar in blob transaction"),
        (
            {"max_fee_per_blob_gas": 0}, zero_sidecar(), PRAGUE, PoolReason.BLOB_FEE_CAP_BELOW_MINIMUM,
            "transaction gas price below minimum: blob fee cap 0, minimum needed 1",
        ),
        ({"count": 0}, zero_sidecar(0), PRAGUE, PoolReason.NO_BLOBS, "blobless blob transaction"),
        (
            {"count": 10}, zero_sidecar(10), PRAGUE, PoolReason.TOO_MANY_BLOBS,
            "transaction blob limit exceeded: blob count 10, limit 9",
        ),
        (
            {"count": 7}, zero_sidecar(7), OSAKA, PoolReason.TOO_MANY_BLOBS,
            "transaction blob limit exceeded: blob count 7, limit 6",
        ),
        (
            {"count": 2}, zero_sidecar(), PRAGUE, PoolReason.WRONG_BLOB_COUNT,
            "invalid number of 1 blobs compared to 2 blob hashes",
        ),
        (
            {}, Sidecar(0, (ZERO_BLOB,), (), (INFINITY,)), PRAGUE, PoolReason.WRONG_COMMITMENT_COUNT,
            "invalid number of 0 blob commitments compared to 1 blob hashes",
        ),
        (
            {}, Sidecar(1, (ZERO_BLOB,), (INFINITY,), (INFINITY,)), PRAGUE,
            PoolReason.WRONG_PROOF_COUNT, "invalid number of 1 blob proofs expected 128",
        ),
        (
            {"blob_hashes": (OTHER_HASH,)}, zero_sidecar(), PRAGUE, PoolReason.WRONG_BLOB_HASH,
            f"blob 0: computed hash 0x{ZERO_HASH.hex()} mismatches transaction one 0x01" + "00" * 31,
        ),
    ],
)  # fmt: skip
def test_a_sidecar_that_does_not_fit_is_refused(
    changes: dict[str, Any],
    sidecar: Sidecar | None,
    rules: AdmissionRules,
    reason: PoolReason,
    message: str,
) -> None:
    with raises(reason, match=f"^{message}$", kind=PoolRejection):
        check_blobs(blob_transaction(**changes), sidecar, rules)


def test_the_type_needs_cancun() -> None:
    made = blob_transaction()
    check_before_sender(made, replace(PRAGUE, fork="cancun"))
    with raises(
        PoolReason.TYPE_NOT_ACTIVE,
        match="type 3 rejected, pool not yet in Cancun",
        kind=PoolRejection,
    ):
        check_before_sender(made, replace(PRAGUE, fork="shanghai"))


def entry(count: int = 1, arrival: int = 0, **changes: Any) -> PoolEntry:
    made = blob_transaction(count, **changes) if count else signed(**changes)
    return make_entry(Newcomer(made), arrival=arrival, received_at=0)


def replaced(before: PoolEntry, after: PoolEntry) -> Admission:
    return check_against(
        after, nonce=0, balance=RICH, queue=split([before], 0, RICH), delegation=PLAIN, counts=None,
        others=lambda: (), limits=PoolLimits(), base_fee=0,
    )  # fmt: skip


FEES = {"max_fee_per_gas": 10 * GWEI, "max_priority_fee_per_gas": GWEI}
DOUBLE = {"max_fee_per_gas": 20 * GWEI, "max_priority_fee_per_gas": 2 * GWEI}


def test_a_replacement_must_double_all_three_fees() -> None:
    before = entry(**FEES)
    assert replaced(before, entry(**DOUBLE, max_fee_per_blob_gas=2 * GWEI)).replaces == before
    for changes, message in (
        (
            {**DOUBLE, "max_priority_fee_per_gas": 2 * GWEI - 1, "max_fee_per_blob_gas": 2 * GWEI},
            "gas tip cap 1999999999 < 1000000000 queued",
        ),
        (
            {**DOUBLE, "max_fee_per_gas": 20 * GWEI - 1, "max_fee_per_blob_gas": 2 * GWEI},
            "gas fee cap 19999999999 < 10000000000 queued",
        ),
        (
            {**DOUBLE, "max_fee_per_blob_gas": 2 * GWEI - 1},
            "blob gas fee cap 1999999999 < 1000000000 queued",
        ),
    ):
        with raises(
            PoolReason.BLOB_REPLACEMENT_UNDERPRICED,
            match=rf"^replacement transaction underpriced: new tx {message} \+ 100% replacement penalty$",
            kind=PoolRejection,
        ) as refusal:
            replaced(before, entry(**changes))
        assert is_nonce_taken(refusal.value)


@pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 0)])
def test_a_replacement_of_the_other_kind_must_double_the_fees_of_gas(
    before: int, after: int
) -> None:
    first = entry(before, **FEES)
    assert replaced(first, entry(after, **DOUBLE)).replaces == first
    with raises(PoolReason.BLOB_REPLACEMENT_UNDERPRICED, match="gas tip cap", kind=PoolRejection):
        replaced(first, entry(after, **{**DOUBLE, "max_priority_fee_per_gas": 2 * GWEI - 1}))


def test_blobs_count_for_funds_and_slots() -> None:
    made = entry(3, **FEES, max_fee_per_blob_gas=7)
    assert made.cost == 21_000 * 10 * GWEI + 1 + 3 * 2**17 * 7
    assert made.slots == 13  # three blobs of four slots, and the envelope
    with raises(PoolReason.FUNDS_BELOW_COST, kind=PoolRejection):
        check_against(
            made, nonce=0, balance=made.cost - 1, queue=EMPTY_ACCOUNT_QUEUE, delegation=PLAIN,
            counts=None, others=lambda: (), limits=PoolLimits(), base_fee=0,
        )  # fmt: skip


def test_a_block_has_as_many_blobs_as_fit() -> None:
    first, second = entry(5, 1, nonce=0), entry(5, 2, nonce=1)
    plain = entry(0, 3, nonce=0)

    def chosen(most: int, price: int = 1) -> tuple[PoolEntry, ...]:
        market = BlobMarket(price, most)
        return select([(first, second), (plain,)], 0, 30_000_000, by_arrival=True, blobs=market)

    assert chosen(10) == (first, second, plain)
    assert chosen(9) == (first, plain)
    assert chosen(4) == (plain,)
    assert chosen(10, GWEI) == (first, second, plain)
    assert chosen(10, GWEI + 1) == (plain,)
    assert select([(first,), (plain,)], 0, 30_000_000) == (plain,)

"""Blob transactions made by the specification are accepted only in blocks of other chains."""

import pytest

from cchain_app.txs.codec import decode_unsigned, recover_sender, with_sender
from cchain_app.txs.transaction import InvalidTransaction, TransactionReason
from primitives.hashing import keccak256
from tests.builders.reasons import raises
from tests.builders.spec_history import BLOB_HASH, CHAIN_ID, history
from tests.builders.transactions import SENDER


@pytest.fixture(scope="module")
def raw() -> bytes:
    """The first blob transaction of the history."""
    return next(raw for raw in history().transactions if raw[0] == 3)


def test_one_is_read_with_all_its_fields(raw: bytes) -> None:
    ours = decode_unsigned(raw, blobs=True)

    assert (ours.type, ours.raw, ours.hash) == (3, raw, keccak256(raw))
    assert recover_sender(ours) == SENDER
    assert (ours.chain_id, ours.gas, ours.to, ours.value) == (CHAIN_ID, 21_000, b"\x33" * 20, 1)
    assert (ours.max_fee_per_gas, ours.max_priority_fee_per_gas) == (20 * 10**9, 1)
    assert (ours.max_fee_per_blob_gas, ours.blob_hashes) == (10**9, (BLOB_HASH,) * 4)


def test_its_blobs_cost_too(raw: bytes) -> None:
    transaction = with_sender(decode_unsigned(raw, blobs=True), SENDER)

    assert transaction.blob_gas == 4 * 2**17
    assert transaction.cost == 21_000 * 20 * 10**9 + 4 * 2**17 * 10**9 + 1


def test_the_pool_does_not_read_it(raw: bytes) -> None:
    with raises(TransactionReason.BLOBS_NOT_SUPPORTED, kind=InvalidTransaction):
        decode_unsigned(raw)


def test_one_that_is_cut_is_malformed(raw: bytes) -> None:
    with raises(TransactionReason.MALFORMED, kind=InvalidTransaction):
        decode_unsigned(raw[:-1], blobs=True)

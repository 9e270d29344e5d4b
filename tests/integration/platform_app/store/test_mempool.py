"""Pending transactions are served first come, first served; recently dropped ones are stored with the reason."""

import pytest
from django.db import IntegrityError

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.store import mempool
from platform_app.txs import staking, subnets
from platform_app.txs.base import BaseTx, Tx
from primitives.ids import EMPTY_ID, ID
from tests.builders import platform

pytestmark = pytest.mark.django_db


def transfer(number: int, **fields: object) -> Tx:
    inputs = platform.spend_all(platform.utxo(2_000_000, number=number))
    return platform.signed(BaseTx, **{"inputs": inputs, **fields})


def dropped() -> dict[ID, str]:
    """Return the reasons of the stored dropped transactions."""
    return dict(models.DroppedTx.objects.values_list("tx_id", "reason"))


def test_pending_transactions_are_read_in_order_of_arrival() -> None:
    txs = [transfer(number) for number in range(5)]
    mempool.add(platform_chain().db, txs[3:], 1)
    mempool.add(platform_chain().db, txs[:3], 2)

    assert list(mempool.oldest_first(platform_chain().db)) == [*txs[3:], *txs[:3]]
    assert mempool.size(platform_chain().db) == sum(len(tx.raw) for tx in txs)


def test_more_than_one_batch_is_walked_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mempool, "_BATCH", 2)
    txs = [transfer(number) for number in range(4)]
    mempool.add(platform_chain().db, txs, 1)

    assert list(mempool.oldest_first(platform_chain().db)) == txs


def test_an_empty_mempool_has_no_size() -> None:
    assert mempool.size(platform_chain().db) == 0
    assert list(mempool.oldest_first(platform_chain().db)) == []


def test_spent_outputs_of_pending_transactions_are_found() -> None:
    spent, imported = platform.utxo(2_000_000, number=1), platform.utxo(number=7)
    tx = platform.signed(
        subnets.ImportTx,
        inputs=platform.spend_all(spent),
        imported_inputs=platform.spend_all(imported),
    )
    mempool.add(platform_chain().db, [tx], 1)

    keys = [spent.utxo_id, imported.utxo_id, EMPTY_ID]
    assert mempool.spenders(platform_chain().db, keys) == {
        spent.utxo_id: tx.tx_id,
        imported.utxo_id: tx.tx_id,
    }


def test_two_that_spend_the_same_cannot_both_wait() -> None:
    mempool.add(platform_chain().db, [transfer(1)], 1)

    with pytest.raises(IntegrityError):
        mempool.add(platform_chain().db, [transfer(1, memo=b"another")], 1)


def test_removed_transaction_frees_its_outputs() -> None:
    first, second = transfer(1), transfer(2)
    mempool.add(platform_chain().db, [first, second], 1)
    mempool.remove(platform_chain().db, [first.tx_id])

    assert mempool.known(platform_chain().db, [first.tx_id, second.tx_id]) == {second.tx_id}
    assert list(mempool.oldest_first(platform_chain().db)) == [second]
    mempool.add(platform_chain().db, [transfer(1, memo=b"another")], 2)


def test_a_dropped_transaction_no_longer_waits_and_has_its_reason() -> None:
    tx = transfer(1)
    mempool.add(platform_chain().db, [tx], 1)
    mempool.drop(platform_chain().db, [(tx.tx_id, "flow check failed")], 2)

    assert mempool.known(platform_chain().db, [tx.tx_id]) == set()
    assert dropped() == {tx.tx_id: "flow check failed"}


def test_reissued_transaction_is_no_longer_dropped() -> None:
    tx = transfer(1)
    mempool.drop(platform_chain().db, [(tx.tx_id, "too early")], 1)
    mempool.add(platform_chain().db, [tx], 2)

    assert dropped() == {}


def test_only_recent_dropped_transactions_are_kept() -> None:
    keys = [platform.some_id(f"dropped {number}") for number in range(mempool.DROPPED + 6)]
    mempool.drop(platform_chain().db, [(key, "first") for key in keys[:10]], 1)
    mempool.drop(platform_chain().db, [(keys[0], "again")], 2)
    mempool.drop(platform_chain().db, [(key, "later") for key in keys[10:]], 3)

    left = dropped()
    assert len(left) == mempool.DROPPED
    assert left[keys[0]] == "again"
    assert set(left) == {keys[0], *keys[7:]}


def test_a_transaction_of_any_kind_can_wait() -> None:
    tx = platform.signed(staking.AddPermissionlessValidatorTx)
    mempool.add(platform_chain().db, [tx], 1)

    row = models.MempoolTx.objects.get()
    assert (row.tx_id, row.get_kind_display(), row.size) == (
        tx.tx_id,
        "AddPermissionlessValidatorTx",
        len(tx.raw),
    )

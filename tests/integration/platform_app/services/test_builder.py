"""Block building: included transactions, order of blocks, and the state after a crash."""

from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from chaindb.database import Database
from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks import builder as block_builder
from platform_app.blocks.block import BanffStandardBlock, parse_block
from platform_app.config import DAY
from platform_app.executor.errors import StakerReason
from platform_app.models import Outcome, Phase
from platform_app.selectors import accepted
from platform_app.store import mempool as waiting
from platform_app.txs.base import TxStatus
from primitives.hashing import sha256
from primitives.ids import ID
from tests.builders import platform
from tests.builders.platform_replay import contents, remembered
from tests.builders.process import restart_node
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import (
    STAKE,
    node,
    payments,
    scheduled_validator,
    split,
    staker_of,
    validator,
)
from utxo.errors import InvalidTx

pytestmark = pytest.mark.usefixtures("every_block_holds")


def test_nothing_pending_builds_no_block(pchain: PChain) -> None:
    assert platform_runtime().consensus.produce(now=pchain.now + 3_600) is None
    assert platform_chain().tip().height == 0


def test_block_has_pending_transactions_in_order_of_arrival(pchain: PChain) -> None:
    txs = payments(pchain, 5)
    parent = platform_chain().tip()
    pchain.issue(*txs)

    (block,) = pchain.build()

    assert isinstance(block, BanffStandardBlock)
    assert [tx.tx_id for tx in block.txs] == [tx.tx_id for tx in txs]
    assert (block.parent_id, block.height) == (parent.block_id, parent.height + 1)
    stored = accepted.block(platform_chain(), block.block_id)
    assert stored is not None
    assert parse_block(stored.raw) == block
    assert [accepted.tx(platform_chain(), tx.tx_id) for tx in txs] == [
        (tx.raw, TxStatus.COMMITTED, block.height, place) for place, tx in enumerate(txs)
    ]


def test_transactions_above_the_block_size_wait_for_the_next_block(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    txs = payments(pchain, 5)
    monkeypatch.setattr(block_builder, "TXS_SIZE_LIMIT", 2 * len(txs[0].raw))
    pchain.issue(*txs)

    assert [len(block.txs) for block in pchain.build()] == [2, 2, 1]
    assert list(waiting.oldest_first(platform_chain().db)) == []


def test_invalid_pending_transaction_does_not_block_others(pchain: PChain) -> None:
    split(pchain, 2, 2 * STAKE)
    before = pchain.make()
    first = scheduled_validator(pchain, "node", start=600, end=30 * DAY)
    second = scheduled_validator(pchain, "node", start=700, end=30 * DAY)
    after = pchain.make()
    pchain.issue(before, first, second, after)  # each is valid on its own

    block, *others = pchain.build()

    assert [tx.tx_id for tx in block.txs] == [before.tx_id, first.tx_id, after.tx_id]
    assert others == []
    dropped = accepted.status(platform_chain(), second.tx_id)
    assert dropped.status is TxStatus.DROPPED
    assert dropped.reason == str(InvalidTx(StakerReason.ALREADY_VALIDATOR, node_id=node("node")))


def test_dropping_alone_makes_no_block_but_is_kept(pchain: PChain) -> None:
    tx = pchain.make()
    with transaction.atomic():
        waiting.add(
            platform_chain().db,
            [unfunded := platform.signed(inputs=platform.spend_all(platform.utxo()))],
            1,
        )

    assert platform_runtime().consensus.produce(now=pchain.now) is None
    assert platform_chain().tip().height == 0
    assert accepted.status(platform_chain(), unfunded.tx_id).status is TxStatus.DROPPED
    pchain.do(tx)
    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED


def test_transactions_are_packed_into_the_block_of_a_due_change(pchain: PChain) -> None:
    tx = pchain.do(scheduled_validator(pchain, "node", start=600, end=30 * DAY))
    payment = pchain.make()
    pchain.now += 3_600
    pchain.issue(payment)

    block, *others = pchain.build()

    assert block.time == staker_of(tx).start_time
    assert [item.tx_id for item in block.txs] == [payment.tx_id]
    assert others == []


def test_failure_before_the_commit_leaves_nothing(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx = pchain.make()
    pchain.issue(tx)
    before = contents(remembered())

    def fail(*_: Any) -> None:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(waiting, "remove", fail)
        with pytest.raises(RuntimeError, match="the disk is full"):
            platform_runtime().consensus.produce(now=pchain.now)

    assert contents(remembered()) == before
    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.PROCESSING
    assert platform_chain().tip().height == 0
    pchain.build()
    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED


def test_a_proposal_is_never_stored_without_its_option(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    pchain.now += 40 * DAY
    height = platform_chain().tip().height
    written = []
    insert = Database.insert

    def watch(db: Database, model: Any, columns: Any, rows: Any) -> None:
        found = list(rows)
        if model is models.Block:
            written.append(len(found))
        insert(db, model, columns, found)
        if model is models.RewardUTXO:
            raise RuntimeError("the power is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "insert", watch)
        with pytest.raises(RuntimeError, match="the power is gone"):
            platform_runtime().consensus.produce(now=pchain.now)

    assert written == [2]
    assert platform_chain().tip().height == height
    assert models.Block.objects.count() == height + 1
    assert staker_of(tx).phase == Phase.CURRENT
    pchain.build()
    assert staker_of(tx).outcome == Outcome.REWARDED


def test_blocks_are_linked_and_ids_are_hashes(
    pchain: PChain,
) -> None:
    pchain.do(validator(pchain, "node", end=30 * DAY))
    pchain.do(pchain.make())
    pchain.wait(40 * DAY)

    rows = list(models.Block.objects.order_by("height"))

    assert [row.height for row in rows] == list(range(len(rows)))
    assert len(rows) == 5
    for parent, row in pairwise(rows):
        assert bytes(row.block_id) == sha256(bytes(row.raw))
        assert bytes(row.parent_id) == bytes(parent.block_id)
        block = parse_block(bytes(row.raw))
        assert (block.parent_id, block.height) == (ID(bytes(row.parent_id)), row.height)
        assert row.time == block.time


def test_restarted_process_continues_the_chain(pchain: PChain) -> None:
    tx = pchain.do(scheduled_validator(pchain, "node", start=600, end=30 * DAY))
    payment = pchain.make()
    pchain.issue(payment)
    before, parent = contents(remembered()), platform_chain().tip()

    restart_node()

    assert contents(remembered()) == before
    block, *_ = pchain.wait(1_000)
    assert block.parent_id == parent.block_id
    assert accepted.status(platform_chain(), payment.tx_id).status is TxStatus.COMMITTED
    assert staker_of(tx).phase == Phase.CURRENT


def test_statements_per_block_do_not_grow_with_transactions(
    pchain: PChain,
) -> None:
    asked = []
    txs = payments(pchain, 52)
    for part in (txs[:2], txs[2:]):
        pchain.issue(*part)
        with CaptureQueriesContext(connection) as captured:
            platform_runtime().consensus.produce(now=pchain.now)
        asked.append(len(captured))

    assert asked[0] == asked[1]

"""Blocks made by other nodes: verified like own ones, accepted as a whole, and their effects."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from chaindb.chains import P_CHAIN
from chaindb.events import ChainEvents
from platform_app import models, notifications, tasks
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks import block as codec
from platform_app.blocks.block import (
    Block,
    build_options,
)
from platform_app.chain import RecheckTimer
from platform_app.config import DAY
from platform_app.models import Outcome
from platform_app.selectors import accepted, stakers
from platform_app.services import clearing, uptime
from platform_app.store import mempool as waiting
from platform_app.store import uptime as uptimes
from platform_app.txs.base import TxStatus
from platform_app.txs.subnets import CreateChainTx, CreateSubnetTx
from primitives.ids import ID
from tests.builders import platform, platform_tables
from tests.builders.deciding import deciding
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.made import (
    node,
    payments,
    rival,
    scheduled_validator,
    split,
    staker_of,
    validator,
)
from tests.integration.platform_app.produced import MUCH_LATER, Producer, follow, standard


def test_a_producers_blocks_make_the_same_rows(pchain: PChain) -> None:
    producer = Producer(pchain)
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    pchain.do(scheduled_validator(pchain, "other", start=DAY, end=20 * DAY))
    pchain.do(pchain.make())
    pchain.wait(MUCH_LATER)
    blocks = producer.hand_over()
    assert platform_chain().tip().height == 0

    follow(pchain, *blocks)

    assert platform_tables.alike() == producer.after
    assert staker_of(tx).outcome == Outcome.REWARDED


def test_blocks_can_be_followed_one_by_one(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, proposal, option = rewarded

    follow(pchain, transfer)
    follow(pchain, proposal, option)

    assert platform_chain().tip().block_id == option.block_id


def test_either_option_can_be_followed(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, proposal, _ = rewarded
    assert isinstance(proposal, codec.ProposalBlock)
    _, abort = build_options(proposal)

    follow(pchain, transfer, proposal, abort)

    assert models.Staker.objects.get(node_id=node("node")).outcome == Outcome.UNREWARDED


def test_a_proposal_is_written_with_its_option(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, proposal, option = rewarded

    follow(pchain, transfer, proposal)

    assert platform_chain().tip().block_id == transfer.block_id
    follow(pchain, option)
    assert platform_chain().tip().block_id == option.block_id


def test_written_hook_runs_in_the_accepting_transaction(
    pchain: PChain, rewarded: list[Block]
) -> None:
    accepted_heights = []

    def note(block: Block) -> None:
        assert transaction.get_connection().in_atomic_block
        assert accepted.block(platform_chain(), block.block_id) is None
        accepted_heights.append(block.height)

    follow(pchain, *rewarded, written=note)

    assert accepted_heights == [2, 3, 4]


def test_failing_written_hook_rolls_back_the_blocks(pchain: PChain, rewarded: list[Block]) -> None:
    before = platform_tables.rows()

    def fail(block: Block) -> None:
        if block.height == 4:
            raise RuntimeError("no room for the outer block")

    with pytest.raises(RuntimeError, match="no room for the outer block"):
        follow(pchain, *rewarded, written=fail)

    assert platform_tables.rows() == before


def test_accepted_and_conflicting_transactions_leave_the_mempool(pchain: PChain) -> None:
    sent, spent, other = payments(pchain, 3)
    another = rival(spent)
    pchain.issue(sent, another, other)

    follow(pchain, standard(pchain, sent, spent))

    assert [tx.tx_id for tx in waiting.oldest_first(platform_chain().db)] == [other.tx_id]
    dropped = accepted.status(platform_chain(), another.tx_id)
    assert dropped.status is TxStatus.DROPPED
    assert "failed to read consumed UTXO" in dropped.reason
    assert accepted.status(platform_chain(), spent.tx_id).status is TxStatus.COMMITTED


def test_stale_transactions_are_dropped_without_building(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(pchain, 3, 3_000 * 10**6)
    first = scheduled_validator(pchain, "node", start=600, end=30 * DAY)
    second = scheduled_validator(pchain, "node", start=700, end=30 * DAY)
    payment = pchain.make()
    pchain.issue(second, payment)
    follow(pchain, standard(pchain, first))
    assert accepted.status(platform_chain(), second.tx_id).status is TxStatus.PROCESSING
    monkeypatch.setattr(platform_runtime(), "_consensus", deciding(platform_runtime(), here=False))
    monkeypatch.setattr(platform_chain(), "recheck", RecheckTimer())

    assert tasks.build_blocks() == {"blocks": 0}

    assert "is already a validator" in accepted.status(platform_chain(), second.tx_id).reason
    assert [tx.tx_id for tx in waiting.oldest_first(platform_chain().db)] == [payment.tx_id]
    assert clearing.drop_stale(platform_chain(), now=pchain.now) == 0


def test_concurrent_block_postpones_dropping_transactions(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform_chain(), "recheck", RecheckTimer())
    tx, unfunded = pchain.make(), platform.signed(inputs=platform.spend_all(platform.utxo()))
    with transaction.atomic():
        waiting.add(platform_chain().db, [unfunded], 1)
    look = clearing.refusals

    def look_and_follow(*args: Any) -> Iterator[tuple[ID, str]]:
        found = list(look(*args))
        monkeypatch.undo()
        follow(pchain, standard(pchain, tx))
        return iter(found)

    monkeypatch.setattr(clearing, "refusals", look_and_follow)

    assert clearing.drop_stale(platform_chain(), now=pchain.now) == 0
    assert accepted.status(platform_chain(), unfunded.tx_id).status is TxStatus.PROCESSING


def test_only_the_producer_builds_blocks_and_renews_staking(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    pchain.issue(pchain.make())
    pchain.now += MUCH_LATER
    runtime = platform_runtime()
    monkeypatch.setattr(runtime, "_consensus", deciding(runtime, here=False))
    assert pchain.build() == []
    assert waiting.size(platform_chain().db) > 0

    monkeypatch.setattr(runtime, "_consensus", deciding(runtime, here=True))
    assert pchain.build()
    assert pchain.node_id in stakers.current_validators(platform_chain()).by_node


@pytest.fixture
def sent_events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(ChainEvents, "send", lambda _, *sent: found.append(sent))
    return found


def test_head_event_of_the_last_block_follows_the_commit(
    pchain: PChain,
    rewarded: list[Block],
    sent_events: list[Any],
    django_capture_on_commit_callbacks: Any,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        follow(pchain, *rewarded)
        assert sent_events == []
    last = rewarded[-1]
    head = {"type": notifications.HEAD, "height": 4, "block_id": bytes(last.block_id)}
    assert sent_events == [(P_CHAIN, head)]


def test_own_blocks_and_pending_transactions_send_events(
    pchain: PChain, sent_events: list[Any], sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    tx = pchain.make()
    with django_capture_on_commit_callbacks(execute=True):
        pchain.issue(tx)
    with django_capture_on_commit_callbacks(execute=True):
        pchain.issue(tx)  # issued again: no notification is needed
    assert sent_events == [(P_CHAIN, {"type": notifications.ISSUED, "tx_ids": [bytes(tx.tx_id)]})]

    with django_capture_on_commit_callbacks(execute=True):
        (block,) = pchain.build()
    assert sent_events[1:] == [
        (P_CHAIN, {"type": notifications.HEAD, "height": 1, "block_id": bytes(block.block_id)})
    ]


def test_a_block_that_creates_a_blockchain_sends_an_event_of_its_own(
    pchain: PChain, sent_events: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        subnet = pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ)))
    assert notifications.BLOCKCHAINS not in {message["type"] for _, message in sent_events}
    with django_capture_on_commit_callbacks(execute=True):
        pchain.do(pchain.make(CreateChainTx, subnet_id=subnet.tx_id))
    types = [message["type"] for _, message in sent_events]
    assert types[-2:] == [notifications.HEAD, notifications.BLOCKCHAINS]
    assert types.count(notifications.BLOCKCHAINS) == 1


def test_a_validator_that_is_learned_of_late_was_online_until_then(pchain: PChain) -> None:
    """As in bootstrapping: the time before this node began to track it counts as online."""
    producer = Producer(pchain)
    pchain.do(validator(pchain, "node", end=30 * DAY))
    blocks = producer.hand_over()
    uptime.observe(platform_chain(), [node("somebody")], pchain.now)
    pchain.now += 10 * DAY

    follow(pchain, *blocks)

    (seen,) = uptimes.uptimes(platform_chain().db, [node("node")])
    assert seen.fraction(pchain.now) == 1.0
    uptime.observe(platform_chain(), [], pchain.now)
    assert seen.fraction(pchain.now + 10 * DAY) == pytest.approx(0.5, abs=1e-6)


def test_staking_period_before_tracking_counts_as_online(pchain: PChain) -> None:
    uptime.observe(platform_chain(), [node("somebody")], pchain.now)
    producer = Producer(pchain)
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    pchain.wait(40 * DAY)

    follow(pchain, *producer.hand_over())

    row = staker_of(tx)
    assert row.uptime.up_duration == row.end_time - row.start_time


def test_verification_takes_few_statements_per_block(
    pchain: PChain, django_assert_max_num_queries: Any
) -> None:
    txs = payments(pchain, 40)
    blocks: list[Block] = []
    parent, height = platform_chain().tip().block_id, platform_chain().tip().height
    for tx in txs:
        height += 1
        block = standard(pchain, tx, parent_id=parent, height=height)
        blocks.append(block)
        parent = block.block_id

    # Seven statements for each written block, and a few reads in total.
    with django_assert_max_num_queries(40 * 12 + 30):
        follow(pchain, *blocks)

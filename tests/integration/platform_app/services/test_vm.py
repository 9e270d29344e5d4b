"""The P-Chain behind the VM port: blocks are verified on processing parents, and written when accepted."""

from typing import Any

import pytest
from django.db import OperationalError, connections
from django.test.utils import CaptureQueriesContext

from chainvm.errors import InvalidBlock, NotProcessing, UnknownParent
from chainvm.port import BlockContext, ChainVM, HeadMoved
from platform_app.blocks import builder as block_builder
from platform_app.blocks.block import (
    AbortBlock,
    ApricotProposalBlock,
    Block,
    CommitBlock,
    _build,
    build_standard,
)
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason
from platform_app.chain import NoPlatformGenesis
from platform_app.executor import standard
from platform_app.models import ValidatorUptime
from platform_app.selectors import accepted
from platform_app.services import clearing, mempool
from platform_app.services.acceptance import PlatformTree
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.staking import RewardValidatorTx
from primitives.ids import ID
from tests.builders import platform
from tests.builders.reasons import raises, reason_of
from tests.integration.platform_app.sides import ALIASES, Side, sides

__all__ = ["sides"]

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)

Sides = tuple[Side, Side]


def test_vm_implements_the_consensus_port(sides: Sides) -> None:
    vm: ChainVM[Block] = sides[0].vm
    genesis = vm.get_block(vm.last_accepted())
    assert genesis == sides[0].genesis
    assert vm.get_block_id_at_height(0) == genesis.block_id
    assert vm.get_block_id_at_height(1) is None
    assert vm.get_block(ID(bytes(32))) is None
    assert vm.options(genesis) is None
    assert vm.parse(genesis.raw) == genesis


def test_vm_without_genesis_is_refused(sides: Sides) -> None:
    side = sides[0]
    side.chain.db.execute("DELETE FROM platform_app_chain")
    side.restart()
    with pytest.raises(NoPlatformGenesis):
        side.vm.last_accepted()


def test_nothing_is_built_where_nothing_waits(sides: Sides) -> None:
    assert sides[0].build() is None
    assert sides[0].vm.build(BlockContext(sides[0].now), allow_empty=True) is None


@pytest.mark.parametrize(
    ("context", "height"),
    [
        (BlockContext(1), None),
        (BlockContext(1, voted=True), 0),
        (BlockContext(1, 5, voted=True), 5),
    ],
    ids=["alone", "voted", "voted with a height"],
)
def test_messages_are_verified_at_a_height_on_which_nodes_agree(
    sides: Sides, context: BlockContext, height: int | None
) -> None:
    assert PlatformTree(sides[0].chain).env(context).p_chain_height == height


def test_a_processing_block_is_nowhere_but_in_memory(sides: Sides) -> None:
    side = sides[0]
    before = side.rows()
    block = side.built(side.transfer())
    assert side.vm.get_block(block.block_id) == block
    assert side.vm.get_block_id_at_height(1) is None
    assert side.vm.last_accepted() == side.genesis.block_id
    assert side.rows() == before
    assert side.waiting() == {tx.tx_id for tx in block.txs}
    side.accept(block)
    assert side.written == [block.block_id]
    assert side.vm.last_accepted() == side.vm.get_block_id_at_height(1) == block.block_id
    assert side.chain.tip().block_id == block.block_id
    assert side.waiting() == set()


def test_a_line_is_built_on_undecided_blocks_and_accepted_at_once(sides: Sides) -> None:
    side, other = sides
    line: list[Block] = []
    for _ in range(3):
        line.append(side.built(side.transfer(), on=line[-1] if line else None))
    assert [item.height for item in line] == [1, 2, 3]
    other.now = side.now
    other.verify(*line)
    for entry in sides:
        entry.accept(*line)
        assert entry.written == [block.block_id for block in line]
    assert side.rows() == other.rows()


def test_transactions_of_processing_ancestors_are_not_built_again(sides: Sides) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    assert side.build(on=first) is None
    second = side.built(*(txs := (side.transfer(),)), on=first)
    assert (second.parent_id, second.txs) == (first.block_id, txs)


def test_block_built_twice_is_the_same(sides: Sides) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    assert side.vm.build(BlockContext(side.now)) == first
    side.accept(first)


def test_transactions_of_rejected_foreign_blocks_are_pooled(sides: Sides) -> None:
    side, other = sides
    theirs = other.built(other.transfer())
    side.verify(theirs)
    side.spent = other.spent
    own = side.built(side.transfer())
    assert side.waiting() == {own.txs[0].tx_id}
    side.accept(own)
    assert side.waiting() == {theirs.txs[0].tx_id}
    with pytest.raises(NotProcessing):
        side.vm.reject(theirs.block_id)


def test_acceptance_succeeds_if_rejected_transactions_are_not_pooled(
    sides: Sides, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    side, other = sides
    theirs = other.built(other.transfer())
    side.verify(theirs)
    side.spent = other.spent
    own = side.built(side.transfer())
    monkeypatch.setattr(mempool, "issue", no_database)
    side.accept(own)
    assert side.vm.last_accepted() == own.block_id
    assert "not in the mempool: 1 transaction of rejected blocks" in caplog.text


def no_database(*_arguments: Any, **_options: Any) -> None:
    raise OperationalError("database is locked")


def test_transactions_of_an_own_rejected_block_are_still_pooled(sides: Sides) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    second = side.built(side.transfer(), on=first)
    side.vm.reject(first.block_id)
    assert side.vm.get_block(second.block_id) is None
    block = side.build()
    assert block is not None
    assert set(block.txs) == {*first.txs, *second.txs}


def test_transaction_conflicting_with_an_accepted_block_is_dropped(sides: Sides) -> None:
    side, other = sides
    theirs = other.built(other.transfer())
    (rival,) = side.send(side.transfer(b"rival"))
    side.verify(theirs)
    side.accept(theirs)
    status = accepted.status(side.chain, rival.tx_id)
    assert status.status is TxStatus.DROPPED
    assert "failed to read consumed UTXO" in status.reason


def misplaced(side: Side) -> Tx:
    """Return a pending transaction whose inputs do not exist."""
    tx = platform.signed(inputs=platform.spend_all(platform.utxo(number=999)))
    side.chain.db.execute(
        "INSERT INTO platform_app_mempooltx (tx_id, kind, size, received_at, raw) "
        "VALUES (%s, 1, %s, 1, %s)",
        [bytes(tx.tx_id), len(tx.raw), tx.raw],
    )
    return tx


def test_transaction_refused_by_the_accepted_state_is_dropped(sides: Sides) -> None:
    side = sides[0]
    lost = misplaced(side)
    block = side.built(side.transfer())
    assert lost.tx_id in side.waiting()
    side.accept(block)
    assert side.waiting() == set()
    assert accepted.status(side.chain, lost.tx_id).status is TxStatus.DROPPED


def test_transaction_refused_by_a_processing_state_is_kept(sides: Sides) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    lost = misplaced(side)
    assert side.build(on=first) is None
    assert lost.tx_id in side.waiting()
    second = side.built(side.transfer(), on=first)
    side.accept(first, second)
    assert side.waiting() == {lost.tx_id}
    assert side.build() is None
    assert side.waiting() == set()


def test_transaction_that_crashes_on_a_processing_state_is_dropped(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    bad, good = side.send(side.transfer(), side.transfer())

    def execute(tx: Tx, *arguments: Any) -> None:
        if tx == bad:
            raise ZeroDivisionError
        standard.execute(tx, *arguments)

    for module in (clearing, block_builder):
        monkeypatch.setattr(module, "execute", execute)
    block = side.build(on=first)
    assert block is not None
    assert block.txs == (good,)
    assert accepted.status(side.chain, bad.tx_id) == (TxStatus.DROPPED, "internal error")


def test_only_a_whole_line_is_accepted(sides: Sides) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    second = side.built(side.transfer(), on=first)
    before = side.rows()
    with pytest.raises(NotProcessing):
        side.accept(second)
    assert side.rows() == before
    side.verify(first, second)
    side.accept(first, second)


def test_failure_beside_a_block_rolls_it_back(sides: Sides) -> None:
    side = sides[0]
    block = side.built(side.transfer())
    before = side.rows()

    def fail(block_id: ID) -> None:
        raise OSError(block_id)

    with pytest.raises(OSError, match=str(block.block_id)):
        side.vm.accept([block.block_id], written=fail)
    assert side.rows() == before
    assert side.vm.last_accepted() == side.genesis.block_id
    assert side.waiting() == {tx.tx_id for tx in block.txs}
    side.accept(side.built())


def test_block_accepted_by_another_process_moves_the_head(sides: Sides) -> None:
    side = sides[0]
    block = side.built(side.transfer())
    made = side.another_process().consensus.produce(now=side.now + 1)
    assert made is not None
    with pytest.raises(HeadMoved):
        side.accept(block)
    assert side.vm.last_accepted() == made.block_id
    assert side.vm.get_block(block.block_id) is None
    side.accept(side.built(side.transfer()))
    assert side.chain.tip().height == 2


def test_block_on_another_processes_block_is_verified(sides: Sides) -> None:
    side, other = sides
    line = [other.built(other.transfer())]
    line.append(other.built(other.transfer(), on=line[0]))
    side.vm.last_accepted()
    elsewhere = side.another_process().vm
    elsewhere.verify(line[0], BlockContext(other.now))
    elsewhere.accept([line[0].block_id], written=side.written.append)
    side.now = other.now
    side.verify(line[1])
    side.accept(line[1])
    assert side.chain.tip().block_id == line[1].block_id


def test_preferred_option_of_a_proposal_is_first(sides: Sides) -> None:
    side = sides[0]
    proposal = side.proposed()
    options = side.vm.options(proposal)
    assert options is not None
    assert list(map(type, options)) == [
        CommitBlock.__subclasses__()[1],
        AbortBlock.__subclasses__()[1],
    ]
    ValidatorUptime.objects.update(up_duration=0, last_updated=side.now)
    assert side.vm.options(proposal) == (options[1], options[0])
    side.verify(options[1])
    side.accept(proposal, options[1])
    assert side.written[1:] == [proposal.block_id, options[1].block_id]
    assert side.vm.options(proposal) == options  # irrelevant once the proposal is decided
    status = accepted.status(side.chain, proposal.proposal.tx_id)  # type: ignore[union-attr]
    assert status.status is TxStatus.ABORTED


def test_nothing_but_its_options_is_built_on_a_proposal(sides: Sides) -> None:
    side = sides[0]
    proposal = side.proposed()
    side.send(*side.history().txs(0), side.transfer())
    assert side.build(on=proposal) is None


def test_an_accepted_proposal_waits_in_memory_for_its_option(sides: Sides) -> None:
    side = sides[0]
    proposal = side.proposed()
    before = side.rows()
    side.accept(proposal)
    assert side.rows() == before
    assert side.written[1:] == []
    assert side.vm.last_accepted() == proposal.block_id
    assert side.vm.get_block(proposal.block_id) == proposal
    assert side.vm.get_block_id_at_height(proposal.height) == proposal.block_id
    commit, _ = side.vm.options(proposal) or (None, None)
    assert commit is not None
    side.verify(commit)
    side.accept(commit)
    assert side.written[1:] == [proposal.block_id, commit.block_id]
    assert side.chain.tip().block_id == commit.block_id


def test_a_restart_loses_a_proposal_without_option(sides: Sides) -> None:
    side = sides[0]
    proposal = side.proposed()
    side.accept(proposal)
    side.restart()
    assert side.vm.last_accepted() == proposal.parent_id


def test_nothing_may_follow_a_proposal_of_before_the_fork(sides: Sides) -> None:
    side = sides[0]
    reward = platform.signed(RewardValidatorTx, keys=[])
    old = _build(ApricotProposalBlock, parent_id=side.genesis.block_id, height=1, proposal=reward)
    assert side.vm.options(old) is None


class OneOwn:
    """Proposes one transaction again whenever its last attempt failed."""

    def __init__(self, tx: Tx) -> None:
        self.tx: Tx | None = tx
        self.proposed: list[tuple[Tx, int]] = []

    def propose(self, *, now: int) -> Tx | None:
        tx, self.tx = self.tx, None
        if tx is not None:
            self.proposed.append((tx, now))
        return tx

    def undo(self) -> None:
        if self.proposed:
            self.tx = self.proposed[-1][0]


def test_own_transaction_has_its_own_block_at_chain_time(sides: Sides) -> None:
    side = sides[0]
    side.vm.own = own = OneOwn(side.transfer())
    (other,) = side.send(side.transfer())
    side.now += 100
    first = side.build()
    assert first is not None
    assert (first.time, first.txs) == (platform.NOW, (own.proposed[0][0],))
    side.vm.reject(first.block_id)
    assert side.waiting() == {other.tx_id}
    again = side.build()
    assert again == first
    side.accept(again)
    assert side.built().txs == (other,)


def test_the_nodes_own_waits_until_the_accepted_state_is_built_on(sides: Sides) -> None:
    side = sides[0]
    first = side.built(side.transfer())
    side.vm.own = own = OneOwn(side.transfer())
    second = side.built(side.transfer(), on=first)
    assert own.proposed == []
    side.accept(first, second)
    assert side.build() is not None
    assert [now for _, now in own.proposed] == [second.time]


def test_refused_own_transaction_does_not_block_others(sides: Sides) -> None:
    side = sides[0]
    side.vm.own = OneOwn(
        bad := platform.signed(inputs=platform.spend_all(platform.utxo(number=999)))
    )
    block = side.built(side.transfer())
    assert bad not in block.txs
    assert accepted.status(side.chain, bad.tx_id).status is TxStatus.DROPPED


def child(side: Side, *txs: Tx, **changes: Any) -> Block:
    """Return an unverified block on the genesis."""
    fields = {"parent_id": side.genesis.block_id, "height": 1, "time": side.now, **changes}
    return build_standard(txs=txs, **fields)


def test_each_refusal_has_its_class_and_leaves_nothing(sides: Sides) -> None:
    side = sides[0]
    tx, unfunded = side.transfer(), platform.signed(inputs=platform.spend_all(platform.utxo()))
    refusals = [
        (child(side, tx, parent_id=ID(b"\1" * 32)), UnknownParent),
        (child(side, tx, height=2), PlatformBlockReason.WRONG_HEIGHT),
        (child(side), PlatformBlockReason.NO_STATE_CHANGES),
        (child(side, tx, time=side.now - 1), PlatformBlockReason.TIME_BEFORE_CHAIN),
        (child(side, tx, unfunded), PlatformBlockReason.REFUSED_TX),
    ]
    for block, refusal in refusals:
        with pytest.raises(InvalidBlock) as caught:
            side.verify(block)
        assert reason_of(caught.value) is refusal
        assert side.vm.get_block(block.block_id) is None
        for decide in (side.vm.reject, side.vm.set_preference):
            with pytest.raises(NotProcessing):
                decide(block.block_id)
        with pytest.raises(NotProcessing):
            side.accept(block)
    with raises(PlatformBlockReason.UNREADABLE_BLOCK, kind=InvalidPlatformBlock):
        side.vm.parse(child(side, tx).raw[:-1])


def test_batch_of_blocks_is_processing_completely_or_not_at_all(sides: Sides) -> None:
    side = sides[0]
    known, tx, other = side.transfer(), side.transfer(), side.transfer()
    first = child(side, known)
    second = child(side, tx, parent_id=first.block_id, height=2)
    third = child(side, other, parent_id=second.block_id, height=3)
    strange = child(side, other, parent_id=first.block_id, height=3)
    bad = child(side, parent_id=second.block_id, height=3)
    side.verify(first)
    for last, refusal in (
        (strange, UnknownParent),
        (bad, PlatformBlockReason.NO_STATE_CHANGES),
    ):
        with pytest.raises(InvalidBlock) as caught:
            side.vm.verify_all([first, second, last], [BlockContext(side.now)] * 3)
        assert reason_of(caught.value) is refusal
        assert side.vm.get_block(first.block_id) == first
        assert side.vm.get_block(second.block_id) is None
        assert side.waiting() == set()
    side.vm.verify_all([first, second, third], [BlockContext(side.now)] * 3)
    side.accept(first, second, third)


@pytest.mark.parametrize(("waiting", "questions"), [(0, 4), (3, 9)])
def test_statements_per_block_are_as_few_as_in_one_transaction(
    sides: Sides, waiting: int, questions: int
) -> None:
    """Two reads of the tip, the next stakers, the pending transactions; with transfers also the outputs they spend."""
    side = sides[0]
    side.accept(side.built(side.transfer()))
    side.send(*(side.transfer() for _ in range(waiting)))
    with CaptureQueriesContext(connections["default"]) as captured:
        block = side.runtime.consensus.produce(now=side.now + 5)
    assert (block is not None) == bool(waiting)
    asked = [other["sql"] for other in captured if other["sql"].lstrip().startswith("SELECT")]
    assert len([item for item in asked if "pg_advisory" not in item]) == questions

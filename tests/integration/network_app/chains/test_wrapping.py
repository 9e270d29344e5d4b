"""Outer blocks of this node's blocks: made together with the block, valid, and never changed afterwards.

Also those of older blocks accepted without an outer block: made once, when a process starts to build or follow blocks.
"""

from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_runtime
from chaindb import clock
from network_app.chains import validators, wrapping
from network_app.chains.chain import NetworkChain
from network_app.models import Certificate, OuterBlock
from network_app.ports import BlockRef
from network_app.proposervm.block import OuterBlock as Outer
from network_app.proposervm.block import OuterOptionBlock, SignedBlock, parse
from network_app.proposervm.epochs import Epoch, next_epoch
from network_app.proposervm.errors import NotWrapped
from network_app.proposervm.verification import Proposers
from network_app.proposervm.windower import WINDOW_DURATION, proposer_at, slot_of
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import DAY
from primitives.ids import ID
from tests.builders.deciding import deciding
from tests.integration.network_app import tables
from tests.integration.network_app.world import (
    MAKER,
    STRANGER,
    Chains,
    World,
    maker_alone,
    raws,
    tip,
)
from tests.integration.platform_app.made import validator

UNKNOWN = ID(bytes(range(32)))
READING = {"SELECT", "DECLARE"}
"""First words of statements that read; PostgreSQL declares a cursor for many rows."""


def read(chain: NetworkChain[Any]) -> list[Outer]:
    return [parse(raw) for raw in raws(chain)]


def signed(chain: NetworkChain[Any]) -> list[SignedBlock]:
    found = read(chain)
    assert all(isinstance(item, SignedBlock) for item in found)
    return [other for other in found if isinstance(other, SignedBlock)]


def test_block_is_accepted_with_its_outer_block(world: World) -> None:
    world.make_c(1)
    assert OuterBlock.objects.get().chain == "C"
    world.make_p()
    assert OuterBlock.objects.count() == 2
    world.make_c(2)
    assert [item.height for item in OuterBlock.objects.filter(chain="C")] == [2, 1]


def test_queries_write_nothing(world: World) -> None:
    world.make_history()
    world.make_bare()
    world.make_c(1)
    world.make_p()
    before = tables.everything()
    with CaptureQueriesContext(connection) as asked:
        for chain in world.node(MAKER):
            place = chain.last_accepted()
            chain.accepted_at([0, place.height, place.height + 1])
            chain.height_of([place.block_id])
            assert chain.block(place.block_id) is not None
            chain.ancestors(place.block_id, count=9, size=1 << 30, seconds=9)
            chain.accepted_since(0, 9)
            chain.waiting(9)
            chain.consensus.may_produce(place.height + 1, clock.now())
    assert len(asked) > 20
    assert {item["sql"].split()[0] for item in asked} <= READING
    assert tables.everything() == before


class Failing:
    """Makes the nth statement fail."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Any, sql: str, params: Any, *context: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise DatabaseError("the disk is full")
        return execute(sql, params, *context)


@pytest.mark.parametrize("alias", ["P", "C"])
def test_every_block_has_its_outer_block_after_a_kill_at_any_point(
    world: World, alias: str
) -> None:
    """Whichever statement is the last one, either both blocks exist or neither does."""
    world.make_c(1)
    world.make_p()
    world.p.issue(world.p.make())
    world.c.send(world.c.make(value=2))
    world.wall.seconds += 1
    now, chain = clock.now(), getattr(world.maker, alias.lower())
    number, heights = 0, set()
    while True:
        number += 1
        with suppress(DatabaseError), connection.execute_wrapper(Failing(number)):
            chain.consensus.produce(now=now)
        inner, outer = tip(chain).height, chain.rows.tip().height
        assert inner == outer
        heights.add(inner)
        if inner == 2:
            break
    assert heights == {1, 2}
    assert number > 10


@pytest.mark.parametrize("alias", ["P", "C"])
def test_outer_block_takes_one_insert_and_two_queries(world: World, alias: str) -> None:
    """Compared with the chain's own VM under sole consensus. The two extra reads detect a rewind."""
    for _ in range(3):
        world.make_c(1)
        world.make_p()
    world.wall.seconds += 100
    runtime: Any = platform_runtime() if alias == "P" else evm_runtime()
    outer, bare = runtime.consensus, deciding(runtime, here=True)
    costs = []
    for consensus in (outer, outer, bare, bare):
        if alias == "P":
            world.p.issue(world.p.make())
        else:
            world.c.send(world.c.make(value=2))
        world.wall.seconds += 1
        now = clock.now()
        with CaptureQueriesContext(connection) as asked:
            assert consensus.produce(now=now) is not None
        costs.append([item["sql"] for item in asked])
    with_outer, without = costs[1], costs[3]
    ours = [sql for sql in with_outer if "network_app" in sql]
    assert len(ours) == 1
    assert 'INSERT INTO "network_app_outerblock"' in ours[0]
    # On PostgreSQL the C-Chain sends the insert and the second read in the messages of the block itself.
    together = alias == "C" and connection.vendor == "postgresql"
    assert len(with_outer) == len(without) + (1 if together else 1 + 2)
    looks = [sum("chaindb_generation" in sql for sql in asked) for asked in (with_outer, without)]
    assert looks[0] - looks[1] == (1 if together else 2)


@pytest.fixture
def bare(world: World) -> World:
    """Blocks without outer blocks, as before these existed."""
    world.make_bare()
    return world


def test_missing_outer_blocks_are_written_once_at_start(bare: World) -> None:
    bare.make_history()
    assert OuterBlock.objects.count() == 0
    maker = bare.node(MAKER)
    for chain, count in zip(maker, (8, 6), strict=True):
        chain.begin()
        assert chain.last_accepted().height == count
    wrapped = [raws(chain) for chain in maker]
    with CaptureQueriesContext(connection) as asked:
        for chain in bare.node(STRANGER):
            chain.begin()
    assert {item["sql"].split()[0] for item in asked} <= READING
    assert [raws(chain) for chain in bare.node(STRANGER)] == wrapped


def test_producer_continues_above_wrapped_blocks(bare: World) -> None:
    bare.make_c(1)
    bare.make_c(2)
    bare.begin_as(MAKER)
    made = bare.make_c(3)
    found = signed(bare.maker.c)
    assert [other.parent_id for other in found[1:]] == [item.outer_id for item in found[:2]]
    assert found[2].time == made.header.timestamp
    assert OuterBlock.objects.count() == 3


def test_unwrapped_blocks_of_another_process_stop_production(
    world: World,
) -> None:
    world.make_c(1)
    maker = evm_runtime().consensus
    world.make_bare()
    world.make_c(2)
    with pytest.raises(NotWrapped):
        maker.produce(now=clock.now(), allow_empty=True)
    assert OuterBlock.objects.count() == 1


def test_genesis_is_the_last_block_initially(world: World) -> None:
    for chain in world.maker:
        place = chain.last_accepted()
        assert place.height == 0
        assert chain.accepted_at([0, 1]) == [place.block_id, None]
        assert chain.height_of([place.block_id]) == [0]
        assert chain.accepted_since(0, 10) == []
    assert world.maker.p.last_accepted().block_id == platform_chain().tip().block_id
    assert world.maker.c.last_accepted().block_id == world.c.genesis.hash


def test_first_wrapped_block_is_unsigned_and_later_ones_signed(world: World) -> None:
    made = [world.make_c(value) for value in (1, 2, 3)]
    first, *others = signed(world.maker.c)

    assert (first.kind, first.proposer, first.epoch) == (0, None, None)
    assert first.parent_id == world.c.genesis.hash
    parent: Outer = first
    for one, block in zip(others, made[1:], strict=True):
        assert (one.kind, one.proposer) == (2, MAKER.node_id)
        assert one.parent_id == parent.outer_id
        assert one.time == block.header.timestamp
        parent = one
    assert Certificate.objects.get().der == MAKER.certificate_der


def test_a_block_is_the_same_whenever_and_by_whomever_it_is_read(world: World) -> None:
    for value in (1, 2, 3):
        world.make_c(value)
        world.make_p()
    first = [raws(chain) for chain in world.maker]
    world.make_c(4)
    world.make_p()

    for other in (world.maker, world.node(MAKER), world.node(STRANGER)):
        for chain, known in zip(other, first, strict=True):
            again = raws(chain)
            assert again[:3] == known
            assert len(again) == 4
            ids = [parse(raw).outer_id for raw in again]
            assert [chain.block(block_id) for block_id in ids] == again
            assert chain.accepted_at([1, 2, 3, 4, 5, 1 << 63]) == [*ids, None, None]
            assert chain.height_of([ids[2], UNKNOWN, ids[0]]) == [3, None, 1]
            assert chain.last_accepted() == BlockRef(4, ids[3])


def test_an_option_is_nobodys_and_hands_on_its_proposals_times(world: World) -> None:
    world.p.do(validator(world.p, "node", end=30 * DAY))
    (made,) = world.p.wait(40 * DAY)  # preceded by the proposal
    reread = world.node(MAKER).p
    assert reread.last_accepted() == world.maker.p.last_accepted()
    world.make_p()
    found = read(reread)

    at = next(place for place, one in enumerate(found) if isinstance(one, OuterOptionBlock))
    proposal, option, child = found[at - 1 : at + 2]
    assert isinstance(proposal, SignedBlock)
    assert isinstance(child, SignedBlock)
    assert (option.parent_id, option.inner) == (proposal.outer_id, made.raw)
    assert OuterBlock.objects.get(block_id=option.outer_id).time is None
    assert child.parent_id == option.outer_id
    assert child.epoch == next_epoch(
        proposal.time, proposal.p_chain_height, proposal.epoch, child.time, 30
    )


def test_an_epoch_lasts_half_a_minute(world: World) -> None:
    for _ in range(8):
        world.make_c(after=11)
    times = [item.time for item in signed(world.maker.c)]
    epochs = [other.epoch for other in signed(world.maker.c)]

    assert epochs[0] is None
    assert epochs[1] == Epoch(0, 1, times[0])
    assert [epoch and epoch.number for epoch in epochs] == [None, 1, 1, 1, 2, 2, 2, 3]
    assert [entry and entry.start_time for entry in epochs[4:]] == [times[3]] * 3 + [times[6]]


def test_the_p_chains_height_is_that_of_half_a_minute_ago(world: World) -> None:
    named = []
    for _ in range(6):
        world.make_p(after=10)
        world.make_c(after=0)
    for block, one in zip(range(1, 7), signed(world.maker.c), strict=True):
        named.append((block, one.p_chain_height))

    assert named == [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 3)]
    assert [item.p_chain_height for item in signed(world.maker.p)] == [0, 0, 0, 1, 2, 3]


def test_outer_p_chain_block_names_an_earlier_height(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validators, "LAG", 0)
    for _ in range(3):
        world.make_p(after=5)

    assert [item.p_chain_height for item in signed(world.maker.p)] == [0, 1, 2]


def wrapped_by(world: World, proposers: Proposers = maker_alone) -> Chains:
    """Return the chains of a newly started producer that has created the missing outer blocks."""
    found = world.node(MAKER, proposers)
    for chain in found:
        chain.begin()
    return found


@pytest.mark.parametrize("piece", [1, 2, 3, 5])
def test_pieces_do_not_matter(bare: World, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    bare.p.do(validator(bare.p, "node", end=30 * DAY))
    bare.make_p()
    bare.p.wait(40 * DAY)
    for value in (1, 2, 3, 4, 5):
        bare.make_p(after=9)
        bare.make_c(value, after=9)
    at_once = [[parse(raw).outer_id for raw in raws(chain)] for chain in wrapped_by(bare)]
    OuterBlock.objects.all().delete()
    monkeypatch.setattr(wrapping, "PIECE", piece)

    again = [[parse(raw).outer_id for raw in raws(chain)] for chain in wrapped_by(bare)]

    assert again == at_once


def test_large_blocks_are_wrapped_in_smaller_pieces(
    bare: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(5):
        bare.make_c(value)
    monkeypatch.setattr(wrapping, "PIECE_BYTES", 1)

    assert len(raws(wrapped_by(bare).c)) == 5


def test_two_processes_wrap_a_block_once(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (1, 2):
        bare.make_c(value)
    mine, other = bare.node(MAKER).c, bare.node(MAKER).c
    blocks = mine.rows.blocks
    asked = []

    def overtaken(*place: int) -> Any:
        """Read the blocks, and have the other process create their outer blocks first."""
        found = blocks(*place)
        if place[0] and not asked:
            asked.append(place)
            other.begin()
        return found

    monkeypatch.setattr(mine.rows, "blocks", overtaken)
    mine.begin()

    assert len(asked) == 1
    assert mine.last_accepted() == other.last_accepted()
    assert OuterBlock.objects.count() == 2


def test_wrapped_block_outside_its_slot_gets_the_next_own_slot(bare: World) -> None:
    weights = {MAKER.node_id: 1, STRANGER.node_id: 1}
    first = bare.make_c(1)
    chain_id = bare.node(MAKER).c.chain_id
    owners = [proposer_at(chain_id, 2, slot, weights) for slot in range(100)]
    theirs = owners.index(STRANGER.node_id)
    ours = owners.index(MAKER.node_id, theirs)
    bare.make_c(2, after=theirs * WINDOW_DURATION + 2)
    began = first.header.timestamp
    bare.wall.seconds = began + ours * WINDOW_DURATION + 40

    second = signed(wrapped_by(bare, lambda _height: weights).c)[1]

    assert slot_of(second.time, began) == ours
    assert second.time == began + ours * WINDOW_DURATION


def test_a_slot_that_has_not_begun_is_not_taken(bare: World) -> None:
    weights = {MAKER.node_id: 1, STRANGER.node_id: 1}
    bare.make_c(1)
    chain_id = bare.node(MAKER).c.chain_id
    owners = [proposer_at(chain_id, 2, slot, weights) for slot in range(100)]
    made = bare.make_c(2, after=owners.index(STRANGER.node_id) * WINDOW_DURATION + 2)

    assert signed(wrapped_by(bare, lambda _height: weights).c)[1].time == made.header.timestamp


def test_wrapped_blocks_of_a_former_validator_keep_their_times(bare: World) -> None:
    made = [bare.make_c(value) for value in (1, 2, 3)]
    bare.wall.seconds += 10_000
    chain = wrapped_by(bare, lambda _height: {STRANGER.node_id: 1}).c

    assert [item.time for item in signed(chain)] == [other.header.timestamp for other in made]

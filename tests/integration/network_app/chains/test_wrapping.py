"""Outer blocks of what was made here: made when somebody asks, by the rules, and the same ever after."""

from typing import Any

import pytest

from network_app.chains import wrapping
from network_app.chains.wrapped import WrappedChain
from network_app.models import Certificate, OuterBlock
from network_app.ports import BlockPlace
from network_app.proposervm.block import OptionBlock, SignedBlock, parse
from network_app.proposervm.block import OuterBlock as Outer
from network_app.proposervm.epochs import Epoch, next_epoch
from network_app.proposervm.windower import SLOT, proposer_at, slot_of
from platform_app.apps import platform_chain
from platform_app.config import DAY
from primitives.ids import ID
from tests.integration.network_app.world import MAKER, STRANGER, World, raws
from tests.integration.platform_app.made import validator

UNKNOWN = ID(bytes(range(32)))


def read(chain: WrappedChain) -> list[Outer]:
    return [parse(raw) for raw in raws(chain)]


def signed(chain: WrappedChain) -> list[SignedBlock]:
    found = read(chain)
    assert all(isinstance(one, SignedBlock) for one in found)
    return [one for one in found if isinstance(one, SignedBlock)]


def test_nothing_is_wrapped_before_somebody_asks(world: World) -> None:
    world.make_c(1)
    world.make_p()
    assert OuterBlock.objects.count() == 0

    assert world.maker.c.last_accepted().height == 1
    assert OuterBlock.objects.get().chain == "C"
    world.make_c(2)
    assert OuterBlock.objects.count() == 1
    assert world.maker.p.last_accepted().height == 1
    assert world.maker.c.last_accepted().height == 2
    assert OuterBlock.objects.count() == 3


def test_before_the_first_block_genesis_is_the_last_one(world: World) -> None:
    for chain in world.maker:
        place = chain.last_accepted()
        assert place.height == 0
        assert chain.accepted_at([0, 1]) == [place.block_id, None]
        assert chain.height_of([place.block_id]) == [0]
        assert chain.accepted_since(0, 10) == []
    assert world.maker.p.last_accepted().block_id == platform_chain().tip().block_id
    assert world.maker.c.last_accepted().block_id == world.c.genesis.hash


def test_the_first_block_is_unsigned_and_the_others_are_the_makers(world: World) -> None:
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
            assert chain.last_accepted() == BlockPlace(4, ids[3])


def test_an_option_is_nobodys_and_hands_on_its_proposals_times(world: World) -> None:
    world.p.do(validator(world.p, "node", end=30 * DAY))
    (made,) = world.p.wait(40 * DAY)  # the proposal went before it
    reread = world.node(MAKER).p
    assert reread.last_accepted() == world.maker.p.last_accepted()
    world.make_p()
    found = read(reread)

    at = next(place for place, one in enumerate(found) if isinstance(one, OptionBlock))
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
    times = [one.time for one in signed(world.maker.c)]
    epochs = [one.epoch for one in signed(world.maker.c)]

    assert epochs[0] is None
    assert epochs[1] == Epoch(0, 1, times[0])
    assert [one and one.number for one in epochs] == [None, 1, 1, 1, 2, 2, 2, 3]
    assert [one and one.start_time for one in epochs[4:]] == [times[3]] * 3 + [times[6]]


def test_the_p_chains_height_is_that_of_half_a_minute_ago(world: World) -> None:
    named = []
    for _ in range(6):
        world.make_p(after=10)
        world.make_c(after=0)
    for block, one in zip(range(1, 7), signed(world.maker.c), strict=True):
        named.append((block, one.p_chain_height))

    assert named == [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 3)]
    assert [one.p_chain_height for one in signed(world.maker.p)] == [0, 0, 0, 1, 2, 3]


def test_a_block_of_the_p_chain_does_not_name_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wrapping, "LAG", 0)
    for _ in range(3):
        world.make_p(after=5)

    assert [one.p_chain_height for one in signed(world.maker.p)] == [0, 1, 2]


@pytest.mark.parametrize("piece", [1, 2, 3, 5])
def test_pieces_do_not_matter(world: World, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    world.p.do(validator(world.p, "node", end=30 * DAY))
    world.make_p()
    world.p.wait(40 * DAY)
    for value in (1, 2, 3, 4, 5):
        world.make_p(after=9)
        world.make_c(value, after=9)
    at_once = [[parse(raw).outer_id for raw in raws(chain)] for chain in world.maker]
    OuterBlock.objects.all().delete()
    monkeypatch.setattr(wrapping, "PIECE", piece)

    again = [[parse(raw).outer_id for raw in raws(chain)] for chain in world.node(MAKER)]

    assert again == at_once


def test_large_blocks_are_wrapped_in_smaller_pieces(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(5):
        world.make_c(value)
    monkeypatch.setattr(wrapping, "PIECE_BYTES", 1)

    assert len(raws(world.maker.c)) == 5


def test_two_processes_wrap_a_block_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (1, 2):
        world.make_c(value)
    mine, other = world.maker.c, world.node(MAKER).c
    blocks = mine.inner.blocks
    asked = []

    def overtaken(*place: Any) -> Any:
        """Read the blocks, and let the other process wrap them before they are."""
        found = blocks(*place)
        if not asked:
            asked.append(place)
            other.last_accepted()
        return found

    monkeypatch.setattr(mine.inner, "blocks", overtaken)
    place = mine.last_accepted()

    assert len(asked) == 1
    assert place == other.last_accepted()
    assert OuterBlock.objects.count() == 2
    world.make_c(3)
    assert mine.last_accepted() == other.last_accepted() == world.node(MAKER).c.last_accepted()


def test_a_block_that_others_may_not_have_made_has_the_time_of_our_next_slot(world: World) -> None:
    weights = {MAKER.node_id: 1, STRANGER.node_id: 1}
    chain = world.node(MAKER, lambda _height: weights).c
    world.make_c(1)
    first = signed(chain)[0]
    owners = [proposer_at(chain.chain_id, 2, slot, weights) for slot in range(100)]
    theirs = owners.index(STRANGER.node_id)
    ours = owners.index(MAKER.node_id, theirs)
    world.make_c(2, after=theirs * SLOT + 2)
    world.wall.seconds = first.time + ours * SLOT + 40

    second = signed(chain)[1]

    assert slot_of(second.time, first.time) == ours
    assert second.time == first.time + ours * SLOT


def test_a_slot_that_has_not_begun_is_not_taken(world: World) -> None:
    weights = {MAKER.node_id: 1, STRANGER.node_id: 1}
    chain = world.node(MAKER, lambda _height: weights).c
    world.make_c(1)
    owners = [proposer_at(chain.chain_id, 2, slot, weights) for slot in range(100)]
    made = world.make_c(2, after=owners.index(STRANGER.node_id) * SLOT + 2)

    assert signed(chain)[1].time == made.header.timestamp


def test_who_takes_no_turns_any_more_keeps_the_times_of_its_blocks(world: World) -> None:
    chain = world.node(MAKER, lambda _height: {STRANGER.node_id: 1}).c
    made = [world.make_c(value) for value in (1, 2, 3)]
    world.wall.seconds += 10_000

    assert [one.time for one in signed(chain)] == [one.header.timestamp for one in made]

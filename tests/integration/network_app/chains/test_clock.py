"""The clock in a network: on a local network it follows accepted blocks, unless the validators vote."""

from typing import Any

import pytest

from cchain_app.blocks.candidate import parse_block
from chaindb import clock
from chainvm.port import BlockContext
from network_app.chains.chain import NetworkChain
from network_app.ports import BlockRejection, NotYet
from network_app.proposervm.block import SignedBlock, parse
from network_app.proposervm.verification import MAX_SKEW
from nodeproject.apps import this_node, use
from platform_app.config import DAY
from primitives.ids import ID
from tests.builders.node_settings import updated
from tests.integration.cchain_app import followed
from tests.integration.network_app.world import (
    FOLLOWER,
    MAKER,
    STRANGER,
    Past,
    World,
    follow,
    forged,
    refusal,
)

JOURNEY = 100 * DAY
LATER = "time is too far advanced: "


@pytest.fixture
def journey(world: World) -> Past:
    """Blocks of both chains around a time travel on another node; the clock of this node has not moved."""
    before = world.wall.seconds
    for seconds in (1, JOURNEY, 1, 1):
        world.make_p(after=seconds)
        world.make_c(after=0)
    blocks = world.hand_over()
    world.wall.seconds = before + 5
    assert clock.offset() == 0
    return blocks


@pytest.fixture(params=["p", "c"])
def follower(request: pytest.FixtureRequest, world: World, journey: Past) -> NetworkChain[Any]:
    """One of a follower's chains; both have accepted their first block."""
    node = world.node(FOLLOWER)
    for item in node:
        follow(item, blocks_of(journey, item)[:1])
    assert clock.offset() == 0
    found: NetworkChain[Any] = getattr(node, request.param)
    return found


def blocks_of(past: Past, chain: NetworkChain[Any]) -> list[bytes]:
    return past.p if chain.alias == "P" else past.c


def time_of(raw: bytes) -> int:
    block = parse(raw)
    assert isinstance(block, SignedBlock)
    return block.time


@pytest.fixture
def elsewhere(world: World, settings: Any) -> None:
    """A network without time travel, although its chains are those of the local network."""
    node = this_node()
    settings.NODE = updated(settings.NODE, network_id=5)
    use(node)


def test_the_clock_follows_the_producers_blocks(follower: NetworkChain[Any], journey: Past) -> None:
    _, *blocks = blocks_of(journey, follower)

    follow(follower, blocks[:1])
    assert clock.now() == time_of(blocks[0])
    follow(follower, blocks)
    assert clock.now() == time_of(blocks[2])


def test_the_clock_follows_the_last_of_several_blocks(
    follower: NetworkChain[Any], journey: Past
) -> None:
    follow(follower, blocks_of(journey, follower))

    assert clock.now() == time_of(blocks_of(journey, follower)[-1])


def test_blocks_of_the_past_do_not_move_the_clock(
    world: World, follower: NetworkChain[Any], journey: Past
) -> None:
    world.wall.seconds += 2 * JOURNEY
    follow(follower, blocks_of(journey, follower))

    assert clock.offset() == 0


def test_future_block_on_a_public_network_is_refused(
    world: World, follower: NetworkChain[Any], journey: Past, elsewhere: None
) -> None:
    second = blocks_of(journey, follower)[1]
    why = refusal(NotYet, follower, second)
    assert str(why) == f"{LATER}{time_of(second)} > {clock.now() + MAX_SKEW}"
    assert (follower.last_accepted().height, clock.offset()) == (1, 0)

    world.wall.seconds = time_of(second) - MAX_SKEW
    follow(follower, [second])
    assert (follower.last_accepted().height, clock.offset()) == (2, 0)


@pytest.mark.parametrize(
    "forgery",
    [{"by": STRANGER, "certificate": MAKER.certificate_der}, {"parent_id": ID(bytes(32))}],
    ids=["another key", "another parent"],
)
def test_the_clock_follows_no_block_that_breaks_a_rule(
    follower: NetworkChain[Any], journey: Past, forgery: dict[str, Any]
) -> None:
    bad = forged(follower, blocks_of(journey, follower)[1], **forgery)

    refusal(BlockRejection, follower, bad)

    assert (follower.last_accepted().height, clock.offset()) == (1, 0)


def test_the_clock_does_not_follow_a_block_that_is_refused(world: World, journey: Past) -> None:
    node = world.node(FOLLOWER)
    follow(node.p, journey.p[:1])
    follow(node.c, journey.c[:1])
    chain = node.c
    inner = parse_block(parse(journey.c[2]).inner)
    bad = forged(
        chain,
        journey.c[2],
        inner=followed.forged(inner, gas_used=1).raw,
        time=time_of(journey.c[2]) + JOURNEY,
    )

    refusal(BlockRejection, chain, journey.c[1], bad)
    assert clock.now() == time_of(journey.c[1])
    refusal(BlockRejection, chain, bad)
    assert clock.now() == time_of(journey.c[1])


@pytest.fixture(params=["p", "c"])
def first_blocks(
    request: pytest.FixtureRequest, world: World
) -> tuple[NetworkChain[Any], list[bytes]]:
    """A follower's chain at genesis, and blocks that were all made after a time travel."""
    before = world.wall.seconds
    for seconds in (JOURNEY, 1):
        world.make_p(after=seconds)
        world.make_c(after=0)
    past = world.hand_over()
    world.wall.seconds = before
    chain: NetworkChain[Any] = getattr(world.node(FOLLOWER), request.param)
    return chain, blocks_of(past, chain)


def test_a_first_block_moves_the_clock(
    first_blocks: tuple[NetworkChain[Any], list[bytes]],
) -> None:
    chain, (first, _) = first_blocks

    follow(chain, [first])

    assert (chain.last_accepted().height, clock.now()) == (1, time_of(first))


def test_each_vote_of_the_producer_moves_the_clock(
    first_blocks: tuple[NetworkChain[Any], list[bytes]], settings: Any
) -> None:
    chain, raws = first_blocks
    voted = chain.voted(followed=MAKER.node_id)
    assert voted.verified_at is not None
    for raw in raws:
        block = voted.vm.parse(raw)
        voted.vm.verify(block, BlockContext(int(voted.verified_at(block))))
        assert clock.now() < time_of(raw)
        voted.vm.accept([block.block_id], written=voted.written)
        assert clock.now() == time_of(raw)


def test_voted_blocks_do_not_move_the_clock(
    first_blocks: tuple[NetworkChain[Any], list[bytes]], settings: Any
) -> None:
    chain, (first, _) = first_blocks
    voted = chain.voted()
    assert voted.verified_at is not None
    block = voted.vm.parse(first)
    assert voted.verified_at(block) <= voted.now()
    voted.written(block.block_id)
    assert clock.offset() == 0

"""Fetched blocks that are not yet executed are limited in size, however many beacons claim more."""

import pytest

from network_app.sync import fetching
from network_app.wire.p2p_pb2 import Message
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain, block_bytes
from tests.builders.memory_network import World, quick_config, running, until

pytestmark = pytest.mark.sqlite_only

KIB = 1024
PIECE = 200
ROOM = 500 * KIB
SMALL_ANSWERS = quick_config(ancestors_bytes=ROOM // 10)
TOO_MUCH = f"fetched blocks take more than {ROOM} bytes and none of them can be executed yet"


def chain_of(count: int, size: int = 0) -> MemoryChain:
    chain = MemoryChain()
    chain.make_many(count, size)
    return chain


def without_votes(message: Message, _: NodeID) -> Message | None:
    """Drop chits, so that votes on single heights are never answered."""
    return None if message.HasField("chits") else message


async def test_agreed_frontier_above_the_storage_limit_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    first = world.add("first", chain_of(300, size=10 * KIB), weight=1, config=SMALL_ANSWERS)
    first.tamper = without_votes
    config = quick_config(ancestors_count=PIECE, most_fetched_bytes=ROOM)
    joining = world.add("joining", beacons=["first"], config=config)
    world.link_all()
    async with running(first, joining):
        await until(lambda: joining.sent["get_accepted_frontier"] > 2)
        await until(lambda: joining.chain.stored == {})
        assert not joining.follows()
    assert 0.8 * ROOM < joining.chain.most_bytes_stored <= ROOM
    assert joining.chain.height == 0
    assert caplog.text.count(TOO_MUCH) == 1  # one line a minute, however many rounds fail


async def test_long_chain_is_fetched_in_pieces_within_the_storage_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fetching, "LOOK", 0.01)
    world = World()
    first = world.add("first", chain_of(1200, size=2 * KIB), weight=1)
    config = quick_config(ancestors_count=PIECE, most_fetched_bytes=ROOM)
    slow = MemoryChain(execution=0.001)
    joining = world.add("joining", slow, beacons=["first"], config=config)
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == first.chain.raws
    assert sum(map(len, slow.raws)) > 4 * ROOM
    # There was capacity for one batch and not for two: the second waited for the first.
    assert 0.8 * ROOM < slow.most_bytes_stored <= ROOM
    assert TOO_MUCH not in caplog.text


async def test_stored_blocks_are_dropped_if_the_rest_exceeds_the_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = chain_of(500, size=2 * KIB)
    partly = MemoryChain()
    partly.keep_fetched([partly.parse(raw) for raw in chain.raws[301:]])
    world = World()
    first = world.add("first", chain, weight=1)
    config = quick_config(ancestors_count=100, most_fetched_bytes=ROOM)
    joining = world.add("joining", partly, beacons=["first"], config=config)
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
    assert caplog.text.count(TOO_MUCH) == 1
    assert joining.chain.raws == chain.raws
    assert joining.chain.stored == {}
    assert joining.chain.most_bytes_stored <= ROOM


async def test_stored_blocks_far_above_are_dropped() -> None:
    partly = MemoryChain()
    partly.keep_fetched([partly.parse(block_bytes(ID(bytes([7]) * 32), 50_002))])
    world = World()
    first = world.add("first", chain_of(300), weight=1)
    joining = world.add("joining", partly, beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == first.chain.raws
    assert joining.chain.stored == {}
    assert joining.sent["get_ancestors"] == 1

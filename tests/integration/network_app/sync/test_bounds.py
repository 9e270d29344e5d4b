"""What is fetched and not executed is bounded, whoever says that there is more."""

import pytest

from network_app.sync import backlog
from network_app.sync.claims import MOST_FAILURES
from network_app.wire.p2p_pb2 import Message
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain, block_bytes, id_of
from tests.builders.memory_network import Node, Tamper, World, polled, quick_config, running, until

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
    """Say nothing about single heights."""
    return None if message.HasField("chits") else message


def honest(message: Message, _: NodeID) -> Message:
    """Change nothing."""
    return message


async def joined_beside(claimer: MemoryChain, tamper: Tamper) -> tuple[Node, Node]:
    """Let a node join whose beacons are a producer, an empty one and a claimer; return when it follows."""
    world = World()
    config = quick_config(ancestors_count=PIECE, most_fetched_bytes=ROOM)
    producer = world.add("one", chain_of(600), weight=1)
    empty = world.add("two", beacons=["one"])
    claiming = world.add("claimer", claimer, config=SMALL_ANSWERS)
    claiming.tamper = tamper
    joining = world.add("joining", beacons=["one", "two", "claimer"], config=config)
    for other in (empty, claiming, producer):
        world.link(other, joining)
    async with running(producer, empty, claiming, joining):
        await until(joining.follows)
        producer.make_block()
        await until(lambda: joining.chain.height == 601)
        await polled(joining)
    assert joining.chain.raws == producer.chain.raws
    assert joining.chain.stored == {}
    assert joining.chain.most_bytes_stored <= ROOM
    return joining, claiming


async def test_nothing_is_stored_of_a_long_claim_whose_pieces_nobody_names(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = chain_of(6000, size=1)
    joining, claiming = await joined_beside(chain, without_votes)
    top = id_of(chain.raws[-1])
    assert f"nobody who claims block {top} names the one at height " in caplog.text
    assert claiming.sent["ancestors"] == 0
    assert joining.chain.most_stored <= 600
    # It gave its last block each time, until it was not believed any more.
    assert 1 <= claiming.sent["put"] <= MOST_FAILURES


async def test_a_claim_of_more_bytes_than_may_be_stored_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    joining, claiming = await joined_beside(chain_of(700, size=10 * KIB), honest)
    assert TOO_MUCH in caplog.text
    # The block of the first piece was named and given, and many of those below it.
    assert claiming.sent["ancestors"] > 4
    assert joining.chain.most_bytes_stored > 0.8 * ROOM
    assert joining.aside() == []


async def test_what_beacons_agree_on_is_refused_as_well_when_it_takes_too_much(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    first = world.add("first", chain_of(300, size=10 * KIB), weight=1, config=SMALL_ANSWERS)
    first.tamper = without_votes
    config = quick_config(ancestors_count=PIECE, most_fetched_bytes=ROOM)
    joining = world.add("joining", beacons=["first"], config=config)
    world.link_all()
    async with running(first, joining):
        await until(lambda: caplog.text.count(TOO_MUCH) > 1)
        await until(lambda: joining.chain.stored == {})
        assert not joining.follows()
    assert 0.8 * ROOM < joining.chain.most_bytes_stored <= ROOM
    assert joining.chain.height == 0


async def test_a_chain_of_many_more_bytes_is_fetched_in_pieces_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(backlog, "LOOK", 0.01)
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
    # There was room for one piece and not for two: the second waited for the first.
    assert 0.8 * ROOM < slow.most_bytes_stored <= ROOM
    assert TOO_MUCH not in caplog.text


async def test_what_an_earlier_run_has_left_is_forgotten_when_the_rest_takes_too_much(
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


async def test_what_an_earlier_run_has_left_far_above_is_not_gone_to() -> None:
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

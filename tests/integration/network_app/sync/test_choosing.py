"""Which peers a node sends requests to among many unknown ones: all that it knows, and few of the others."""

import pytest

from network_app.sync.errors import NobodyHas
from network_app.sync.fetching import MAX_OTHERS, ROUNDS
from network_app.wire.p2p_pb2 import Message
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain
from tests.builders.memory_network import Node, World, quick_config, running, until

pytestmark = pytest.mark.sqlite_only

UNKNOWN = ID(bytes([7]) * 32)
IMPATIENT = quick_config(
    first_request_timeout=0.01,
    least_request_timeout=0.01,
    most_request_timeout=0.01,
    fetch_again=0.0,
)


def chain_of(count: int) -> MemoryChain:
    chain = MemoryChain()
    chain.make_many(count)
    return chain


def add_silent_strangers(world: World, node: Node, count: int = 30) -> list[NodeID]:
    strangers = [world.add(f"stranger {at}") for at in range(count)]
    for item in strangers:
        world.link(node, item, muted=1)
    return [stranger.node_id for stranger in strangers]


async def test_few_unknown_peers_are_asked_for_a_missing_block() -> None:
    world = World()
    node = world.add("node", beacons=["beacon"], config=IMPATIENT)
    beacon = world.add("beacon")
    world.link(node, beacon)
    add_silent_strangers(world, node)
    fetcher = node.engine.line("P")._fetcher
    with pytest.raises(NobodyHas):
        await fetcher.block(UNKNOWN, [beacon.node_id])
    assert node.sent["get"] == ROUNDS * (1 + MAX_OTHERS)


async def test_silent_unknown_peers_do_not_stall_a_resumed_bootstrap() -> None:
    source, partly = chain_of(300), MemoryChain()
    partly.keep_fetched([partly.parse(source.raws[300])])
    world = World()
    first = world.add("first", source, weight=1)
    joining = world.add("joining", partly, beacons=["first"])
    world.link(first, joining)
    strangers = add_silent_strangers(world, joining)
    asked: list[NodeID] = []

    def note(message: Message, to: NodeID) -> Message:
        if message.HasField("get_ancestors"):
            asked.append(to)
        return message

    joining.tamper = note
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == source.raws
    assert asked
    assert not set(asked) & set(strangers)


async def test_a_node_that_fell_far_behind_heals_while_a_beacon_is_away() -> None:
    world = World()
    producer = world.add("one", chain_of(10), weight=1)
    away = world.add("two", chain_of(10))
    follower = world.add("follower", beacons=["one", "two"], follows="one")
    world.link_all()
    async with running(producer, follower):
        await until(lambda: follower.chain.height == 10 and follower.follows())
        world.cut(away.node_id, follower.node_id)
        world.cut(producer.node_id, follower.node_id)
        producer.chain.make_many(600)
        producer.engine.blocks_accepted("P")
        announcer = producer.engine.line("P")._announcer
        await until(lambda: announcer._pushed == 610)  # so a peer that connects now gets no push
        world.link(producer, follower)
        await until(lambda: follower.chain.height == 610 and follower.follows())
    assert follower.received["ancestors"]

"""Frontiers without bootstrappers, and the peers that a node waits for."""

import pytest

from tests.builders.memory_chain import MemoryChain
from tests.builders.memory_network import World, running, until

pytestmark = pytest.mark.sqlite_only


async def test_a_node_without_bootstrappers_still_catches_up_with_a_validator() -> None:
    world = World()
    slow = MemoryChain(execution=0.002)
    behind = world.add("behind", slow, follows="validator")
    ahead = MemoryChain()
    ahead.make_many(400)
    validator = world.add("validator", ahead, weight=1)
    async with running(behind, validator):
        await until(behind.follows)
        world.link_all()
        await until(lambda: behind.chain.height == 400 and behind.follows())
    assert behind.chain.raws == validator.chain.raws


async def test_awaited_beacons_are_reported() -> None:
    world = World()
    names = ["first", "second", "third", "fourth"]
    nodes = [world.add(name, weight=1) for name in names]
    joining = world.add("joining", beacons=names)
    for node in nodes[:2]:
        world.link(node, joining)
    async with running(joining, *nodes):
        await until(lambda: bool(joining.records.of("P")))
        await until(lambda: joining.records.of("P")[-1].waiting is not None)
        waiting = joining.records.of("P")[-1].waiting
        assert str(waiting) == "connected to 2 of 4 bootstrappers, 3 needed"
        world.link(nodes[2], joining)
        await until(joining.follows)
    assert joining.records.of("P")[-1].waiting is None

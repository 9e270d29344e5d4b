"""A node that follows leaves that only for blocks that it could accept, whatever peers say."""

import pytest

from network_app.wire.p2p_pb2 import Message, PullQuery
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain, block_bytes, id_of
from tests.builders.memory_network import World, polled, running, until

FAR = 1_000_000


def bogus() -> bytes:
    """Return a block at a great height, below which there is nothing."""
    return block_bytes(ID(bytes([7]) * 32), FAR)


def lies_about(raw: bytes) -> MemoryChain:
    """Return a chain whose last block is a made up one, which it serves."""
    chain = MemoryChain()
    chain.raws.append(raw)
    chain.heights[id_of(raw)] = 1
    return chain


def claims_height(message: Message, _: NodeID) -> Message:
    if message.HasField("chits"):
        message.chits.accepted_height = FAR
    return message


@pytest.mark.parametrize("weight", [0, 1])
async def test_a_bogus_block_does_not_stop_a_node_without_bootstrappers(weight: int) -> None:
    world = World()
    producer = world.add("producer", weight=1)
    liar = world.add("liar", lies_about(bogus()), weight=weight)
    liar.tamper = claims_height
    world.link_all()
    answered: list[int] = []

    def noting(message: Message, _: NodeID) -> Message:
        if message.HasField("chits"):
            answered.append(message.chits.request_id)
        return message

    producer.tamper = noting

    def far(request_id: int) -> Message:
        query = PullQuery(
            chain_id=bytes(32),
            request_id=request_id,
            container_id=bytes(id_of(bogus())),
            requested_height=FAR + 1,
        )
        return Message(pull_query=query)

    async with running(producer, liar):
        await until(producer.follows)
        await producer.engine.handle(liar.node_id, far(1_000_001))
        await until(lambda: liar.sent["put"] > 0)
        await polled(producer)
        await producer.engine.handle(liar.node_id, far(1_000_002))
        assert 1_000_002 in answered
    assert [state for state in producer.records.of("P") if not state.bootstrapped] == []


async def test_a_node_without_bootstrappers_still_catches_up_with_a_validator() -> None:
    world = World()
    slow = MemoryChain(execution=0.002)
    behind = world.add("behind", slow, weight=1)
    ahead = MemoryChain()
    ahead.make_many(400)
    validator = world.add("validator", ahead, weight=1)
    async with running(behind, validator):
        await until(behind.follows)
        world.link_all()
        await until(lambda: behind.chain.height == 400 and behind.follows())
    left = [state for state in behind.records.of("P") if not state.bootstrapped]
    assert {state.start_height for state in left} == {0}
    assert {state.target_height for state in left} == {400}


async def test_bootstrapping_says_for_whom_it_waits() -> None:
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

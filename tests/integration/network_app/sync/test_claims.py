"""Beacons that are empty themselves, one that is ahead of them, and peers that claim what is not there."""

import pytest

from network_app.wire.p2p_pb2 import Message
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import SEAL, MemoryChain, block_bytes, id_of
from tests.builders.memory_network import Node, Tamper, World, polled, quick_config, running, until

UNKNOWN = bytes([7]) * 32


def chain_of(count: int) -> MemoryChain:
    chain = MemoryChain()
    chain.make_many(count)
    return chain


def claims_frontier(block_id: bytes) -> Tamper:
    """Return what makes a node name a block as its frontier, and say that it has accepted it."""

    def lie(message: Message, _: NodeID) -> Message:
        if message.HasField("accepted_frontier"):
            message.accepted_frontier.container_id = block_id
        if message.HasField("accepted"):
            message.accepted.container_ids.append(block_id)
        return message

    return lie


def claims_height(block_id: bytes, height: int) -> Tamper:
    """Return what makes a node vote as if it were far ahead."""

    def lie(message: Message, _: NodeID) -> Message:
        if message.HasField("chits"):
            message.chits.accepted_id = block_id
            message.chits.accepted_height = height
        return message

    return lie


def bootstrapped_at(node: Node) -> list[int]:
    return [state.height for state in node.records.of("P") if state.bootstrapped]


@pytest.mark.parametrize(("height", "most_fetched"), [(5, 1000), (900, 1000), (3000, 400)])
async def test_empty_followers_that_have_each_other_as_beacons_reach_the_producer(
    height: int, most_fetched: int
) -> None:
    world = World()
    config = quick_config(ancestors_count=200, most_fetched=most_fetched)
    producer = world.add("one", chain_of(height), weight=1, config=config)
    second = world.add("two", beacons=["one", "three"], config=config)
    third = world.add("three", beacons=["one", "two"], config=config)
    world.link_all()
    async with running(producer, second, third):
        await until(lambda: second.follows() and third.follows())
        for node in (second, third):
            assert node.chain.raws == producer.chain.raws
            assert bootstrapped_at(node)[0] == height
        producer.make_block()
        await until(lambda: second.chain.height == third.chain.height == height + 1)
    assert second.aside() == third.aside() == []
    assert second.chain.most_stored <= most_fetched


async def test_a_validator_that_is_far_ahead_counts_though_it_is_no_beacon() -> None:
    world = World()
    producer = world.add("one", chain_of(700), weight=1)
    second = world.add("two", beacons=["three"])
    third = world.add("three", beacons=["two"])
    world.link_all()
    async with running(producer, second, third):
        await until(lambda: second.follows() and third.follows())
    assert bootstrapped_at(second)[0] == bootstrapped_at(third)[0] == 700


async def test_followers_that_took_the_empty_network_for_all_return_to_bootstrapping() -> None:
    world = World()
    second = world.add("two", beacons=["three"])
    third = world.add("three", beacons=["two"])
    world.link(second, third)
    slow = MemoryChain(execution=0.001)
    fourth = world.add("four", slow, beacons=["two", "three"])
    world.link(second, fourth)
    world.link(third, fourth)
    producer = world.add("one", chain_of(700), weight=1)
    async with running(producer, second, third, fourth):
        await until(fourth.follows)
        for node in (second, third, fourth):
            world.link(producer, node)
        await until(lambda: fourth.chain.height == 700 and fourth.follows())
        await until(lambda: second.chain.height == third.chain.height == 700)
    states = fourth.records.of("P")
    back = [state for state in states if not state.bootstrapped and state.target_height == 700]
    assert back
    assert all(state.height in (0, 700) for state in states if state.bootstrapped)


async def joined_beside(lying: MemoryChain, tamper: Tamper) -> tuple[World, Node, Node]:
    """Let a node with three beacons join, one of which lies; return when it follows, with the liar."""
    world = World()
    config = quick_config(ancestors_count=200)
    producer = world.add("one", chain_of(600), weight=1, config=config)
    empty = world.add("two", beacons=["one"], config=config)
    liar = world.add("liar", lying, weight=5, config=config)
    liar.tamper = tamper
    joining = world.add("joining", beacons=["one", "two", "liar"], config=config)
    world.link(empty, joining)
    world.link(liar, joining)
    world.link(producer, joining)
    async with running(producer, empty, liar, joining):
        await until(joining.follows)
        assert bootstrapped_at(joining)[0] == 600
        producer.make_block()
        await until(lambda: joining.chain.height == 601)
        await polled(joining, 4)  # the liar among them, as long as it is asked
        assert joining.follows()
        assert joining.records.of("P")[-1].target_height >= 600
    assert joining.chain.raws == producer.chain.raws
    assert joining.chain.stored == {}
    return world, joining, liar


async def test_a_frontier_that_nobody_can_serve_does_not_keep_a_node_from_following() -> None:
    _, joining, _ = await joined_beside(MemoryChain(), claims_frontier(UNKNOWN))
    assert joining.aside() == []


async def test_a_height_without_blocks_does_not_keep_a_node_from_following() -> None:
    _, joining, _ = await joined_beside(MemoryChain(), claims_height(UNKNOWN, 1_000_000))
    assert joining.aside() == []


async def test_a_height_that_a_known_block_does_not_have_is_not_believed() -> None:
    genesis = bytes(id_of(MemoryChain().raws[0]))
    _, joining, _ = await joined_beside(MemoryChain(), claims_height(genesis, 1_000_000))
    assert joining.aside() == []


async def test_a_made_up_block_without_ancestors_does_not_keep_a_node_from_following() -> None:
    chain = MemoryChain()
    raw = block_bytes(ID(UNKNOWN), 1_000_000)
    chain.raws.append(raw)
    chain.heights[id_of(raw)] = 1
    _, joining, liar = await joined_beside(chain, claims_frontier(bytes(id_of(raw))))
    # It gave the block that it had made up, and none below it.
    assert liar.sent["put"]
    assert joining.records.of("P")[-1].target_height < 1_000_000


async def test_who_claims_blocks_that_are_refused_is_dropped_and_the_others_are_followed() -> None:
    chain = chain_of(900)

    def spoil(message: Message, _: NodeID) -> Message:
        if message.HasField("ancestors"):
            spoilt = [raw[:-SEAL] + bytes(SEAL) for raw in message.ancestors.containers]
            del message.ancestors.containers[:]
            message.ancestors.containers.extend(spoilt)
        return message

    _, joining, liar = await joined_beside(chain, spoil)
    assert {node for node, _ in joining.aside()} == {liar.node_id}
    assert "wrong seal" in joining.aside()[0][1]


async def test_stored_blocks_whose_ancestors_nobody_has_do_not_stop_a_restarted_node() -> None:
    partly = MemoryChain()
    # An earlier run was ended while a liar's blocks were being fetched.
    partly.keep_fetched([partly.parse(block_bytes(ID(UNKNOWN), 500))])
    world = World()
    first = world.add("first", chain_of(300), weight=1)
    joining = world.add("joining", partly, beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == first.chain.raws
    assert joining.chain.stored == {}

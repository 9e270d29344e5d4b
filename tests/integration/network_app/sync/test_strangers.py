"""Blocks that nobody signs, blocks of strangers, and blocks that contradict what is accepted."""

import asyncio

from network_app.sync import inbox
from network_app.wire.p2p_pb2 import Message, PushQuery
from primitives.ids import ID
from tests.builders.memory_chain import (
    OPTION,
    PROPOSAL,
    UNSIGNED,
    MemoryChain,
    block_bytes,
    id_of,
)
from tests.builders.memory_network import Node, World, polled, quick_config, running, until


def three(**fields: float) -> tuple[World, Node, Node, Node]:
    """Return a producer, one that follows it, and a stranger that is connected to the latter."""
    world = World()
    config = quick_config(**fields)
    producer = world.add("producer", weight=1, config=config)
    follower = world.add("follower", beacons=["producer"], config=config)
    stranger = world.add("stranger", config=config)
    world.link(producer, follower)
    world.link(stranger, follower)
    return world, producer, follower, stranger


async def push(sender: Node, receiver: Node, *raws: bytes) -> None:
    for raw in raws:
        query = PushQuery(chain_id=bytes(32), request_id=1, container=raw)
        await receiver.engine.handle(sender.node_id, Message(push_query=query))


async def read_all(world: World, receiver: Node) -> None:
    """Wait until a node has read all blocks that were pushed to it before.

    A newcomer pushes something behind them that gets it set aside when it is read.
    """
    fool = world.add(f"fool {len(world.nodes)}")
    world.link(fool, receiver)
    await push(fool, receiver, b"nonsense")
    await until(lambda: fool.node_id in {node_id for node_id, _ in receiver.aside()})


async def test_a_strangers_first_block_is_not_accepted_and_the_producers_is() -> None:
    _, producer, follower, stranger = three()
    async with running(producer, follower, stranger):
        await until(follower.follows)
        stranger.make_block(b"other", kind=UNSIGNED)
        await until(lambda: follower.received["push_query"] == 1)
        # It is not read when it is pushed; its claim is heard, and the block fetched.
        buffer = follower.engine.line("P").progress.buffer
        await until(lambda: len(buffer) == 1)
        await polled(follower)
        assert follower.chain.height == 0
        producer.make_block(b"one", kind=UNSIGNED)
        await until(lambda: follower.chain.height == 1)
        assert follower.chain.raws == producer.chain.raws
    assert follower.aside() == []


async def test_a_strangers_option_is_not_accepted_and_the_producers_is() -> None:
    world, producer, follower, stranger = three(poll_interval=10, slowest_poll=10)
    world.lost_kinds = frozenset({"push_query", "chits"})
    async with running(producer, follower, stranger):
        await until(follower.follows)
        producer.chain.make(b"proposal", kind=PROPOSAL)
        stranger.chain.raws = list(producer.chain.raws)
        producer.engine.blocks_accepted("P")
        await until(lambda: follower.received["push_query"] == 1)
        stranger.make_block(b"abort", kind=OPTION)
        await until(lambda: follower.received["push_query"] >= 2)
        await read_all(world, follower)
        assert follower.chain.height == 0
        producer.make_block(b"commit", kind=OPTION)
        await until(lambda: follower.chain.height == 2)
    assert follower.chain.raws == producer.chain.raws


async def test_who_is_connected_to_followers_only_waits_for_a_signed_block() -> None:
    world = World()
    producer = world.add("producer", weight=1)
    middle = world.add("middle", beacons=["producer"])
    last = world.add("last", beacons=["middle", "else"])
    other = world.add("else")
    world.link(producer, middle)
    world.link(middle, last)
    world.link(other, last)
    async with running(producer, middle, last, other):
        await until(last.follows)
        producer.make_block(b"one", kind=UNSIGNED)
        await until(lambda: middle.chain.height == 1)
        await until(lambda: len(last.engine.line("P").progress.buffer) == 1)
        await polled(last)
        assert last.chain.height == 0
        producer.make_block(b"two")
        await until(lambda: last.chain.height == 2)
    assert last.chain.raws == producer.chain.raws


async def test_a_word_of_the_producer_settles_what_another_one_gave() -> None:
    world = World()
    producer = world.add("producer", weight=1)
    middle = world.add("middle", beacons=["producer"])
    last = world.add("last", beacons=["middle"])
    world.link_all()
    producer.tamper = lambda message, to: (
        None if to == last.node_id and kind_is(message, "push_query", "put") else message
    )
    async with running(producer, middle, last):
        await until(lambda: last.follows() and middle.follows())
        producer.make_block(b"one", kind=UNSIGNED)
        await until(lambda: last.chain.height == 1)
    assert last.received["push_query"] == 0


def kind_is(message: Message, *names: str) -> bool:
    return any(message.HasField(name) for name in names)  # type: ignore[arg-type]


async def test_an_unsigned_block_that_is_agreed_on_is_accepted_while_bootstrapping() -> None:
    world = World()
    producer = world.add("producer", weight=1)
    producer.chain.make(b"one", kind=UNSIGNED)
    follower = world.add("follower", beacons=["producer"])
    world.link_all()
    async with running(producer, follower):
        await until(follower.follows)
        assert follower.chain.height == 1


async def test_the_last_unsigned_block_that_one_claims_is_left_to_following() -> None:
    world = World()
    empty = [world.add(name) for name in ("empty", "void")]
    ahead = world.add("ahead")
    for number in range(4):
        ahead.chain.make(bytes([number]), kind=UNSIGNED if number in {0, 3} else 0)
    follower = world.add("follower", beacons=["empty", "void", "ahead"])
    world.link_all()
    async with running(*empty, ahead, follower):
        await until(follower.follows)
        assert follower.chain.height == 3
        assert follower.chain.stored == {}
        assert follower.aside() == []


async def test_what_strangers_push_does_not_wait_for_a_decision() -> None:
    _, producer, follower, stranger = three()
    async with running(producer, follower, stranger):
        await until(follower.follows)
        unsigned = block_bytes(ID(bytes([7]) * 32), 5, b"stray", kind=UNSIGNED)
        await push(stranger, follower, unsigned)
        signed = block_bytes(ID(bytes([8]) * 32), 5, b"stray")
        await push(stranger, follower, signed)
        await until(lambda: follower.records.of("P")[-1].outstanding == 1)
        held = follower.engine.line("P").progress.buffer.undecided()
        assert [one.block.block_id for one in held] == [id_of(signed)]


async def test_a_flood_of_strangers_leaves_room_for_the_producer() -> None:
    _, producer, follower, stranger = three(poll_interval=10, slowest_poll=10)
    async with running(producer, follower, stranger):
        await until(follower.follows)
        follower.chain.may_execute.clear()
        producer.make_block()
        assert await asyncio.to_thread(follower.chain.executing.wait, 60)
        junk = [block_bytes(ID(bytes(32)), 2 + at, b"junk", kind=UNSIGNED) for at in range(2000)]
        await push(stranger, follower, *junk)
        intake = follower.engine.line("P").follower._intake
        assert len(intake) == inbox.MOST_BLOCKS // inbox.PART
        for _ in range(20):
            producer.make_block()
        await until(lambda: follower.received["push_query"] == 21)
        follower.chain.may_execute.set()
        await until(lambda: follower.chain.height == 21)
        assert follower.sent["get"] == follower.sent["get_ancestors"] == 0


def conflict(node: Node) -> str | None:
    return node.records.of("P")[-1].conflict


async def test_who_is_on_a_fork_says_so_once_the_producers_blocks_show_it() -> None:
    world = World()
    producer, stranger = world.add("producer", weight=1), world.add("stranger")
    forked = world.add("forked")
    for node, payload in ((producer, b"theirs"), (forked, b"ours")):
        node.chain.make(payload)
    world.link_all()
    async with running(producer, stranger, forked):
        await until(forked.follows)
        raw = block_bytes(id_of(producer.chain.raws[-1]), 2, b"stray", kind=UNSIGNED)
        await push(producer, forked, raw)
        await push(stranger, forked, raw)
        await read_all(world, forked)
        await read_all(world, forked)  # what it has read it has compared by now
        assert forked.engine.line("P").head.conflicts.words is None
        producer.make_block(b"next")
        await until(lambda: conflict(forked) is not None)
    ours, theirs = (id_of(node.chain.raws[1]) for node in (forked, producer))
    assert conflict(forked) == (
        f"the P-Chain's block 1 here is {ours}, the producer's is {theirs} ({producer.node_id})"
    )
    assert forked.chain.height == 1
    assert {reason for _, reason in forked.aside()} == {"sent bytes that are no block: no block"}


async def test_a_producer_that_signs_another_block_at_the_same_height_is_noticed() -> None:
    _, producer, follower, stranger = three()
    async with running(producer, follower, stranger):
        await until(follower.follows)
        producer.make_block(b"one")
        await until(lambda: follower.chain.height == 1)
        other = MemoryChain()
        other.make(b"another")
        await push(producer, follower, producer.chain.raws[1])
        await push(producer, follower, other.raws[1])
        await until(lambda: conflict(follower) is not None)
    assert conflict(follower) == (
        f"the P-Chain's block 1 here is {id_of(producer.chain.raws[1])}, "
        f"the producer's is {id_of(other.raws[1])} ({producer.node_id})"
    )
    assert follower.aside() == []

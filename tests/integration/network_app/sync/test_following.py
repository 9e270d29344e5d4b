"""Blocks that are pushed, lost, late, in the wrong order, or wrong."""

import asyncio
from typing import Any

from network_app.ports import BlockPlace, NotYet, ParsedBlock
from network_app.sync import announcing, following, inbox
from network_app.wire.p2p_pb2 import Chits, Message, PullQuery, PushQuery
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import (
    BAD,
    OPTION,
    PROPOSAL,
    SEAL,
    MemoryChain,
    block_bytes,
    id_of,
)
from tests.builders.memory_network import PATIENT, Node, World, polled, quick_config, running, until


def pair(**fields: float) -> tuple[World, Node, Node]:
    """Return a producer and one that follows it, linked."""
    world = World()
    config = quick_config(**fields)
    producer = world.add("producer", weight=1, config=config)
    follower = world.add("follower", beacons=["producer"], config=config)
    world.link_all()
    return world, producer, follower


def query(node: Node, raw: bytes) -> Message:
    """Return a push of a block."""
    return Message(push_query=PushQuery(chain_id=bytes(32), request_id=1, container=raw))


async def test_a_pushed_block_is_accepted_without_being_asked_for() -> None:
    _, producer, follower = pair(poll_interval=60.0, slowest_poll=60.0, **PATIENT)
    async with running(producer, follower):
        await until(follower.follows)
        for at in range(20):
            producer.make_block(bytes([at]))
            await until(lambda: follower.chain.height == producer.chain.height)
    assert follower.chain.raws == producer.chain.raws
    assert follower.sent["get"] == follower.sent["get_ancestors"] == 0
    assert producer.sent["push_query"] == 20


async def test_what_waits_while_a_block_is_accepted_is_handed_over_together() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        follower.chain.may_execute.clear()
        producer.make_block()
        assert await asyncio.to_thread(follower.chain.executing.wait, 60)
        for _ in range(9):
            producer.make_block()
        await until(lambda: follower.received["push_query"] == 10)
        follower.chain.may_execute.set()
        await until(lambda: follower.chain.height == 10)
    assert follower.chain.accepted_in[-2:] == [1, 9]


async def test_queries_are_answered_at_once_while_a_block_is_executed() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        follower.chain.may_execute.clear()
        producer.make_block()
        assert await asyncio.to_thread(follower.chain.executing.wait, 60)
        answered = producer.received["chits"]
        producer.make_block()
        await until(lambda: producer.received["chits"] > answered)
        assert follower.chain.height == 0
        follower.chain.may_execute.set()
        await until(lambda: follower.chain.height == 2)


async def test_lost_pushes_are_noticed_by_asking() -> None:
    world, producer, follower = pair()
    world.lost_kinds = frozenset({"push_query"})
    async with running(producer, follower):
        await until(follower.follows)
        world.traits(producer, follower)["loss"] = 1.0
        for _ in range(5):
            producer.make_block()
        await until(lambda: follower.chain.height == 5)
    assert follower.chain.raws == producer.chain.raws


async def test_a_lossy_wire_with_jitter_brings_all_blocks() -> None:
    world, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        world.traits(producer, follower).update(loss=0.2, delay=0.002, jitter=0.02)
        for at in range(50):
            producer.make_block(bytes([at]))
            await asyncio.sleep(0.002)
        await until(lambda: follower.chain.height == 50)
    assert follower.chain.raws == producer.chain.raws
    assert follower.aside() == []
    assert producer.aside() == []


async def test_a_node_that_knows_only_another_follower_follows_too() -> None:
    world = World()
    producer = world.add("producer", weight=1)
    middle = world.add("middle", beacons=["producer"])
    last = world.add("last", beacons=["middle"])
    world.link(producer, middle)
    world.link(middle, last)
    async with running(producer, middle, last):
        await until(last.follows)
        for _ in range(30):
            producer.make_block()
            await asyncio.sleep(0.005)
        await until(lambda: last.chain.height == 30)
    assert last.chain.raws == producer.chain.raws


async def test_a_node_that_was_cut_off_for_three_hundred_blocks_heals() -> None:
    world, producer, follower = pair(behind_by=256)
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        frontiers = follower.sent["get_accepted_frontier"]
        world.traits(producer, follower)["muted"] = 1
        for _ in range(300):
            producer.make_block()
        await until(lambda: producer.engine.line("P").head.place.height == 301)  # all were pushed
        world.traits(producer, follower)["muted"] = 0
        await until(lambda: follower.chain.height == 301)
        producer.make_block()
        await until(lambda: follower.chain.height == 302)
    assert follower.chain.raws == producer.chain.raws
    # It asked for the frontier again, and did not fetch one by one.
    assert follower.sent["get_accepted_frontier"] > frontiers
    assert follower.received["ancestors"] <= 3
    assert follower.received["put"] <= 20


async def test_a_node_that_missed_fewer_blocks_fetches_them_and_goes_on() -> None:
    world, producer, follower = pair(behind_by=256, most_request_timeout=5)
    async with running(producer, follower):
        await until(follower.follows)
        world.traits(producer, follower)["muted"] = 1
        for _ in range(200):
            producer.make_block()
        await until(lambda: producer.engine.line("P").head.place.height == 200)
        world.traits(producer, follower)["muted"] = 0
        await until(lambda: follower.chain.height == 200)
    assert all(state.bootstrapped for state in follower.records.of("P")[1:])
    assert follower.received["ancestors"] == 1


async def test_pushes_go_on_after_a_connection_was_lost() -> None:
    world, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        world.cut(producer.node_id, follower.node_id)
        for _ in range(3):
            producer.make_block()
        world.link(producer, follower)
        await until(lambda: follower.chain.height == 3)
        pushed = producer.sent["push_query"]
        producer.make_block()
        await until(lambda: follower.chain.height == 4)
        assert producer.sent["push_query"] == pushed + 1


async def test_a_node_without_peers_is_not_asked_for_its_blocks() -> None:
    world = World()
    producer, watcher = world.add("producer", weight=1), world.add("watcher")
    asked: list[int] = []
    since = producer.chain.accepted_since

    def noted(height: int, count: int) -> list[tuple[BlockPlace, bytes]]:
        asked.append(height)
        return since(height, count)

    producer.chain.accepted_since = noted  # type: ignore[method-assign]
    async with running(producer, watcher):
        await until(producer.follows)
        for _ in range(10):
            producer.make_block()
            await asyncio.sleep(0)
        world.link(producer, watcher)
        await until(lambda: not producer.engine.line("P").head.stale)
        producer.make_block()
        await until(lambda: producer.sent["push_query"] == 1)
    # Who pushes looks at blocks in their order: those that were made alone would have come before.
    assert min(asked) == 10


async def test_a_proposal_waits_for_its_option_and_both_are_accepted_together() -> None:
    _, producer, follower = pair(poll_interval=10, slowest_poll=10)
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block(b"proposal", "P")
        await until(lambda: follower.chain.height == 1)
        producer.chain.make(b"proposal", kind=PROPOSAL)
        producer.engine.blocks_accepted("P")
        await until(lambda: len(follower.engine.line("P").progress.buffer) == 1)
        assert follower.chain.height == 1
        producer.chain.make(b"option", kind=OPTION)
        producer.engine.blocks_accepted("P")
        await until(lambda: follower.chain.height == 3)
    assert follower.chain.accepted_in[-1] == 2


async def test_a_lost_option_is_asked_for() -> None:
    world, producer, follower = pair()
    world.lost_kinds = frozenset({"push_query"})
    async with running(producer, follower):
        await until(follower.follows)
        producer.chain.make(b"proposal", kind=PROPOSAL)
        producer.engine.blocks_accepted("P")
        await until(lambda: follower.received["push_query"] == 1)
        world.traits(producer, follower)["loss"] = 1.0
        producer.chain.make(b"option", kind=OPTION)
        producer.engine.blocks_accepted("P")
        await until(lambda: follower.chain.height == 2)


async def test_blocks_in_the_wrong_order_are_accepted_in_the_right_one() -> None:
    world, producer, follower = pair(poll_interval=10, slowest_poll=10)
    chain = MemoryChain()
    chain.make_many(40)
    async with running(producer, follower):
        await until(follower.follows)
        world.traits(producer, follower)["muted"] = 1  # nothing can be asked for
        for raw in reversed(chain.raws[1:]):
            await follower.engine.handle(producer.node_id, query(follower, raw))
        await until(lambda: follower.chain.height == 40)
    assert follower.chain.raws == chain.raws


async def test_an_invalid_block_is_refused_and_its_sender_set_aside() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        invalid = block_bytes(id_of(producer.chain.raws[-1]), 2, BAD)
        await follower.engine.handle(producer.node_id, query(follower, invalid))
        await until(lambda: bool(follower.aside()))
        assert follower.chain.height == 1
        assert producer.node_id in follower.connected()
    assert follower.aside()[0][0] == producer.node_id
    assert "bad transaction" in follower.aside()[0][1]


async def test_a_block_with_a_spoilt_seal_does_not_keep_the_right_one_away() -> None:
    world, producer, follower = pair()
    spoiler = world.add("spoiler")
    world.link(spoiler, follower)
    async with running(producer, follower, spoiler):
        await until(follower.follows)
        right = block_bytes(id_of(producer.chain.raws[-1]), 1, b"one")
        await follower.engine.handle(spoiler.node_id, query(follower, right[:-SEAL] + bytes(SEAL)))
        await until(lambda: bool(follower.aside()))
        assert follower.aside()[0][0] == spoiler.node_id
        producer.make_block(b"one")
        await until(lambda: follower.chain.height == 1)
    assert follower.chain.raws[-1] == right


async def test_bytes_that_are_no_block_get_their_sender_set_aside() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        await follower.engine.handle(producer.node_id, query(follower, b"nonsense"))
        await until(lambda: bool(follower.aside()))
    assert follower.aside() == [(producer.node_id, "sent bytes that are no block: no block")]


async def test_a_block_that_follows_another_one_than_ours_is_forgotten() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        other = block_bytes(ID(bytes([7]) * 32), 2, b"stray")
        await follower.engine.handle(producer.node_id, query(follower, other))
        producer.make_block()
        await until(lambda: follower.chain.height == 2)
        await until(lambda: follower.records.of("P")[-1].outstanding == 0)
    assert follower.aside() == []


async def test_heights_that_are_not_true_change_nothing() -> None:
    world, producer, follower = pair(sync_repeat=60)
    boaster = world.add("boaster")
    world.link(boaster, follower)

    async def boast() -> None:
        for at in range(50):
            pull = PullQuery(
                chain_id=bytes(32),
                request_id=at,
                container_id=bytes([at]) * 32,
                requested_height=1_000_000_000 + at,
            )
            await follower.engine.handle(boaster.node_id, Message(pull_query=pull))
            await follower.engine.handle(
                boaster.node_id,
                query(follower, block_bytes(ID(bytes([at]) * 32), 1_000_000 + at)),
            )

    async with running(producer, follower, boaster):
        await until(follower.follows)
        before = follower.sent["get_accepted_frontier"]
        await boast()
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        await until(lambda: follower.sent["get_accepted_frontier"] > before)
        await polled(follower)
        await boast()
        await polled(follower)
        # It looked at the beacons' frontier again: once, and once more if it found the new block.
        assert 1 <= follower.sent["get_accepted_frontier"] - before <= 2


async def test_a_producer_that_hears_of_untrue_heights_goes_on_pushing() -> None:
    _, producer, follower = pair(poll_interval=10, slowest_poll=10, **PATIENT)
    async with running(producer, follower):
        await until(follower.follows)
        for at in range(20):
            pull = PullQuery(
                chain_id=bytes(32),
                request_id=at,
                container_id=bytes([at]) * 32,
                requested_height=1_000_000_000,
            )
            await producer.engine.handle(follower.node_id, Message(pull_query=pull))
            producer.make_block()
        await until(lambda: follower.chain.height == 20)
    assert producer.sent["get_accepted_frontier"] == 0
    assert producer.sent["push_query"] == 20


async def test_floods_of_blocks_are_kept_within_bounds() -> None:
    _, producer, follower = pair(behind_by=1 << 62)
    line = follower.engine.line("P")
    async with running(producer, follower):
        await until(follower.follows)
        for at in range(3000):
            raw = block_bytes(ID(at.to_bytes(32, "big")), 2 + at % 500, bytes(10_000))
            await follower.engine.handle(producer.node_id, query(follower, raw))
            if at % 50 == 0:
                await asyncio.sleep(0.002)
            assert len(line.follower._intake) <= inbox.MOST_BLOCKS
            assert len(line.progress.buffer) <= 1024
            assert line.progress.buffer.size <= 16 * 1024 * 1024
            assert len(line.follower._fetches) <= following.MOST_FETCHES
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
    assert len(line.requests) <= 1024


async def test_a_fetch_that_is_cancelled_before_it_begins_makes_room_for_others() -> None:
    _, producer, follower = pair()
    line = follower.engine.line("P")
    async with running(producer, follower):
        await until(follower.follows)
        line.follower.seek(BlockPlace(7, ID(b"m" * 32)), producer.node_id)
        (task,) = line.follower._tasks
        task.cancel()
        await until(lambda: not line.follower._fetches)
        assert follower.sent["get_ancestors"] == follower.sent["get"] == 0


async def test_who_does_not_give_one_parent_is_not_asked_for_all_the_others() -> None:
    _, producer, follower = pair()
    line = follower.engine.line("P")
    add, kept = line.progress.buffer.add, set[int]()

    def noted(block: ParsedBlock, *given: Any, **named: Any) -> bool:
        kept.add(block.height)
        return add(block, *given, **named)

    line.progress.buffer.add = noted  # type: ignore[method-assign]
    async with running(producer, follower):
        await until(follower.follows)
        for at in range(200):
            raw = block_bytes(ID(at.to_bytes(32, "big")), 2 + at)
            await follower.engine.handle(producer.node_id, query(follower, raw))
        await until(lambda: len(kept) == 200)
        await until(lambda: len(line.progress.buffer) == 0)
        assert follower.sent["get"] + follower.sent["get_ancestors"] < 10
        producer.make_block()
        await until(lambda: follower.chain.height == 1)


async def test_a_peer_that_does_not_answer_is_not_pushed_to_without_end() -> None:
    _, producer, follower = pair(**PATIENT)
    async with running(producer, follower):
        await until(follower.follows)
        follower.tamper = lambda message, _: None if message.HasField("chits") else message
        before = producer.sent["push_query"]
        for _ in range(200):
            producer.make_block()
        await until(lambda: follower.chain.height == 200)
        assert producer.sent["push_query"] - before < 2 * announcing.WINDOW
        assert len(producer.engine.line("P").requests) <= 2 * announcing.WINDOW


async def test_a_second_chain_waits_for_what_it_needs_of_the_first() -> None:
    world = World()
    producer = world.add("producer", MemoryChain("P"), MemoryChain("C"), weight=1)
    waiting = MemoryChain("C")
    follower = world.add("follower", MemoryChain("P"), waiting, beacons=["producer"])
    accept, tried = waiting.accept, list[int]()

    def needs_the_first(raws: list[bytes], **given: Any) -> object:
        tried.append(follower.chain.height)
        if follower.chain.height < 1:
            raise NotYet("a height of the P-Chain is not there")
        return accept(raws, **given)

    waiting.accept = needs_the_first  # type: ignore[method-assign, assignment]
    world.link_all()
    async with running(producer, follower):
        await until(lambda: follower.follows("C"))
        producer.make_block(alias="C")
        await until(lambda: len(tried) >= 2)  # by itself, too
        producer.make_block(alias="P")
        await until(lambda: waiting.height == 1)
    assert tried[-1] == 1
    assert follower.aside() == []


async def test_own_blocks_are_pushed_and_those_of_others_are_not() -> None:
    world = World()
    config = quick_config(**PATIENT)
    nodes = [world.add(name, weight=1, config=config) for name in ("one", "two", "three")]
    world.link_all()
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        for at in range(30):
            maker = nodes[at % 3]
            maker.make_block(bytes([at]))
            await until(lambda: len({node.chain.height for node in nodes}) == 1)
            for node in nodes:  # as the chain's notice does on every node
                node.engine.blocks_accepted("P")
        await until(lambda: all(node.sent["push_query"] >= 20 for node in nodes))
    assert {tuple(node.chain.raws) for node in nodes} == {tuple(nodes[0].chain.raws)}
    assert [node.sent["push_query"] for node in nodes] == [20, 20, 20]


async def test_votes_name_the_block_at_the_height_that_was_asked_for() -> None:
    _, producer, follower = pair()
    producer.chain.make_many(2000)
    answers: list[Chits] = []

    def noted(message: Message, to: NodeID) -> Message:
        assert to == follower.node_id
        if message.HasField("chits"):
            answers.append(message.chits)
        return message

    async with running(producer, follower):
        await until(follower.follows)
        producer.tamper = noted
        for height in (5, 1990, 2000, 2001, 9999):
            pull = PullQuery(
                chain_id=bytes(32),
                request_id=height,
                container_id=bytes(32),
                requested_height=height,
            )
            await producer.engine.handle(follower.node_id, Message(pull_query=pull))
    found = {one.request_id: one for one in answers}
    for height in (5, 1990, 2000, 2001, 9999):
        expected = id_of(producer.chain.raws[min(height, 2000)])
        assert found[height].preferred_id_at_height == expected
        assert found[height].accepted_height == 2000
        assert found[height].preferred_id == id_of(producer.chain.raws[2000])


def test_parsed_blocks_of_the_memory_chain_have_real_ids() -> None:
    raw = block_bytes(ID(bytes(32)), 1, b"x")
    parsed = MemoryChain().parse(raw)
    assert isinstance(parsed, ParsedBlock)
    assert parsed.block_id == id_of(raw)

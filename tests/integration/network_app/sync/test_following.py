"""A follower of the producer of all blocks: blocks pushed, lost, late, in the wrong order, or invalid."""

import asyncio

import pytest

from network_app.consensus import sender
from network_app.sync import producing
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
from tests.builders.memory_follower import OPTIONS
from tests.builders.memory_network import PATIENT, Node, World, polled, quick_config, running, until

pytestmark = pytest.mark.sqlite_only


def pair(**fields: float) -> tuple[World, Node, Node]:
    """Return a producer and a follower of it, linked."""
    world = World()
    config = quick_config(**fields)
    producer = world.add("producer", weight=1, config=config)
    follower = world.add("follower", beacons=["producer"], config=config, follows="producer")
    world.link_all()
    return world, producer, follower


def query(node: Node, raw: bytes) -> Message:
    """Return a push query with a block."""
    return Message(push_query=PushQuery(chain_id=bytes(32), request_id=1, container=raw))


async def test_pushed_block_is_accepted_without_request() -> None:
    _, producer, follower = pair(poll_interval=60.0, **PATIENT)
    async with running(producer, follower):
        await until(follower.follows)
        for at in range(20):
            producer.make_block(bytes([at]))
            await until(lambda: follower.chain.height == producer.chain.height)
    assert follower.chain.raws == producer.chain.raws
    assert follower.sent["get"] == follower.sent["get_ancestors"] == 0
    assert producer.sent["push_query"] == 20


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
        for at in range(15):
            producer.make_block(bytes([at]))
            await asyncio.sleep(0.002)
        await until(lambda: follower.chain.height == 15)
    assert follower.chain.raws == producer.chain.raws
    assert follower.aside() == []
    assert producer.aside() == []


async def test_node_disconnected_for_long_bootstraps_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "MAX_PENDING", 50)
    world, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        frontiers = follower.sent["get_accepted_frontier"]
        world.traits(producer, follower)["muted"] = 1
        for _ in range(300):
            producer.make_block()
        await until(
            lambda: producer.engine.line("P").last_accepted.place.height == 301
        )  # all were pushed
        world.traits(producer, follower)["muted"] = 0
        await until(lambda: follower.chain.height == 301)
        producer.make_block()
        await until(lambda: follower.chain.height == 302)
    assert follower.chain.raws == producer.chain.raws
    # It asked for the frontier again, and did not fetch all blocks one by one.
    assert follower.sent["get_accepted_frontier"] > frontiers
    assert follower.received["put"] < 200


async def test_node_that_missed_few_blocks_fetches_them() -> None:
    world, producer, follower = pair(most_request_timeout=5)
    async with running(producer, follower):
        await until(follower.follows)
        world.traits(producer, follower)["muted"] = 1
        for _ in range(200):
            producer.make_block()
        await until(lambda: producer.engine.line("P").last_accepted.place.height == 200)
        world.traits(producer, follower)["muted"] = 0
        await until(lambda: follower.chain.height == 200)
    assert all(state.bootstrapped for state in follower.records.of("P")[1:])
    assert follower.chain.raws == producer.chain.raws


async def test_pushes_resume_after_a_lost_connection() -> None:
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


async def test_proposal_and_option_are_accepted_in_order() -> None:
    _, producer, follower = pair(poll_interval=10)
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block(b"proposal", kind=PROPOSAL)
        await until(lambda: follower.chain.height == 1)
        producer.make_block(OPTIONS[1], kind=OPTION)  # not the option that is preferred there
        await until(lambda: follower.chain.height == 2)
    assert follower.chain.raws == producer.chain.raws


async def test_missing_option_is_requested() -> None:
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


async def test_blocks_out_of_order_are_accepted_in_order() -> None:
    world, producer, follower = pair()
    world.lost_kinds = frozenset({"push_query"})
    async with running(producer, follower):
        await until(follower.follows)
        world.traits(producer, follower)["loss"] = 1.0
        producer.chain.make_many(40)
        producer.engine.blocks_accepted("P")
        for raw in reversed(producer.chain.raws[1:]):
            follower.deliver(producer.node_id, query(follower, raw).SerializeToString())
        await until(lambda: follower.chain.height == 40)
    assert follower.chain.raws == producer.chain.raws


async def test_invalid_block_is_refused_and_the_valid_one_accepted() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        invalid = block_bytes(id_of(producer.chain.raws[-1]), 2, BAD)
        await follower.engine.handle(producer.node_id, query(follower, invalid))
        await follower.engine.handle(producer.node_id, query(follower, b"nonsense"))
        await until(lambda: follower.chain.refused == {invalid})
        producer.make_block()
        await until(lambda: follower.chain.height == 2)
    assert follower.chain.raws == producer.chain.raws


async def test_block_with_a_bad_signature_does_not_hide_the_valid_one() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        right = block_bytes(id_of(producer.chain.raws[-1]), 1, b"one")
        spoilt = right[:-SEAL] + bytes(SEAL)
        await follower.engine.handle(producer.node_id, query(follower, spoilt))
        await until(lambda: follower.chain.refused == {spoilt})
        producer.make_block(b"one")
        await until(lambda: follower.chain.height == 1)
    assert follower.chain.raws[-1] == right
    assert {state.obstacle for state in follower.records.of("P")} == {None}


async def test_only_the_producer_decides() -> None:
    world, producer, follower = pair()
    validator = world.add("validator", weight=9)
    world.link(validator, follower)
    async with running(producer, follower, validator):
        await until(follower.follows)
        validator.make_block(b"other")
        await until(lambda: follower.received["push_query"] == 1)
        await polled(follower)
        assert follower.chain.height == 0
        producer.make_block(b"one")
        await until(lambda: follower.chain.height == 1)
    assert follower.chain.raws == producer.chain.raws


async def test_a_follower_builds_nothing() -> None:
    _, producer, follower = pair()
    async with running(producer, follower):
        await until(follower.follows)
        follower.engine.blocks_waiting("P")
        await polled(follower)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
    assert follower.chain.builds == 0


async def test_blocks_pushed_by_others_are_ignored() -> None:
    world, producer, follower = pair()
    stranger = world.add("stranger")
    world.link(stranger, follower)
    async with running(producer, follower, stranger):
        await until(follower.follows)
        bad = block_bytes(id_of(producer.chain.raws[-1]), 1, BAD)
        await follower.engine.handle(stranger.node_id, query(follower, bad))
        await until(lambda: follower.sent["chits"] == 1)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
    assert follower.chain.refused == set()


async def test_flood_of_unknown_peers_does_not_block_the_producer() -> None:
    world, producer, follower = pair()
    strangers = [world.add(f"stranger {at}") for at in range(3)]
    for stranger in strangers:
        world.link(stranger, follower)
    async with running(producer, follower, *strangers):
        await until(follower.follows)
        for at in range(3000):
            raw = block_bytes(ID(at.to_bytes(32, "big")), 2 + at % 500, bytes(10_000))
            sender = strangers[at % 3].node_id
            follower.deliver(sender, query(follower, raw).SerializeToString())
        for at in range(20):
            producer.make_block(bytes([at]))
        await until(lambda: follower.chain.height == 20)
        assert len(follower.engine.line("P").requests) <= 1024
    assert follower.chain.raws == producer.chain.raws


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
        await polled(follower)
        producer.make_block()
        await until(lambda: follower.chain.height == 1)
        assert follower.sent["get_accepted_frontier"] == before


async def test_false_heights_do_not_stop_the_producer() -> None:
    _, producer, follower = pair(poll_interval=10, **PATIENT)
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


async def test_a_peer_that_does_not_answer_is_not_pushed_to_without_end() -> None:
    _, producer, follower = pair(**PATIENT)
    async with running(producer, follower):
        await until(follower.follows)
        follower.tamper = lambda message, _: None if message.HasField("chits") else message
        before = producer.sent["push_query"]
        for _ in range(200):
            producer.make_block()
        await until(lambda: follower.chain.height == 200)
        assert producer.sent["push_query"] - before < 2 * producing.WINDOW
        assert len(producer.engine.line("P").requests) <= 2 * producing.WINDOW


async def test_chits_name_the_block_at_the_requested_height() -> None:
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
    found = {answer.request_id: answer for answer in answers}
    for height in (5, 1990, 2000, 2001, 9999):
        expected = id_of(producer.chain.raws[min(height, 2000)])
        assert found[height].preferred_id_at_height == expected
        assert found[height].accepted_height == 2000
        assert found[height].preferred_id == id_of(producer.chain.raws[2000])


def test_parsed_blocks_of_the_memory_chain_have_real_ids() -> None:
    raw = block_bytes(ID(bytes(32)), 1, b"x")
    parsed = MemoryChain().parse(raw)
    assert parsed.block_id == id_of(raw)

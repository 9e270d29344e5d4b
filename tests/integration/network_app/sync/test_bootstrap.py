"""A node that joins late: frontier, filter, batches, restarts, and peers that lie."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from network_app.ports import AcceptResult
from network_app.wire.p2p_pb2 import Get, Message
from primitives.ids import NodeID
from tests.builders.memory_chain import BAD, SEAL, MemoryChain, block_bytes, id_of
from tests.builders.memory_network import PATIENT, Node, World, quick_config, running, until

pytestmark = pytest.mark.sqlite_only

PIECES = {"ancestors_count": 200, "most_fetched": 1000}


def long_chain(count: int, size: int = 0) -> MemoryChain:
    chain = MemoryChain()
    chain.make_many(count, size)
    return chain


async def test_a_node_without_bootstrappers_follows_at_once() -> None:
    world = World()
    alone = world.add("alone")
    async with running(alone):
        await until(alone.follows)
    assert [state.bootstrapped for state in alone.records.of("P")] == [True]


async def test_a_few_thousand_blocks_are_fetched_in_pieces_and_executed_in_batches() -> None:
    world = World()
    world.add("first", long_chain(3000), weight=1)
    config = quick_config(**PIECES, **PATIENT)  # no response arrives too late
    joining = world.add("joining", beacons=["first"], config=config)
    world.link_all()
    async with running(*world.nodes.values()):
        await until(joining.follows)

    (first, _) = world.nodes.values()
    assert joining.chain.raws == first.chain.raws
    assert joining.chain.most_stored <= PIECES["most_fetched"]
    assert max(joining.chain.accepted_in) == 64
    assert sum(joining.chain.accepted_in) == 3000
    assert joining.chain.stored == {}
    # One response for each batch, and nothing is fetched twice.
    assert joining.received["ancestors"] == 15


async def test_progress_is_stored_during_bootstrap() -> None:
    world = World()
    world.add("first", long_chain(600), weight=1)
    slow = MemoryChain(execution=0.003)
    joining = world.add("joining", slow, beacons=["first"], config=quick_config(**PIECES))
    world.link_all()
    async with running(*world.nodes.values()):
        await until(joining.follows)

    states = joining.records.of("P")
    on_the_way = [state for state in states if not state.bootstrapped and state.height]
    assert on_the_way
    assert {state.target_height for state in on_the_way} == {600}
    assert all(0 < state.height + state.fetched <= 600 for state in on_the_way)
    heights = [state.height for state in states]
    assert heights == sorted(heights)
    assert states[-1].height == 600


async def test_bootstrapping_starts_with_three_quarters_of_the_beacons() -> None:
    world = World()
    names = ["first", "second", "third", "fourth"]
    nodes = [world.add(name, long_chain(10), weight=1) for name in names]
    joining = world.add("joining", beacons=names)
    for node in nodes[:2]:
        world.link(node, joining)
    async with running(joining, *nodes):
        await until(lambda: bool(joining.records.of("P")))  # it has counted its peers by then
        assert joining.sent["get_accepted_frontier"] == 0
        assert joining.records.of("P")[-1].waiting is not None

        world.link(nodes[2], joining)
        await until(joining.follows)
    assert joining.chain.height == 10


async def test_a_filled_store_is_used_and_completed() -> None:
    chain = long_chain(500)
    partly = MemoryChain()
    # An earlier run fetched the blocks from 200 to 300, and those above 400, with a gap between.
    parsed = [partly.parse(raw) for raw in chain.raws]
    partly.keep_fetched(parsed[200:301])
    partly.keep_fetched(parsed[401:451])
    world = World()
    first = world.add("first", chain, weight=1)
    joining = world.add("joining", partly, beacons=["first"], config=quick_config(**PIECES))
    world.link_all()
    sizes: list[int] = []

    def counted(message: Message, _: NodeID) -> Message:
        if message.HasField("ancestors"):
            sizes.append(len(message.ancestors.containers))
        return message

    first.tamper = counted
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == first.chain.raws
    assert joining.chain.stored == {}


async def test_restart_resumes_bootstrapping() -> None:
    world = World()
    first = world.add("first", long_chain(2000), weight=1)
    chain = MemoryChain()
    accept = chain.accept

    def gets_stuck(raws: Sequence[bytes], **given: Any) -> AcceptResult:
        if chain.height > 300:
            chain.may_execute.clear()
        return accept(raws, **given)

    chain.accept = gets_stuck  # type: ignore[method-assign]
    config = quick_config(**PIECES)
    before = world.add("joining", chain, beacons=["first"], config=config)
    world.link(first, before)
    async with running(first):
        async with running(before):
            await until(lambda: not chain.may_execute.is_set())
        reached, stored = chain.height, len(chain.stored)
        assert 300 < reached < 2000
        assert stored
        chain.accept = accept  # type: ignore[method-assign]
        chain.may_execute.set()

        again = world.add("joining", chain, beacons=["first"], config=config)
        async with running(again):
            world.link(first, again)
            await until(again.follows)
    assert chain.raws == first.chain.raws
    assert sum(chain.accepted_in) == 2000
    assert again.records.of("P")[-1].start_height >= reached


async def test_frontier_is_accepted_by_a_majority_of_beacons() -> None:
    world = World()
    common = long_chain(50)
    honest = []
    for name, ahead in (("first", 0), ("second", 3), ("third", 5)):
        chain = MemoryChain()
        chain.accept(common.raws[1:])
        chain.make_many(ahead)
        honest.append(world.add(name, chain, weight=1))
    # Two of five beacons are on another chain, which is longer.
    liars = [world.add(name, long_chain(80, size=1), weight=1) for name in ("fourth", "fifth")]
    joining = world.add("joining", beacons=["first", "second", "third", "fourth", "fifth"])
    for node in (*honest, *liars):
        world.link(node, joining)
    async with running(joining, *honest, *liars):
        await until(joining.follows)
    # Blocks that only one or two beacons have are not part of the frontier: they arrive by votes.
    assert joining.chain.raws == common.raws


class Liar:
    """Modifies ancestors responses, and counts how often it did."""

    def __init__(self, wrong: str) -> None:
        self.wrong = wrong
        self.lies = 0

    def __call__(self, message: Message, to: NodeID) -> Message | None:
        del to
        if not message.HasField("ancestors") or not message.ancestors.containers:
            return message
        self.lies += 1
        changed = Message()
        changed.CopyFrom(message)
        containers = list(message.ancestors.containers)
        getattr(self, self.wrong)(containers)
        del changed.ancestors.containers[:]
        changed.ancestors.containers.extend(containers)
        return changed

    def first(self, containers: list[bytes]) -> None:
        del containers[0]

    def unparsable(self, containers: list[bytes]) -> None:
        containers[len(containers) // 2] = b"nonsense"

    def gap(self, containers: list[bytes]) -> None:
        del containers[len(containers) // 2]

    def seal(self, containers: list[bytes]) -> None:
        at = len(containers) // 2
        containers[at] = containers[at][:-SEAL] + bytes(SEAL)


async def bootstrap_beside_a_liar(wrong: str) -> tuple[World, Node, Node, Liar]:
    """Bootstrap from honest nodes and one that lies; return after it has lied and all blocks are there."""
    # Responses are small, so that many are needed and every beacon is asked.
    config = quick_config(ancestors_count=40, most_fetched=1000, **PATIENT)
    world = World()
    honest = world.add("honest", long_chain(1200), weight=1, config=config)
    copies = MemoryChain(), MemoryChain()
    for copy in copies:
        copy.accept(honest.chain.raws[1:])
    other = world.add("other", copies[0], weight=1, config=config)
    lying = world.add("lying", copies[1], weight=1, config=config)
    lying.tamper = liar = Liar(wrong)
    joining = world.add("joining", beacons=["honest", "other", "lying"], config=config)
    world.link_all()
    async with running(honest, other, lying, joining):
        await until(lambda: joining.chain.height == 1200)
    assert liar.lies
    return world, joining, lying, liar


async def test_a_peer_that_sends_another_block_first_is_dropped() -> None:
    _, joining, lying, liar = await bootstrap_beside_a_liar("first")
    assert {node for node, _ in joining.aside()} == {lying.node_id}
    assert "was asked for block" in joining.aside()[0][1]
    assert liar.lies == 1


async def test_peer_that_sends_malformed_blocks_is_set_aside() -> None:
    _, joining, lying, _ = await bootstrap_beside_a_liar("unparsable")
    assert {node for node, _ in joining.aside()} == {lying.node_id}
    assert joining.aside()[0][1] == "sent bytes that are no block: no block"


async def test_a_peer_that_leaves_a_block_out_is_dropped() -> None:
    _, joining, lying, _ = await bootstrap_beside_a_liar("gap")
    assert {node for node, _ in joining.aside()} == {lying.node_id}
    assert "as the parent of a block whose parent is" in joining.aside()[0][1]


async def test_sender_of_an_invalid_block_is_dropped_and_another_asked() -> None:
    _, joining, lying, _ = await bootstrap_beside_a_liar("seal")
    assert {node for node, _ in joining.aside()} == {lying.node_id}
    assert "wrong seal" in joining.aside()[0][1]
    assert len(joining.chain.refused) == 1


async def test_an_invalid_block_of_an_earlier_run_is_fetched_again() -> None:
    chain = long_chain(300)
    partly = MemoryChain()
    parsed = [partly.parse(raw) for raw in chain.raws]
    spoilt = parsed[50]._replace(raw=parsed[50].raw[:-SEAL] + bytes(SEAL))
    partly.keep_fetched([*parsed[1:50], spoilt, *parsed[51:200]])
    world = World()
    first = world.add("first", chain, weight=1)
    joining = world.add("joining", partly, beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == chain.raws
    assert joining.chain.refused == {spoilt.raw}
    assert joining.aside() == []  # the sender of the block is unknown


async def test_a_beacon_that_names_wrong_blocks_at_heights_is_outvoted() -> None:
    world = World()
    config = quick_config(**PIECES)
    names = ["first", "second", "third"]
    nodes = [world.add(name, long_chain(1000), weight=1) for name in names]

    def lie(message: Message, _: NodeID) -> Message:
        if message.HasField("chits"):
            message.chits.preferred_id_at_height = bytes([9]) * 32
        return message

    nodes[1].tamper = lie
    joining = world.add("joining", beacons=names, config=config)
    world.link_all()
    async with running(joining, *nodes):
        await until(joining.follows)
    assert joining.chain.height == 1000
    assert joining.chain.most_stored <= PIECES["most_fetched"]
    assert joining.aside() == []


async def test_silent_beacons_suffice_for_a_storable_gap() -> None:
    world = World()
    first = world.add("first", long_chain(900), weight=1)
    first.tamper = lambda message, _: None if message.HasField("chits") else message
    joining = world.add("joining", beacons=["first"], config=quick_config(**PIECES))
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
        assert joining.chain.height == 900


async def test_a_chain_with_an_invalid_block_is_never_accepted() -> None:
    world = World()
    chain = long_chain(100)
    chain.make(BAD)
    chain.make_many(50)
    first = world.add("first", chain, weight=1)
    joining = world.add("joining", beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(lambda: joining.chain.height == 100 and bool(joining.chain.refused))
        await until(lambda: any(state.obstacle for state in joining.records.of("P")))
        assert joining.chain.height == 100
        assert not joining.follows()
    assert joining.aside() == []  # every beacon sent the same block


async def test_node_on_another_branch_reports_it_and_does_not_move() -> None:
    world = World()
    first = world.add("first", long_chain(20), weight=1)
    other = long_chain(10, size=3)
    joining = world.add("joining", other, beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(lambda: joining.received["accepted_frontier"] > 2 and other.stored == {})
        assert not joining.follows()
    assert other.height == 10
    assert joining.aside() == []
    assert joining.records.of("P")[-1].obstacle == (
        f"at height 10 the network has block {id_of(first.chain.raws[10])} and we have "
        f"{id_of(other.raws[10])}"
    )


async def test_a_block_with_a_height_that_does_not_fit_is_not_believed() -> None:
    world = World()
    chain = long_chain(20)
    tip = block_bytes(id_of(chain.raws[-1]), 1_000_000)
    chain.raws.append(tip)
    chain.heights[id_of(tip)] = 21
    first = world.add("first", chain, weight=1)
    joining = world.add("joining", beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(lambda: joining.received["accepted_frontier"] > 1)
    assert joining.chain.height == 0
    assert joining.aside() == []


async def test_bootstrapping_chain_serves_requests_but_no_queries() -> None:
    world = World()
    first = world.add("first", long_chain(300), weight=1)
    chain = MemoryChain()
    joining = world.add("joining", chain, beacons=["first"])
    asking = world.add("asking", long_chain(0))
    world.link_all()
    answers: list[Message] = []
    original = asking.engine.handle

    async def listen(sender: NodeID, message: Message) -> None:
        if sender == joining.node_id:
            answers.append(message)
        await original(sender, message)

    asking.engine.handle = listen  # type: ignore[method-assign]
    chain.may_execute.clear()
    async with running(first, joining, asking):
        assert await asyncio.to_thread(chain.executing.wait, 60)
        genesis = bytes(id_of(chain.raws[0]))
        for number, field in enumerate(
            ["get_accepted_frontier", "get_accepted", "get_ancestors", "get", "pull_query"]
        ):
            message = Message()
            inner = getattr(message, field)
            inner.chain_id = bytes(32)
            inner.request_id = number
            inner.deadline = 10**9
            if field == "get_accepted":
                inner.container_ids.extend([genesis, bytes(id_of(first.chain.raws[9]))])
            elif field != "get_accepted_frontier":
                inner.container_id = genesis
            asking.send(joining.node_id, message)
        await until(lambda: len(answers) >= 4)
        again = Get(chain_id=bytes(32), deadline=10**9, container_id=genesis)
        asking.send(joining.node_id, Message(get=again))
        await until(lambda: len(answers) >= 5)  # so the earlier query has been processed
        chain.may_execute.set()
        await until(joining.follows)

    by_kind = {answer.WhichOneof("message"): answer for answer in answers[:4]}
    assert by_kind["accepted_frontier"].accepted_frontier.container_id == genesis
    assert list(by_kind["accepted"].accepted.container_ids) == [genesis]
    assert list(by_kind["ancestors"].ancestors.containers) == [chain.raws[0]]
    assert by_kind["put"].put.container == chain.raws[0]
    assert not any(item.HasField("chits") and item.chits.request_id == 4 for item in answers)


async def test_the_second_chain_starts_when_the_first_has_reached_the_frontier() -> None:
    world = World()
    platform, other = long_chain(100), MemoryChain("C")
    other.make_many(200)
    first = world.add("first", platform, other, weight=1)
    mine = MemoryChain("P", execution=0.002), MemoryChain("C")
    joining = world.add("joining", *mine, beacons=["first"])
    world.link_all()
    async with running(first, joining):
        await until(lambda: mine[0].height > 20)
        assert mine[1].height == 0
        await until(lambda: joining.follows("C"))
    assert [chain.height for chain in mine] == [100, 200]
    order = [alias for alias, state in joining.records.states if state.bootstrapped]
    assert order[0] == "P"


async def test_the_next_pieces_are_fetched_while_blocks_are_executed() -> None:
    world = World()
    first = world.add("first", long_chain(1000), weight=1)
    chain = MemoryChain()
    chain.may_execute.clear()
    joining = world.add(
        "joining", chain, beacons=["first"], config=quick_config(ancestors_count=100)
    )
    world.link_all()
    async with running(first, joining):
        await until(lambda: len(chain.stored) == 1000)
        assert chain.height == 0
        chain.may_execute.set()
        await until(joining.follows)
    assert chain.height == 1000


async def test_proposals_are_accepted_with_their_options_wherever_a_batch_ends() -> None:
    world = World()
    chain = MemoryChain()
    for at in range(150):
        if at % 3 == 1:
            chain.make(b"proposal", kind=1)
            chain.make(b"option", kind=2)
        else:
            chain.make()
    first = world.add("first", chain, weight=1)
    config = quick_config(execute_batch=4, ancestors_count=33, most_fetched=99)
    joining = world.add("joining", beacons=["first"], config=config)
    world.link_all()
    async with running(first, joining):
        await until(joining.follows)
    assert joining.chain.raws == chain.raws

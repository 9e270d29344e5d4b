"""Transactions that reach the producer from any node, exactly once."""

import asyncio
import threading
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest

from network_app.bloom import EMPTY
from network_app.ports import ATOMIC_GOSSIP
from network_app.sync import transactions, tx_queue
from network_app.sync.messages import (
    NOT_A_VALIDATOR,
    NOT_REGISTERED,
    THROTTLED,
    TRANSACTION_GOSSIP,
    UNEXPECTED,
    with_handler,
)
from network_app.sync.transactions import Gossip
from network_app.wire.p2p_pb2 import AppGossip, AppRequest, Message
from network_app.wire.sdk_pb2 import PullGossipRequest, PullGossipResponse, PushGossip
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import BAD, MemoryChain
from tests.builders.memory_network import Node, World, quick_config, running, until

pytestmark = pytest.mark.sqlite_only


def mesh(count: int = 5, **fields: float) -> tuple[World, list[Node]]:
    """Return nodes that are all linked; the first one makes the blocks and is the only validator."""
    world = World()
    config = quick_config(**({"pull_interval": 30} | fields))
    nodes = [world.add(f"node-{at}", weight=int(at == 0), config=config) for at in range(count)]
    world.link_all()
    return world, nodes


def submit(node: Node, *raws: bytes) -> None:
    """Submit transactions as the node's own, and notify the engine as the pool does."""
    for raw in raws:
        node.chain.submit(raw)
    node.engine.transactions_issued("P")


def pulled(*known: bytes) -> bytes:
    del known
    request = PullGossipRequest(filter=bytes(EMPTY), salt=EMPTY.salt)
    return with_handler(TRANSACTION_GOSSIP, request.SerializeToString())


def gossip_of(node: Node) -> Gossip:
    return node.engine.line("P").gossip


def stop_clock(*nodes: Node) -> list[float]:
    """Stop the clocks of the nodes' gossip; return the shared time, which the test may change."""
    now = [0.0]
    for node in nodes:
        gossip_of(node)._clock = lambda: now[0]
    return now


async def at_rest(*nodes: Node) -> None:
    """Wait until no node has sent a transaction for a while."""
    before, end = -1, time.monotonic() + 60
    while (sent := sum(node.sent["app_gossip"] for node in nodes)) != before:
        assert time.monotonic() < end, "it goes round and round"
        before = sent
        await asyncio.sleep(0.5)


async def ask(node: Node, asker: Node, app_bytes: bytes) -> Message:
    """Return a node's response to an application request."""
    answers: list[Message] = []

    def noted(message: Message, to: NodeID) -> Message:
        if message.HasField("app_response") or message.HasField("app_error"):  # no requests
            assert to == asker.node_id
            answers.append(message)
        return message

    node.tamper = noted
    request = AppRequest(chain_id=bytes(32), request_id=77, deadline=10**9, app_bytes=app_bytes)
    await node.engine.handle(asker.node_id, Message(app_request=request))
    node.tamper = None
    (answer,) = answers
    return answer


async def test_a_transaction_reaches_the_producer_from_any_node() -> None:
    _, nodes = mesh()
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        for at, node in enumerate(nodes[1:]):
            submit(node, b"transaction %d" % at)
        await until(lambda: len(nodes[0].chain.pool) == 4)
        assert sorted(nodes[0].chain.issued) == [b"transaction %d" % at for at in range(4)]


async def test_a_second_pool_has_a_handler_of_its_own() -> None:
    world = World()
    config = quick_config(pull_interval=0.2)
    nodes: list[Node] = []
    pools: list[MemoryChain] = []
    for at in range(3):
        chain, pool = MemoryChain("P"), MemoryChain("P")
        chain.more_transactions[ATOMIC_GOSSIP] = pool
        pools.append(pool)
        nodes.append(world.add(f"node-{at}", chain, weight=int(at == 0), config=config))
    world.link_all()
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        pools[2].submit(b"atomic transaction")
        await until(lambda: b"atomic transaction" in pools[0].issued)
        answer = await ask(nodes[0], nodes[1], with_handler(ATOMIC_GOSSIP, b""))
        assert answer.app_error.error_code == NOT_A_VALIDATOR
    assert [node.chain.issued for node in nodes] == [[], [], []]


async def test_announced_transactions_of_further_pools_are_pushed_at_once() -> None:
    world, nodes, pools = World(), list[Node](), list[MemoryChain]()
    for at in range(2):
        chain, pool = MemoryChain("P"), MemoryChain("P")
        chain.more_transactions[ATOMIC_GOSSIP] = pool
        pools.append(pool)
        config = quick_config(pull_interval=3600.0)
        nodes.append(world.add(f"node-{at}", chain, weight=int(at == 0), config=config))
    world.link_all()
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        gossip = nodes[1].engine.line("P").gossips[ATOMIC_GOSSIP]
        await until(lambda: not gossip._scan)
        tx_id = pools[1].submit(b"atomic transaction")
        nodes[1].engine.transactions_issued("P", [tx_id], handler=ATOMIC_GOSSIP)
        await until(lambda: b"atomic transaction" in pools[0].issued)
    assert [node.chain.issued for node in nodes] == [[], []]


async def test_many_transactions_travel_in_few_messages() -> None:
    _, nodes = mesh(2)
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        submit(nodes[1], *(b"%0110d" % at for at in range(2000)))
        await until(lambda: len(nodes[0].chain.pool) == 2000)
    assert nodes[0].received["app_gossip"] <= 2000 * 110 // (20 * 1024) + 9


async def test_transactions_are_pushed_at_most_once_in_an_interval() -> None:
    _, nodes = mesh(2, push_interval=0.1)
    asked = 0
    waiting = nodes[1].chain.waiting

    def counted(limit: int) -> object:
        nonlocal asked
        asked += 1
        return waiting(limit)

    nodes[1].chain.waiting = counted  # type: ignore[method-assign, assignment]
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        await until(lambda: asked > 0 and not gossip_of(nodes[1])._scan)  # the initial scan
        asked, began = 0, time.monotonic()
        for at in range(100):
            submit(nodes[1], b"transaction %d" % at)
            await asyncio.sleep(0.002)
        await until(lambda: len(nodes[0].chain.pool) == 100)
        intervals = (time.monotonic() - began) / 0.1
    assert asked <= intervals + 2


async def test_named_transactions_are_pushed_without_looking_at_all_that_wait() -> None:
    _, nodes = mesh(2)
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        await until(lambda: not gossip_of(nodes[1])._scan)  # the only scan, at the start
        chain = nodes[1].chain
        chain.waiting = lambda limit: 1 / 0  # type: ignore[method-assign, assignment]
        tx_id = chain.submit(b"named")
        nodes[1].engine.transactions_issued("P", [tx_id])
        await until(lambda: tx_id in nodes[0].chain.pool)


async def test_a_transaction_is_passed_on_to_a_producer_that_its_sender_does_not_know() -> None:
    world = World()
    config = quick_config(pull_interval=30)
    chain = [world.add(f"node-{at}", config=config) for at in range(4)]
    for one, other in pairwise(chain):
        world.link(one, other)
    async with running(*chain):
        await until(lambda: all(node.follows() for node in chain))
        submit(chain[0], b"far away")
        await until(lambda: len(chain[3].chain.pool) == 1)
        for node in chain:
            node.engine.transactions_issued("P")
        submit(chain[0], b"another")
        await until(lambda: len(chain[3].chain.pool) == 2)
    # Each node sent to the next one, twice; no node sent a transaction back.
    assert [node.sent["app_gossip"] for node in chain] == [2, 2, 2, 0]


async def test_pool_check_keeps_transactions_received_during_it() -> None:
    _, nodes = mesh(2)
    gossip, chain = gossip_of(nodes[1]), nodes[1].chain
    issue, waiting = chain.issue, chain.waiting
    looks = threading.Event()

    def late_issue(raws: Sequence[bytes]) -> list[ID | Exception]:
        assert looks.wait(60)
        return issue(raws)

    def slow_look(limit: int) -> Sequence[ID]:
        found = waiting(limit)
        looks.set()
        while gossip._being_issued:
            time.sleep(0.01)
        return found

    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        await until(lambda: not gossip._scan)
        chain.issue = late_issue  # type: ignore[method-assign]
        gossip.add([b"came meanwhile"], nodes[0].node_id)
        await until(lambda: bool(gossip._being_issued))
        chain.waiting = slow_look  # type: ignore[method-assign]
        assert await gossip._look() == ([], [])
        assert chain.transaction_id(b"came meanwhile") in gossip._foreign


async def test_duplicate_transactions_are_not_gossiped_in_circles() -> None:
    _, nodes = mesh(5)
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        submit(nodes[1], b"once")
        await until(lambda: all(node.chain.pool for node in nodes))
        for node in nodes:
            node.engine.transactions_issued("P")
        await until(lambda: not any(gossip_of(node)._passing_on for node in nodes))
        await at_rest(*nodes)
        # The first node sends to four, and each of those to the three others when it is pending too long.
        assert sum(node.sent["app_gossip"] for node in nodes) <= 4 + 4 * 3
        assert [node.chain.issued for node in nodes if node is not nodes[1]] == 4 * [[b"once"]]


async def test_transaction_mined_soon_is_not_gossiped() -> None:
    _, nodes = mesh(5)
    now = stop_clock(*nodes)
    told = [gossip_of(node) for node in nodes if node is not nodes[1]]
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        submit(nodes[1], b"quick")
        await until(lambda: all(gossip._passing_on for gossip in told))
        for node in nodes:  # the block arrives
            node.chain.pool.clear()
        now[0] += 1.0
        await until(lambda: not any(gossip._passing_on for gossip in told))
        submit(nodes[1], b"later")  # sent after everything else
        await until(lambda: all(node.chain.pool for node in nodes))
    assert sum(node.sent["app_gossip"] for node in nodes) == 4 + 4


async def test_long_pending_transaction_is_pushed_again() -> None:
    world, nodes = mesh(2, push_again=0.4, pull_interval=0.1)
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        world.traits(*nodes)["muted"] = 1
        submit(nodes[1], b"patient")
        await until(lambda: nodes[1].sent["app_gossip"] == 1)
        world.traits(*nodes)["muted"] = 0
        await until(lambda: len(nodes[0].chain.pool) == 1)


async def test_connecting_producer_receives_pending_transactions() -> None:
    world, nodes = mesh(2)
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        world.cut(nodes[0].node_id, nodes[1].node_id)
        submit(nodes[1], b"made alone")
        world.link(nodes[0], nodes[1])
        await until(lambda: len(nodes[0].chain.pool) == 1)


async def test_a_notice_that_was_lost_is_made_up_for() -> None:
    _, nodes = mesh(2, pull_interval=0.1)
    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        nodes[1].chain.submit(b"nobody said so")
        await until(lambda: len(nodes[0].chain.pool) == 1)


async def test_refused_transaction_is_not_gossiped_and_can_be_retried() -> None:
    _, nodes = mesh(3)
    now = stop_clock(*nodes)
    worse = BAD + BAD

    def gossip(raw: bytes) -> Message:
        told = with_handler(0, PushGossip(gossip=[raw]).SerializeToString())
        return Message(app_gossip=AppGossip(chain_id=bytes(32), app_bytes=told))

    async with running(*nodes):
        await until(lambda: all(node.follows() for node in nodes))
        for _ in range(5):
            await nodes[0].engine.handle(nodes[1].node_id, gossip(BAD))
        await nodes[0].engine.handle(nodes[1].node_id, gossip(worse))
        await until(lambda: worse in nodes[0].chain.issued)
        assert nodes[0].chain.issued == [BAD, worse]
        now[0] += quick_config().push_again
        await nodes[0].engine.handle(nodes[1].node_id, gossip(BAD))
        await until(lambda: len(nodes[0].chain.issued) == 3)
    assert nodes[0].sent["app_gossip"] == 0


async def test_validators_pull_unknown_transactions() -> None:
    world = World()
    config = quick_config(pull_interval=0.05)
    one, two = (world.add(name, weight=1, config=config) for name in ("one", "two"))
    world.link_all()
    one.tamper = lambda message, _: None if message.HasField("app_gossip") else message
    async with running(one, two):
        await until(lambda: one.follows() and two.follows())
        for at in range(300):
            one.chain.submit(b"%0200d" % at)
        await until(lambda: len(two.chain.pool) == 300)
    assert len(two.chain.issued) == 300
    assert one.sent["app_response"] >= 3


async def test_pulls_are_for_validators_and_not_too_often() -> None:
    world, (one, two) = mesh(2, pulls_per_hour=3)
    one.chain.submit(b"waits")
    async with running(one, two):
        await until(one.follows)
        refused = await ask(one, two, pulled())
        assert refused.app_error.error_code == NOT_A_VALIDATOR
        world.stakes[two.node_id] = world.stakes[one.node_id]
        answers = [await ask(one, two, pulled()) for _ in range(4)]
    told = PullGossipResponse.FromString(answers[0].app_response.app_bytes)
    assert list(told.gossip) == [b"waits"]
    assert answers[2].HasField("app_response")
    assert answers[3].app_error.error_code == THROTTLED
    assert answers[3].app_error.request_id == 77


async def test_malformed_app_request_gets_an_error() -> None:
    _, (one, two) = mesh(2)
    async with running(one, two):
        await until(one.follows)
        one.world.stakes[two.node_id] = one.world.stakes[one.node_id]
        unknown = await ask(one, two, with_handler(2, b"sign this"))
        assert unknown.app_error.error_code == NOT_REGISTERED
        endless = await ask(one, two, b"\xff" * 20)
        assert endless.app_error.error_code == NOT_REGISTERED
        malformed = await ask(one, two, with_handler(0, b"\xff\xff"))
        assert malformed.app_error.error_code == UNEXPECTED


async def test_floods_of_transactions_are_kept_within_bounds() -> None:
    _, (one, two) = mesh(2)
    gossip = one.engine.line("P").gossip
    async with running(one, two):
        await until(one.follows)
        one.chain.issue = lambda raws: [RuntimeError("full") for _ in raws]  # type: ignore[method-assign]
        for at in range(400):
            raws = [b"%d %0500d" % (at, number) for number in range(100)]
            payload = PushGossip(gossip=raws).SerializeToString()
            message = AppGossip(chain_id=bytes(32), app_bytes=with_handler(0, payload))
            await one.engine.handle(two.node_id, Message(app_gossip=message))
            assert len(gossip._received) <= tx_queue.MOST
            assert gossip._received.size <= tx_queue.MAX_BYTES
            if at % 10 == 0:
                await asyncio.sleep(0.01)
        assert len(gossip._foreign) <= transactions.REMEMBERED
        assert len(gossip._recently) <= 32_768
        assert len(gossip.known) <= 32_768


async def test_gossip_of_a_chain_that_bootstraps_is_not_taken_in() -> None:
    world = World()
    producer = world.add("producer", weight=1)
    producer.chain.make_many(10)
    chain = MemoryChain()
    chain.may_execute.clear()
    joining = world.add("joining", chain, beacons=["producer"])
    world.link_all()
    async with running(producer, joining):
        assert await asyncio.to_thread(chain.executing.wait, 60)
        submit(producer, b"too early")
        await until(lambda: joining.received["app_gossip"] > 0)
        chain.may_execute.set()
        await until(joining.follows)
        submit(producer, b"in time")
        await until(lambda: bool(chain.issued))
        assert chain.issued == [b"in time"]

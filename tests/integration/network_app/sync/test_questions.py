"""Requests and their responses: timeouts, benching, deadlines, the genesis."""

import asyncio
import time
from collections.abc import Mapping

import pytest

from network_app.config import NetworkConfig
from network_app.peers.bench import Bench
from network_app.ports import PeerInfo
from network_app.sync.budget import PeerSlots
from network_app.sync.genesis import GenesisFetcher
from network_app.sync.messages import Answer, enclose
from network_app.sync.pulling import GenesisBytes, GenesisTeller
from network_app.sync.requests import Requests
from network_app.sync.router import Beacons, ChainRouter
from network_app.wire.framing import PackedMessage
from network_app.wire.p2p_pb2 import (
    AcceptedFrontier,
    Ancestors,
    AppError,
    AppRequest,
    AppResponse,
    Chits,
    Get,
    GetAcceptedFrontier,
    GetAcceptedStateSummary,
    GetAncestors,
    GetStateSummaryFrontier,
    Message,
    PullQuery,
    Put,
)
from primitives.hashing import keccak256
from primitives.ids import P_CHAIN_ID, NodeID
from tests.builders.memory_chain import MemoryChain, id_of
from tests.builders.memory_network import (
    MemoryRecords,
    Node,
    World,
    node_id,
    quick_config,
    running,
    unpacked,
    until,
)

pytestmark = pytest.mark.sqlite_only

PEER, OTHER = node_id("peer"), node_id("other")


class Wires:
    """A network that keeps sent messages."""

    def __init__(self, *peers: NodeID) -> None:
        self.node_id = node_id("me")
        self.peers = set(peers)
        self.full = False
        self.sent: list[tuple[NodeID, Message]] = []

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        return dict.fromkeys(self.peers)  # type: ignore[arg-type]

    def send(self, node_id: NodeID, message: Message | PackedMessage) -> bool:
        if node_id not in self.peers or self.full:
            return False
        self.sent.append((node_id, unpacked(message)))
        return True


def make(wires: Wires, **fields: float) -> tuple[Requests, Bench]:
    config = quick_config(
        first_request_timeout=0.1, least_request_timeout=0.05, most_request_timeout=0.2, **fields
    )
    bench = Bench(config)
    requests = Requests(wires, bench, config, alias="P", chain_id=P_CHAIN_ID)  # type: ignore[arg-type]
    return requests, bench


async def test_answer_reaches_its_request() -> None:
    wires = Wires(PEER)
    requests, _ = make(wires)
    asking = asyncio.ensure_future(requests.ask(PEER, Get(container_id=bytes(32)), Put))
    await asyncio.sleep(0)
    ((to, message),) = wires.sent
    assert to == PEER
    assert message.get.chain_id == bytes(32)
    assert message.get.deadline == 100_000_000
    number = message.get.request_id
    assert not requests.answered(OTHER, Put(request_id=number, container=b"wrong peer"))
    assert not requests.answered(PEER, Put(request_id=number + 1, container=b"wrong number"))
    assert not requests.answered(PEER, Ancestors(request_id=number))
    assert requests.answered(PEER, Put(request_id=number, container=b"block"))
    answer = await asking
    assert answer is not None
    assert answer.container == b"block"
    assert not requests.answered(PEER, Put(request_id=number, container=b"again"))
    assert len(requests) == 0


async def test_numbers_are_unique_and_those_of_applications_odd() -> None:
    wires = Wires(PEER)
    requests, _ = make(wires)
    for _ in range(3):
        requests.post(PEER, PullQuery(), Chits, lambda _: None)
        requests.post(PEER, AppRequest(), AppResponse, lambda _: None)
    engine = [message.pull_query.request_id for _, message in wires.sent[::2]]
    applications = [message.app_request.request_id for _, message in wires.sent[1::2]]
    assert len({*engine, *applications}) == 6
    assert {number % 2 for number in engine} == {0}
    assert {number % 2 for number in applications} == {1}
    requests.disconnected(PEER)


async def test_a_question_without_an_answer_ends_and_counts_against_the_peer() -> None:
    wires = Wires(PEER, OTHER)
    requests, bench = make(wires)
    for _ in range(5):
        assert await requests.ask(PEER, GetAcceptedFrontier(), AcceptedFrontier) is None
    assert bench.is_benched(PEER, "P", time.monotonic())
    assert not bench.is_benched(PEER, "C", time.monotonic())
    assert not bench.is_benched(OTHER, "P", time.monotonic())


async def test_a_push_without_an_answer_does_not_count_against_the_peer() -> None:
    wires = Wires(PEER)
    requests, bench = make(wires)
    ended: list[Answer | None] = []
    for _ in range(20):
        requests.post(PEER, PullQuery(), Chits, ended.append, counts=False)
    await until(lambda: len(ended) == 20)
    assert ended == [None] * 20
    assert bench.benched(time.monotonic()) == {}


async def test_disconnected_peer_is_not_benched() -> None:
    wires = Wires(PEER)
    requests, bench = make(wires)
    asking = [asyncio.ensure_future(requests.ask(PEER, Get(), Put)) for _ in range(8)]
    await asyncio.sleep(0)
    requests.disconnected(PEER)
    assert await asyncio.gather(*asking) == [None] * 8
    wires.peers.clear()
    assert await requests.ask(PEER, Get(), Put) is None
    assert len(bench) == 0


async def test_a_full_queue_counts_against_the_peer() -> None:
    wires = Wires(PEER)
    wires.full = True
    requests, bench = make(wires)
    for _ in range(5):
        assert await requests.ask(PEER, Get(), Put) is None
    assert bench.is_benched(PEER, "P", time.monotonic())


async def test_an_error_of_an_application_is_an_answer() -> None:
    wires = Wires(PEER)
    requests, bench = make(wires)
    asking = asyncio.ensure_future(requests.ask(PEER, AppRequest(), AppResponse))
    await asyncio.sleep(0)
    assert requests.answered(PEER, AppError(request_id=1, error_code=-2))
    assert await asking is None
    assert bench.benched(time.monotonic()) == {}


async def test_open_questions_are_bounded() -> None:
    wires = Wires(PEER)
    requests, _ = make(wires, most_open_requests=10)
    posted = [requests.post(PEER, PullQuery(), Chits, lambda _: None) for _ in range(12)]
    assert posted == [True] * 10 + [False] * 2
    assert len(requests) == 10
    requests.disconnected(PEER)


async def test_many_requests_of_a_peer_delay_only_itself() -> None:
    gate = PeerSlots(at_once=4, for_one=2)
    order: list[str] = []
    release = asyncio.Event()

    async def work(peer: NodeID, name: str) -> None:
        async with gate.turn(peer):
            order.append(name)
            await release.wait()

    greedy = [asyncio.create_task(work(PEER, "greedy")) for _ in range(10)]
    await until(lambda: len(order) >= 2)
    modest = asyncio.create_task(work(OTHER, "modest"))
    await until(lambda: "modest" in order)
    assert order == ["greedy", "greedy", "modest"]
    release.set()
    await asyncio.gather(modest, *greedy)
    assert len(order) == 11
    assert len(gate) == 0


async def answers_of(node: Node, *messages: Message) -> list[Message]:
    """Return the messages that a node sends in response to messages of a peer."""
    found: list[Message] = []

    def noted(message: Message, _: NodeID) -> None:
        found.append(message)

    node.tamper = noted
    for message in messages:
        await node.engine.handle(PEER, message)
    node.tamper = None
    return found


@pytest.fixture
def serving() -> Node:
    """Return a node with a hundred blocks and a peer, not started."""
    world = World()
    node = world.add("serving")
    world.add("peer")
    world.link_all()
    node.chain.make_many(100)
    return node


async def test_ancestors_end_at_the_size_that_fits(serving: Node) -> None:
    top = bytes(id_of(serving.chain.raws[100]))
    (answer,) = await answers_of(
        serving, enclose(GetAncestors(chain_id=bytes(32), request_id=3, container_id=top))
    )
    assert list(answer.ancestors.containers) == serving.chain.raws[::-1]
    assert answer.ancestors.request_id == 3
    (unknown,) = await answers_of(
        serving, enclose(GetAncestors(chain_id=bytes(32), container_id=bytes(32)))
    )
    assert list(unknown.ancestors.containers) == []


async def test_unanswerable_requests_get_no_answer(serving: Node) -> None:
    assert (
        await answers_of(
            serving,
            enclose(Get(chain_id=bytes(32), container_id=bytes(32))),  # unknown
            enclose(Get(chain_id=bytes(32), container_id=b"short")),
            enclose(GetAncestors(chain_id=bytes(32), container_id=b"short")),
            enclose(Get(chain_id=bytes([1]) * 32)),  # another chain
            Message(),
            Message(get_state_summary_frontier=GetStateSummaryFrontier(chain_id=bytes(32))),
            Message(
                get_accepted_state_summary=GetAcceptedStateSummary(chain_id=bytes(32), heights=[1])
            ),
        )
        == []
    )


async def test_state_summaries_are_empty(serving: Node) -> None:
    request = GetAcceptedStateSummary(chain_id=bytes(32), request_id=5)
    (answer,) = await answers_of(serving, Message(get_accepted_state_summary=request))
    assert answer.accepted_state_summary.request_id == 5
    assert list(answer.accepted_state_summary.summary_ids) == []


async def test_a_chain_with_summaries_names_that_of_block_0(serving: Node) -> None:
    serving.chain.summary = summary = b"\0\0" + bytes(104)
    (frontier,) = await answers_of(
        serving,
        Message(
            get_state_summary_frontier=GetStateSummaryFrontier(chain_id=bytes(32), request_id=8)
        ),
    )
    assert frontier.state_summary_frontier.summary == summary
    assert frontier.state_summary_frontier.request_id == 8
    for heights, known in (([0, 16384], [keccak256(summary)]), ([16384], []), ([], [])):
        request = GetAcceptedStateSummary(chain_id=bytes(32), heights=heights)
        (answer,) = await answers_of(serving, Message(get_accepted_state_summary=request))
        assert list(answer.accepted_state_summary.summary_ids) == known


async def test_request_after_its_deadline_is_not_answered(serving: Node) -> None:
    gate = serving.engine._gate
    top = bytes(id_of(serving.chain.raws[100]))
    request = Get(chain_id=bytes(32), container_id=top, deadline=20_000_000)
    async with gate.turn(PEER), gate.turn(PEER):
        late = asyncio.create_task(serving.engine.handle(PEER, enclose(request)))
        await asyncio.sleep(0.04)
    await late
    assert serving.sent["put"] == 0
    request.deadline = 10_000_000_000
    await serving.engine.handle(PEER, enclose(request))
    assert serving.sent["put"] == 1


async def test_joining_node_receives_the_genesis() -> None:
    world = World()
    node = world.add("first", MemoryChain("P"), MemoryChain("C"))
    told = GenesisBytes(b"platform genesis", b'{"config": {}}', "all")
    read: list[GenesisBytes] = []

    def read_it() -> GenesisBytes:
        read.append(told)
        return told

    node.engine._genesis = GenesisTeller(read_it, asyncio.to_thread)

    class Joining:
        """A node with nothing but a handler."""

        engine = GenesisFetcher(lambda _answer: None)
        node_id = node_id("joining")
        deliveries: set[asyncio.Task[None]] = set()

        def connected(self) -> Mapping[NodeID, PeerInfo]:
            return world.peers_of(self.node_id)

        def send(self, node_id: NodeID, message: Message | PackedMessage) -> bool:
            world.carry(self.node_id, node_id, unpacked(message))
            return True

        def deliver(self, sender: NodeID, payload: bytes) -> None:
            work = self.engine.handle(sender, Message.FromString(payload))
            self.deliveries.add(asyncio.create_task(work))

    joining = Joining()
    world.nodes[joining.node_id] = joining  # type: ignore[assignment]
    fetching = asyncio.create_task(joining.engine.fetch(joining))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    world.link(node, joining)  # type: ignore[arg-type]
    answer = await asyncio.wait_for(fetching, 60)
    assert (answer.platform, answer.cchain, answer.producer) == told

    again = await joining.engine.ask(joining, node.node_id)  # type: ignore[arg-type]
    assert again is not None
    assert again.cchain == told.cchain
    assert read == [told]
    node.engine._genesis = None
    assert await joining.engine.ask(joining, node.node_id) is None  # type: ignore[arg-type]


async def test_a_database_that_is_away_for_a_moment_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    producer = world.add("producer", weight=1)
    follower = world.add("follower", beacons=["producer"], follows="producer")
    producer.chain.make_many(10)
    world.link_all()
    fetched, failures = follower.chain.fetched, [OSError("gone")]

    def sometimes(above: int, count: int) -> list[bytes]:
        if failures:
            raise failures.pop()
        return fetched(above, count)

    follower.chain.fetched = sometimes  # type: ignore[method-assign]
    async with running(producer, follower):
        await until(follower.follows)
        append = follower.chain.append
        broken = [OSError("gone again")]

        def fails_once(raw: bytes) -> None:
            if broken:
                raise broken.pop()
            append(raw)

        follower.chain.append = fails_once  # type: ignore[method-assign]
        producer.make_block()
        await until(lambda: follower.chain.height == 11)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        "P-Chain start: failed and restarts",
        "P-Chain consensus: failed and restarts",
    ]


async def test_benched_peers_are_reported_by_chain() -> None:
    world = World()
    node = world.add(
        "node",
        config=quick_config(least_request_timeout=0.02, most_request_timeout=0.03),
        follows="peer",
    )
    peer = world.add("peer", weight=1)
    world.link_all(muted=1)
    async with running(node):
        await until(lambda: node.engine.benched() == {peer.node_id: ["P"]})


def test_beacons_count_by_three_quarters_and_by_more_than_half() -> None:
    ids = [node_id(str(at)) for at in range(5)]
    table = [
        (connected, Beacons(frozenset(ids[:connected]), configured).lacking is None)
        for configured, connected in (
            (0, 0),
            (1, 0),
            (1, 1),
            (2, 1),
            (2, 2),
            (4, 2),
            (4, 3),
            (5, 3),
            (5, 4),
        )
    ]
    assert [enough for _, enough in table] == [
        True,
        False,
        True,
        False,
        True,
        False,
        True,
        False,
        True,
    ]
    assert [Beacons(frozenset(), total).majority for total in range(1, 6)] == [1, 2, 2, 3, 3]


def test_an_engine_needs_no_event_loop_to_be_made() -> None:
    config = NetworkConfig(network_id=12345)
    engine = ChainRouter(
        Wires(),  # type: ignore[arg-type]
        [MemoryChain()],
        MemoryRecords(),
        config,
        World(),
        beacons=lambda: Beacons(frozenset(), 0),
        run=asyncio.to_thread,
        serve=asyncio.to_thread,
        now=time.time,
    )
    assert engine.benched() == {}

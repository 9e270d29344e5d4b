"""A voting chain: it bootstraps, votes, and bootstraps again when too many blocks are missing."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from chainvm.errors import InvalidBlock, NotYetValid, UnknownParent
from network_app.config import NetworkConfig
from network_app.ports import AcceptedChain
from network_app.proposervm.errors import OuterBlockReason, OuterBlockTooEarly
from network_app.sync.handler import SharedParts
from network_app.sync.messages import enclose
from network_app.sync.requests import Requests
from network_app.wire.p2p_pb2 import (
    Get,
    GetAcceptedFrontier,
    GetAncestors,
    Message,
    PullQuery,
    PushQuery,
)
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain, id_of
from tests.builders.memory_network import Node, World, running, until

pytestmark = pytest.mark.sqlite_only


class Part:
    """This node's part in the voting, which only records calls: a `sync.voting.Consensus`."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.behind = asyncio.Event()
        self.on_accepted: list[Callable[[Any], None]] = []
        self.on_refused: list[Callable[[Any, Exception], None]] = []
        self.peers: list[NodeID] = []
        self.asked: list[str] = []
        self.wakes = 0
        self.ages: list[float] = []
        self.begun: list[int] = []
        """The height at each start of voting."""
        self.is_running = False
        self.unstored: list[bytes] = []
        """Blocks that are only in memory, each the parent of the one before."""
        self.last: ID | None = None
        """The last accepted block, if it is one of those in memory."""
        self.chain: MemoryChain

    def take(self, chain: AcceptedChain, shared: SharedParts, requests: Requests) -> "Part":
        assert isinstance(chain, MemoryChain)
        assert requests is not None
        assert shared.network.node_id
        self.chain = chain
        return self

    def connected(self, node_id: NodeID) -> None:
        self.peers.append(node_id)

    def disconnected(self, node_id: NodeID) -> None:
        self.peers.remove(node_id)

    def blocks_waiting(self) -> None:
        self.wakes += 1

    def processing(self) -> list[float]:
        return self.ages

    def last_accepted(self) -> ID | None:
        return self.last

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        ids = [*map(id_of, self.unstored)]
        line = self.unstored[ids.index(block_id) :] if block_id in ids else []
        return line, self.chain.parse(line[-1]).parent_id if line else block_id

    async def answer(self, node_id: NodeID, question: PushQuery | PullQuery | Get) -> None:
        del node_id
        self.asked.append(type(question).__name__)

    async def run(self) -> None:
        self.begun.append(self.chain.height)
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            self.is_running = False


class Case:
    """A voter among four peers, three of them its beacons, all with some blocks; to be created on an event loop."""

    def __init__(self, height: int = 10, config: NetworkConfig | None = None) -> None:
        self.world = World()
        self.part = Part()
        names = ["one", "two", "three"]
        self.beacons = [self.world.add(name, weight=1) for name in names]
        for node in self.beacons:
            node.chain.make_many(height)
        self.stranger = self.world.add("stranger", weight=1)
        self.voter = self.world.add(
            "voter", beacons=names, weight=1, take_part=self.part.take, config=config
        )
        for node in (*self.beacons, self.stranger):
            self.world.link(node, self.voter)

    @property
    def nodes(self) -> list[Node]:
        return [*self.beacons, self.stranger, self.voter]

    def ask(self, question: Any) -> None:
        """Send the voter a request of one of the beacons."""
        question.chain_id = bytes(self.voter.chain.chain_id)
        self.voter.deliver(self.beacons[0].node_id, enclose(question).SerializeToString())


async def test_node_votes_once_it_reached_the_frontier() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        assert case.part.begun == [10]
        assert len(case.part.peers) == 4
        await until(case.voter.follows)


async def test_queries_and_questions_for_a_block_are_the_voters() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        case.part.asked.clear()
        case.ask(PullQuery(container_id=bytes(32)))
        case.ask(PushQuery(container=b"block"))
        case.ask(Get(container_id=bytes(32)))
        await until(lambda: len(case.part.asked) >= 3)
        assert {"PullQuery", "PushQuery", "Get"} <= set(case.part.asked)
        assert case.voter.sent["chits"] == case.voter.sent["put"] == 0
        # Accepted blocks are reported as usual.
        for question in (GetAcceptedFrontier(), GetAncestors(container_id=bytes(32))):
            case.ask(question)
        await until(
            lambda: case.voter.sent["accepted_frontier"] == case.voter.sent["ancestors"] == 1
        )


async def test_bootstrapping_node_serves_accepted_blocks_only() -> None:
    case = Case()
    case.voter.chain.make_many(2)
    case.ask(Get(container_id=bytes(id_of(case.voter.chain.raws[2]))))
    await until(lambda: case.voter.sent["put"] == 1)
    assert case.part.asked == []


async def test_voter_bootstraps_again_when_too_many_blocks_are_missing() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        for node in case.beacons:
            node.chain.make_many(20)
            node.engine.blocks_accepted("P")
        heads = [node.engine.line("P").last_accepted for node in case.beacons]
        await until(lambda: all(head.place.height == 30 for head in heads))
        case.part.behind.set()
        await until(lambda: len(case.part.begun) == 2)
        assert case.part.begun == [10, 30]
        assert not case.part.behind.is_set()
        await until(case.voter.follows)


async def test_voter_without_bootstrappers_continues_voting() -> None:
    world, part = World(), Part()
    alone = world.add("alone", weight=1, take_part=part.take)
    async with running(alone):
        await until(lambda: part.is_running)
        part.behind.set()
        await until(lambda: not part.behind.is_set())
        assert part.is_running
        assert part.begun == [0]


async def test_nothing_is_accepted_from_peers_during_a_step() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        for node in case.beacons:
            node.chain.make_many(1)
        async with case.part.lock:
            accepting = asyncio.create_task(
                case.voter.engine.line("P").last_accepted.accept([case.beacons[0].chain.raws[11]])
            )
            done, _ = await asyncio.wait([accepting], timeout=0)
            assert not done
            assert case.voter.chain.height == 10
        await accepting
        assert case.voter.chain.height == 11


async def test_accepted_block_updates_the_last_accepted_place() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        case.voter.chain.make()
        for listener in case.part.on_accepted:
            listener(None)
        await until(lambda: case.voter.engine.line("P").last_accepted.place.height == 11)


async def test_undecided_blocks_are_recorded() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(case.voter.follows)
        case.part.ages = [1.0, 5.0]
        await until(lambda: case.voter.records.of("P")[-1].outstanding == 2)
        oldest = case.voter.records.of("P")[-1].oldest_outstanding
        assert oldest is not None
        case.part.ages = []
        await until(lambda: case.voter.records.of("P")[-1].outstanding == 0)
        assert case.voter.records.of("P")[-1].oldest_outstanding is None


async def test_a_block_that_may_become_valid_is_not_treated_as_refused() -> None:
    """Others are asked about a refused block; the last refused is asked about first."""
    case, asked = Case(), list[ID]()

    def noted(message: Message, _receiver: NodeID) -> Message:
        asked.extend(map(ID, message.get_accepted.container_ids))
        return message

    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        case.voter.tamper = noted
        (refused,) = case.part.on_refused
        ids = [ID(bytes([number]) * 32) for number in range(1, 5)]
        blocks = [SimpleNamespace(block_id=block_id, height=11) for block_id in ids]
        refused(blocks[0], InvalidBlock("wrong"))
        refused(blocks[1], NotYetValid("an import before its export"))
        refused(blocks[2], OuterBlockTooEarly(OuterBlockReason.TIME_TOO_ADVANCED))
        refused(blocks[3], UnknownParent(ids[3], ids[2]))
        await until(lambda: ids[0] in asked)
        assert not set(asked) & set(ids[1:])


@pytest.mark.parametrize("voting", [True, False])
async def test_events_wake_voting_nodes_only(*, voting: bool) -> None:
    world, part = World(), Part()
    node = world.add("node", weight=1, take_part=part.take if voting else None)
    node.engine.blocks_waiting("P")
    node.engine.blocks_accepted("P", 1)
    assert part.wakes == voting

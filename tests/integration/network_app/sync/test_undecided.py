"""Unstored blocks of a voting chain: responses about them, and bootstrapping up to the point where they begin."""

from typing import Any

import pytest

from network_app.sync.messages import enclose
from network_app.wire.p2p_pb2 import (
    Get,
    GetAccepted,
    GetAcceptedFrontier,
    GetAncestors,
    Message,
    PullQuery,
    PushQuery,
    Put,
)
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import NORMAL, OPTION, PROPOSAL, MemoryChain, block_bytes, id_of
from tests.builders.memory_network import Node, World, quick_config, running, until
from tests.integration.network_app.sync.test_voting import Case, Part

pytestmark = pytest.mark.sqlite_only

SIZE = len(block_bytes(ID(bytes(32)), 1))
OVERHEAD = 4


def above(chain: MemoryChain, *kinds: int) -> list[bytes]:
    """Return blocks that follow a chain's last block and are not stored, newest first."""
    raws = [chain.raws[-1]]
    for height, kind in enumerate(kinds, len(chain.raws)):
        raws.append(block_bytes(id_of(raws[-1]), height, b"", kind))
    return raws[:0:-1]


async def answer(case: Case, question: Any, kind: str) -> Any:
    """Send a request to the voter; return its response."""
    heard: list[Any] = []

    def listen(message: Message, _: NodeID) -> Message:
        if message.WhichOneof("message") == kind:
            heard.append(getattr(message, kind))
        return message

    case.voter.tamper = listen
    case.ask(question)
    await until(lambda: bool(heard))
    return heard[0]


async def test_ancestors_include_processing_blocks() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        case.part.unstored = above(case.voter.chain, NORMAL, NORMAL, NORMAL)
        line = [*case.part.unstored, *reversed(case.voter.chain.raws)]
        for place in (0, 1, 2, 3, 8):
            question = GetAncestors(container_id=bytes(id_of(line[place])))
            ancestors = await answer(case, question, "ancestors")
            assert list(ancestors.containers) == line[place:]
        unknown = GetAncestors(container_id=bytes(32))
        assert not (await answer(case, unknown, "ancestors")).containers


@pytest.mark.parametrize(
    ("limits", "given"),
    [
        ({"ancestors_count": 1}, 1),
        ({"ancestors_count": 3}, 3),
        ({"ancestors_count": 5}, 5),
        ({"ancestors_bytes": 1}, 1),
        ({"ancestors_bytes": 2 * (SIZE + OVERHEAD) - 1}, 1),
        ({"ancestors_bytes": 2 * (SIZE + OVERHEAD)}, 2),
        ({"ancestors_bytes": 5 * (SIZE + OVERHEAD)}, 5),
    ],
)
async def test_the_limits_of_an_answer_are_of_both_together(
    limits: dict[str, float], given: int
) -> None:
    case = Case(config=quick_config(**limits))
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        case.part.unstored = above(case.voter.chain, NORMAL, NORMAL, NORMAL)
        line = [*case.part.unstored, *reversed(case.voter.chain.raws)]
        question = GetAncestors(container_id=bytes(id_of(line[0])))
        assert list((await answer(case, question, "ancestors")).containers) == line[:given]


async def test_proposal_without_option_is_not_reported_as_frontier() -> None:
    case = Case()
    async with running(*case.nodes):
        await until(lambda: case.part.is_running)
        case.part.unstored = option, proposal = above(case.voter.chain, PROPOSAL, OPTION)
        case.part.last = id_of(proposal)
        stored = bytes(id_of(case.voter.chain.raws[-1]))
        frontier = await answer(case, GetAcceptedFrontier(), "accepted_frontier")
        assert frontier.container_id == bytes(case.part.last)
        asked = [bytes(id_of(option)), bytes(case.part.last), stored, bytes(32)]
        accepted = await answer(case, GetAccepted(container_ids=asked), "accepted")
        assert list(accepted.container_ids) == [bytes(case.part.last), stored]
        # When the votes end, only the stored blocks remain.
        case.part.unstored, case.part.last = [], None
        frontier = await answer(case, GetAcceptedFrontier(), "accepted_frontier")
        assert frontier.container_id == stored


class Proposed(Part):
    """A voter that has accepted a proposal on top of its chain, and waits for votes on its options."""

    def __init__(self) -> None:
        super().__init__()
        self.node: Node

    def propose(self, node: Node) -> None:
        """Accept the proposal."""
        self.node = node
        self.unstored = above(self.chain, PROPOSAL)
        self.last = id_of(self.unstored[0])

    async def answer(self, node_id: NodeID, question: PushQuery | PullQuery | Get) -> None:
        await super().answer(node_id, question)
        (proposal,) = self.unstored
        if isinstance(question, Get) and question.container_id == bytes(id_of(proposal)):
            put = Put(chain_id=question.chain_id, request_id=question.request_id)
            put.container = proposal
            self.node.send(node_id, enclose(put))


async def test_bootstrapping_ends_before_an_undecided_proposal() -> None:
    """The others may need this node's votes for the option, so waiting for it could last forever."""
    world, names = World(), ["one", "two", "three"]
    parts = [Proposed() for _ in names]
    beacons = [
        world.add(name, weight=1, take_part=part.take)
        for name, part in zip(names, parts, strict=True)
    ]
    for node, part in zip(beacons, parts, strict=True):
        node.chain.make_many(10)
        part.propose(node)
    part = Part()
    joiner = world.add("joiner", beacons=names, weight=1, take_part=part.take)
    for node in beacons:
        world.link(node, joiner)
    async with running(*beacons, joiner):
        await until(lambda: part.is_running)
        assert part.begun == [10]
        assert any("Get" in item.asked for item in parts)
        # A node whose last block is the proposal's parent has nothing to fetch.
        part.behind.set()
        await until(lambda: part.begun == [10, 10])

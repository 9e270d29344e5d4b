"""Restart of bootstrapping while an accepted proposal waits for its option: the proposal is not lost."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from cchain_app.apps import evm_runtime
from chainvm.port import BlockContext
from network_app.consensus.runner import Runner
from network_app.node import NodeNetwork
from network_app.ports import AcceptedChain, NotYet
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.sync.handler import SharedParts
from network_app.sync.requests import Requests
from nodeproject.processes.local_network import make_keys
from platform_app.blocks.block import Block
from platform_app.config import DAY
from primitives.ids import ID, NodeID
from primitives.node_identity import IdentityFiles
from tests.builders import platform
from tests.builders.memory_network import World, running, until
from tests.builders.node_settings import updated
from tests.integration.platform_app.sides import ALIASES, Side, sides

__all__ = ["sides"]

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)


class Voter:
    """A node of a voting network, with its P-Chain.

    Args:
        side: The chain.
        home: The directory of the node's keys.
        maker: The only node that may propose blocks.
    """

    def __init__(self, side: Side, home: Path, maker: NodeID) -> None:
        self.side = side
        side.chain.identity = IdentityFiles.below(home)
        settings = updated(
            django_settings.NODE,
            chains=("P",),
            consensus="snowman",
            bootstrap=("127.0.0.1:9651",),
        )
        self.network = NodeNetwork(
            settings.common,
            settings.peers,
            side.runtime,
            [evm_runtime()],
            lambda _height: {maker: 1},
        )
        self.chain = self.network.platform
        self.runner: Runner[Any] | None = None

    @property
    def vm(self) -> ProposerVM[Block]:
        return self.chain.vm.get()

    def take_part(self) -> Callable[[AcceptedChain, SharedParts, Requests], Runner[Any]]:
        """Return a factory of the node's consensus runner; the created runner is kept in `runner`."""
        make = self.network.take_part()
        assert make is not None

        def remembered(*parts: Any) -> Runner[Any]:
            made = make(*parts)
            assert isinstance(made, Runner)
            self.runner = made
            return made

        return remembered

    def build(self, after: int = 1) -> ProposerBlock[Block]:
        """Build a block on the last accepted one, `after` seconds later."""
        self.side.now += after
        self.vm.set_preference(self.vm.last_accepted())
        block = self.vm.build(BlockContext(self.side.now))
        assert block is not None
        return block

    def accept(self, *blocks: ProposerBlock[Block]) -> None:
        """Verify and accept blocks, of this node or of others."""
        for block in blocks:
            self.vm.verify(self.vm.parse(block.raw), BlockContext(self.side.now))
        self.vm.accept([item.block_id for item in blocks], written=lambda _: None)


@pytest.fixture
def voters(sides: tuple[Side, Side], tmp_path: Path) -> tuple[Voter, Voter]:
    """Two nodes that have accepted the same proposal, which is not yet written."""
    homes = [tmp_path / side.chain.db.alias for side in sides]
    maker, _ = make_keys(homes, now=platform.NOW)
    first, second = (Voter(side, home, maker) for side, home in zip(sides, homes, strict=True))
    first.side.send(sides[0].staking())
    for height, after in ((1, 1), (2, 3 * DAY)):
        block = first.build(after)
        second.side.now = first.side.now
        for voter in (first, second):
            voter.accept(block)
            assert voter.vm.last_accepted() == block.block_id
            assert voter.side.chain.tip().height == 1
        assert (block.inner.proposal is not None) is (height == 2)
    return first, second


def decide(voter: Voter) -> list[bytes]:
    """Accept the preferred option and another block; return all written blocks, lowest first."""
    proposal = voter.vm.get_block(voter.vm.last_accepted())
    assert proposal is not None
    options = voter.vm.options(proposal)
    assert options is not None
    voter.accept(options[0])
    voter.side.send(voter.side.transfer())
    voter.accept(voter.build())
    return [raw for _, raw in voter.chain.accepted_since(0, 10)]


def test_decision_of_others_on_an_unwritten_proposal_is_accepted(
    voters: tuple[Voter, Voter],
) -> None:
    ahead, behind = voters
    raws = decide(ahead)
    accepted = behind.chain.accept(raws[1:])
    assert accepted.places[-1].height == 4
    assert behind.side.rows() == ahead.side.rows()
    assert behind.vm.last_accepted() == ahead.vm.last_accepted()


def test_alone_it_waits_for_its_option(voters: tuple[Voter, Voter]) -> None:
    ahead, behind = voters
    raws = decide(ahead)
    last = behind.vm.last_accepted()
    with pytest.raises(NotYet, match="option"):
        behind.chain.accept(raws[:2])
    assert behind.chain.accept(raws[:1]).places == ()
    assert behind.vm.last_accepted() == last
    assert behind.side.chain.tip().height == 1


@pytest.mark.parametrize("fetched", [False, True], ids=["nothing fetched", "fetched alone"])
async def test_node_with_unwritten_proposal_bootstraps_and_votes(
    voters: tuple[Voter, Voter], *, fetched: bool
) -> None:
    ahead, behind = voters
    proposal_id = await asyncio.to_thread(behind.vm.last_accepted)
    world = World()
    beacon = world.add("beacon", ahead.chain)  # type: ignore[arg-type]
    node = world.add(
        "node",
        behind.chain,  # type: ignore[arg-type]
        beacons=["beacon"],
        weight=1,
        take_part=await asyncio.to_thread(behind.take_part),
    )
    world.link(beacon, node)
    async with running(beacon, node):
        # No other voter is connected, so that neither option is decided.
        await until(lambda: reported(behind) == (proposal_id, [3, 3]))
        assert behind.runner is not None

        raws = await asyncio.to_thread(decide, ahead)
        if fetched:  # as if the frontier was the proposal, whose option was not yet known
            parsed = behind.chain.parse(raws[1])
            await asyncio.to_thread(behind.chain.keep_fetched, [parsed])
        beacon.engine.blocks_accepted("P")
        # A node that asks before the beacon has read its own blocks finds that it is not behind.
        await until(lambda: beacon.engine.line("P").last_accepted.place.height == 4)
        behind.runner.behind.set()

        tip = await asyncio.to_thread(ahead.vm.last_accepted)
        await until(lambda: reported(behind) == (tip, []))
    rows = [await asyncio.to_thread(voter.side.rows) for voter in (ahead, behind)]
    assert rows[0] == rows[1]


def reported(voter: Voter) -> tuple[ID | None, list[int]]:
    """Return the last accepted block of a voting node, and the heights of its processing blocks."""
    if voter.runner is None:
        return None, []
    report = voter.runner.report()
    return report.last_accepted, [block.height for block in report.processing]

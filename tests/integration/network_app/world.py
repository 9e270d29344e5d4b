"""Two nodes on one database: blocks of both chains are made, then removed and followed by the other node.

Each node has an identity and its outer blocks; the rows belong to one node at a time. Both use the same clock, which
does not advance unless a test lets time pass.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import pytest
from django.conf import settings

from cchain_app.apps import evm_runtime
from cchain_app.blocks.accepted import AcceptedBlock
from chaindb import clock, models
from chainvm.consensus import SoleConsensus
from network_app.chains.chain import NetworkChain
from network_app.node import NodeNetwork
from network_app.ports import AcceptResult
from network_app.proposervm.block import SignedBlock, build_signed, build_unsigned, parse
from network_app.proposervm.verification import Proposers
from platform_app.apps import platform_runtime
from platform_app.blocks.block import Block
from platform_app.chain import PlatformChain
from platform_app.config import DAY
from platform_app.services.runtime import PlatformRuntime
from primitives.ids import NodeID
from primitives.node_identity import NodeIdentity
from primitives.upgrades import OWN_NETWORK
from tests.builders.evm_chains import another_process, produce
from tests.builders.nodes import node
from tests.builders.process import restart_node
from tests.integration.conftest import Chain
from tests.integration.network_app import tables
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import validator

MAKER, FOLLOWER, STRANGER = (node(number).identity for number in range(3))
UPGRADES = OWN_NETWORK


class Wall:
    """A replacement of the module `time` with a wall clock that the test sets."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def time(self) -> float:
        return self.seconds


class ClockedPChain(PChain):
    """A P-Chain that uses the node's clock; setting its time moves the wall clock."""

    wall: Wall

    def __init__(self, wall: Wall) -> None:
        self.wall = wall
        super().__init__()

    @property
    def now(self) -> int:  # type: ignore[override]
        return clock.now()

    @now.setter
    def now(self, seconds: int) -> None:
        self.wall.seconds = seconds - clock.offset()


class Past(NamedTuple):
    """All outer blocks of a history, lowest first."""

    p: list[bytes]
    c: list[bytes]


class Chains(NamedTuple):
    """Both chains as a node's network uses them."""

    p: NetworkChain[Any]
    c: NetworkChain[Any]

    def connect_consensus(self) -> None:
        """Let this node make the blocks of both chains."""
        platform_runtime().decide_by(self.p.consensus)
        evm_runtime().decide_by(self.c.consensus)


def maker_alone(_height: int) -> Mapping[NodeID, int]:
    """Return the maker as the only proposer."""
    return {MAKER.node_id: 1}


class World:
    """The rows, the clock, and the node that makes blocks."""

    maker: Chains

    def __init__(self, p: ClockedPChain, c: Chain, wall: Wall) -> None:
        self.p = p
        self.c = c
        self.wall = wall
        self._genesis = tables.everything()
        self.begin_as(MAKER)

    def begin_as(self, identity: NodeIdentity) -> None:
        """Let a newly started node with this identity make the blocks."""
        self.maker = self.node(identity)
        self.maker.connect_consensus()

    def make_bare(self) -> None:
        """Make blocks without outer blocks from now on, as before these existed."""
        runtimes: tuple[Any, ...] = (platform_runtime(), evm_runtime())
        for runtime in runtimes:
            bare: SoleConsensus[Any] = SoleConsensus(
                lambda vm=runtime.vm: vm, lambda _: nullcontext()
            )
            runtime.decide_by(bare)

    def node(
        self,
        identity: NodeIdentity,
        proposers: Proposers = maker_alone,
        *,
        elsewhere: bool = False,
    ) -> Chains:
        """Return the chains of a node that has only the rows and an empty cache.

        Args:
            identity: The node's identity.
            proposers: The nodes that may propose blocks.
            elsewhere: Whether they belong to another process.
        """
        p, c = platform_runtime(), evm_runtime()
        if elsewhere:
            p, c = (
                PlatformRuntime(
                    PlatformChain(
                        settings.NODE.common, settings.NODE.platform, p.chain.db, p.chain.identity
                    )
                ),
                another_process(c.chain),
            )
        made = NodeNetwork(settings.NODE.common, settings.NODE.peers, p, [c], proposers)
        made.identity, made.upgrades = identity, UPGRADES
        made.producer.node_id = STRANGER.node_id
        return Chains(made.platform, made.chains["C"])

    def make_c(self, *values: int, after: int = 1) -> AcceptedBlock:
        """Make a block of the C-Chain with transfers of these values, `after` seconds later."""
        self.wall.seconds += after
        if values:
            self.c.send(*(self.c.make(value=value) for value in values))
        block = produce(evm_runtime(), now=clock.now(), allow_empty=True)
        assert block is not None
        return block

    def make_p(self, after: int = 1) -> Block:
        """Make a block of the P-Chain with a transfer, `after` seconds later."""
        self.p.issue(self.p.make())
        (block,) = self.p.wait(after)
        return block

    def make_history(self) -> None:
        """Make blocks of all kinds on both chains, over several epochs, including one proposal."""
        self.make_c(1, 2)
        self.make_p()
        self.make_c()
        self.p.do(validator(self.p, "node", end=30 * DAY))
        for value in range(3):
            self.make_p(after=20)
            self.make_c(value, after=20)
        self.p.wait(40 * DAY)
        self.make_p()
        self.make_c(4)

    def hand_over(self) -> Past:
        """Return all outer blocks, and reset the rows to those of a node without any blocks."""
        blocks = Past(raws(self.maker.p), raws(self.maker.c))
        self.made = tables.alike()
        self.clear()
        return blocks

    def clear(self) -> None:
        """Remove all blocks; the wall clock keeps its time."""
        tables.put_back(self._genesis)
        models.Clock.objects.all().delete()
        restart_node()
        self.begin_as(MAKER)
        self.p._spent.clear()
        self.c.nonce = 0


def tip(chain: NetworkChain[Any]) -> Any:
    """Return the chain's last accepted inner block."""
    vm = chain.vm.inner
    return vm.get_block(vm.last_accepted())


def raws(chain: NetworkChain[Any]) -> list[bytes]:
    """Return all outer blocks of a chain, lowest first."""
    top = chain.last_accepted()
    found = chain.ancestors(top.block_id, count=10**6, size=1 << 40, seconds=60)
    return found[::-1] if top.height else []


def follow(chain: NetworkChain[Any], blocks: Sequence[bytes]) -> AcceptResult:
    """Accept blocks of the history in one call."""
    return chain.accept(blocks)


def forged(
    chain: NetworkChain[Any],
    raw: bytes,
    *,
    by: NodeIdentity | None = MAKER,
    certificate: bytes | None = None,
    **changes: Any,
) -> bytes:
    """Return a block with changed fields, signed again by a node, or unsigned.

    Args:
        chain: The chain of the block.
        raw: The block.
        by: The node whose key signs.
        certificate: The certificate of the claimed signer, if it is another node.
        changes: The changed fields.
    """
    block = parse(raw)
    assert isinstance(block, SignedBlock)
    names = ("parent_id", "time", "p_chain_height", "epoch", "inner")
    fields = {name: getattr(block, name) for name in names} | changes
    if by is None:
        return build_unsigned(**fields).raw
    der = certificate or by.certificate_der
    return build_signed(**fields, chain_id=chain.chain_id, certificate=der, key=by.tls_key).raw


def refusal(refused: type[Exception], chain: NetworkChain[Any], *blocks: bytes) -> Any:
    """Return the error with which blocks are rejected."""
    with pytest.raises(refused) as caught:
        follow(chain, blocks)
    return caught.value

"""A chain wrapped in outer blocks, with all its parts, for tests of the proposer VM."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chainvm.port import BlockContext
from network_app.proposervm.building import BlockSigner
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from primitives.ids import ID, NodeID
from tests.builders.chain_vm import (
    OuterBlocksInMemory,
    TextBlock,
    TextVM,
)
from tests.builders.outer_blocks import ALICE, CHAIN, NOW, Node


@dataclass
class Validators:
    """A validator set that is the same at all heights."""

    weights: dict[NodeID, int] = field(default_factory=lambda: {ALICE.node_id: 1})
    height: int = 7

    def current_height(self) -> int:
        return self.height

    def minimum_height(self, now: int) -> int:
        del now
        return self.height

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        del height
        return self.weights


@dataclass
class Setup:
    """The chain of a node: its proposer VM, inner VM, outer blocks and validators."""

    inner: TextVM = field(default_factory=TextVM)
    validators: Validators = field(default_factory=Validators)
    node: Node = ALICE

    def __post_init__(self) -> None:
        self.rows = OuterBlocksInMemory(self.inner)
        self.restart()

    def restart(self) -> None:
        self.inner.tree.reset(self.inner.accepted[-1].block_id, None)
        self.vm: ProposerVM[TextBlock] = ProposerVM(
            self.inner,
            self.rows,
            self.validators,
            node_id=self.node.node_id,
            signature=BlockSigner(CHAIN, self.node.certificate, self.node.key),
        )

    def build(self, *texts: str, now: int = NOW) -> list[ProposerBlock[TextBlock]]:
        """Build consecutive blocks, one per text."""
        found = []
        for text in texts:
            self.inner.waiting = [text]
            block = self.vm.build(BlockContext(now))
            assert block is not None
            self.vm.set_preference(block.block_id)
            found.append(block)
        return found

    def accept(self, *blocks: ProposerBlock[TextBlock]) -> list[ID]:
        """Accept blocks and return the IDs of the written ones."""
        written: list[ID] = []
        self.vm.accept([block.block_id for block in blocks], written=written.append)
        return written


def other(setup: Setup, node: Node = ALICE) -> Setup:
    """Return another node that has accepted the same blocks."""
    found = Setup(TextVM(list(setup.inner.accepted)), setup.validators, node)
    found.rows.blocks += setup.rows.blocks
    found.restart()
    return found

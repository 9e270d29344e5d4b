"""What the proposer VM is given: who validates, and where accepted outer blocks are kept."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from network_app.proposervm.block import OuterBlock
from network_app.proposervm.verification import ParentFacts
from primitives.ids import ID, NodeID


class Proposal(NamedTuple):
    """What an outer block says of who proposed it, and when."""

    proposer: NodeID | None = None
    """Who signed it; None: nobody."""
    slot: int = 0
    """Of those that begin with its parent's time."""
    time: int | None = None
    """Unix seconds; options have none of their own."""


class ValidatorState(Protocol):
    """What blocks ask of the P-Chain, by its accepted heights."""

    def current_height(self) -> int:
        """Return the height of the last accepted P-Chain block."""

    def minimum_height(self, now: int) -> int:
        """Return a height that every node has by now (Unix seconds): the one that blocks name."""

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of those who may propose as of a height.

        Raises:
            HeightNotReached: It is above the last accepted one.
        """


class OuterBlocks(Protocol):
    """The accepted outer blocks of one chain, where they are kept."""

    def went_back(self) -> bool:
        """Say whether they were replaced by earlier ones since the last time: blocks may be others by now."""

    def last(self) -> ParentFacts:
        """Return what a child of the last accepted block needs to know of it."""

    def id_at(self, height: int) -> ID | None:
        """Return the accepted block at a height; genesis is bare."""

    def raw(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; None where it is not accepted, or genesis."""

    def write(self, blocks: Sequence[tuple[OuterBlock, int]]) -> None:
        """Store blocks with their heights, in the transaction in which the blocks inside are accepted.

        Raises:
            HeadMoved: They went back since somebody asked for that.
        """

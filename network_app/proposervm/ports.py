"""Interfaces that the proposer VM uses: the validators, and the storage of accepted outer blocks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from network_app.proposervm.block import OuterBlock
from network_app.proposervm.verification import ParentContext
from primitives.ids import ID, NodeID


class Proposal(NamedTuple):
    """The proposer, slot and timestamp of an outer block."""

    proposer: NodeID | None = None
    """The signer; None: unsigned."""
    slot: int = 0
    """Number of the slot, counted from the parent's timestamp."""
    time: int | None = None
    """Unix seconds; options have no timestamp of their own."""


class ValidatorState(Protocol):
    """The P-Chain's validators by accepted height."""

    def current_height(self) -> int:
        """Return the height of the last accepted P-Chain block."""

    def minimum_height(self, now: int) -> int:
        """Return a height that every node has reached by `now` (Unix seconds), for use in new blocks."""

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of the validators that may propose as of a height.

        Raises:
            OuterBlockTooEarly: The height is above the last accepted one.
        """


class OuterBlocks(Protocol):
    """Storage of the accepted outer blocks of one chain."""

    def was_rewound(self) -> bool:
        """Return whether the chain was rewound since the last call, so that blocks may have changed."""

    def last(self) -> ParentContext:
        """Return the facts about the last accepted block that its child is verified against."""

    def id_at(self, height: int) -> ID | None:
        """Return the ID of the accepted block at a height; genesis has no outer block."""

    def raw(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; None if it is not accepted, or genesis."""

    def write(self, blocks: Sequence[tuple[OuterBlock, int]]) -> None:
        """Store blocks with their heights, in the transaction that accepts their inner blocks.

        Raises:
            HeadMoved: The chain was rewound since the last call of `was_rewound`.
        """

"""The virtual machine (VM) of a chain, as consensus sees it.

The names are those of the reference (snowman.md 8.8). Consensus uses only these methods of a chain, and a
chain knows nothing about consensus. The caller must serialise all calls to one chain.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, Self, TypeVar

from primitives.ids import ID


class Block(Protocol):
    """A parsed block of any chain."""

    @property
    def block_id(self) -> ID:
        """The block's hash, which identifies it."""

    @property
    def parent_id(self) -> ID:
        """The ID of the preceding block."""

    @property
    def height(self) -> int:
        """The parent's height plus one; genesis has height 0."""

    @property
    def raw(self) -> bytes:
        """The block's bytes, from which `parse` recreates the block."""


B = TypeVar("B", bound=Block)

MILLISECONDS: Final = 1_000
"""Milliseconds in a second."""


class BlockContext(NamedTuple):
    """The values outside of a chain on which the validity of its blocks depends."""

    now: int
    """The node's time in Unix seconds: no block may be far ahead of it."""
    p_chain_height: int | None = None
    """The P-Chain height whose validators sign for the block (warp messages, p2p.md 11.4).

    None if the block has no such height: consensus does not know it, the proposer VM adds it
    (`proposervm.verification.inner_p_chain_height`). A node that decides alone takes the height that
    its P-Chain has reached."""
    decided: bool = False
    """Whether the network has accepted the block already. Then it may import outputs whose export this node has not
    executed yet, because the chains do not catch up at the same pace."""
    voted: bool = False
    """Whether nodes vote on the block, whose P-Chains differ in height: what depends on one needs `p_chain_height` then."""
    fraction: int = 0
    """Milliseconds that have passed since the beginning of the second `now`: coreth and subnet-evm have such times in their
    headers. A node that decides alone builds its blocks at whole seconds."""

    @classmethod
    def at(cls, milliseconds: int, *, decided: bool = False) -> Self:
        """Return the context at a time in Unix milliseconds."""
        now, fraction = divmod(milliseconds, MILLISECONDS)
        return cls(now, decided=decided, fraction=fraction)

    @property
    def milliseconds(self) -> int:
        """The node's time in Unix milliseconds."""
        return self.now * MILLISECONDS + self.fraction

    def fraction_of(self, time: int) -> int:
        """Return the milliseconds of a new block's time in Unix seconds, which is `now`, or the parent's if that is later."""
        return self.fraction if time == self.now else 0

    @property
    def lacks_height(self) -> bool:
        """Whether nodes could disagree on a block with warp messages, because it has no P-Chain height."""
        return self.voted and self.p_chain_height is None


class HeadMoved(Exception):
    """Another process has accepted a block in the meantime; the blocks processing here are discarded."""


Written = Callable[[ID], None]
"""Called for each accepted block inside the transaction that stores it, before any block's rows are written.

No other process can write to the chain during the call. An exception from it undoes the acceptance."""


class ChainVM(Protocol[B]):
    """One chain: verifies blocks and stores the accepted ones. Its methods block, so call them in threads."""

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID."""

    def get_block(self, block_id: ID) -> B | None:
        """Return a processing or accepted block; None for any other."""

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the ID of the accepted block at a height; None above the last accepted block."""

    def parse(self, raw: bytes) -> B:
        """Parse a block without reading the state.

        Raises:
            InvalidBlock: By a subclass of the chain: the bytes are not a block.
        """

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> B | None:
        """Build and verify a block on the preferred block, and make it processing.

        Return None if there is nothing to put into the block.

        Args:
            context: The context in which every node will verify the block, with this node's time.
            allow_empty: Also build a block without transactions, if the chain's rules allow that.

        Raises:
            HeadMoved: Another process has accepted a block in the meantime.
        """

    def builds_from(self, milliseconds: int) -> int | None:
        """Return the time from which the chain's rules allow a block on the preferred one, in Unix milliseconds.

        None: never, by the present rules.

        Args:
            milliseconds: The node's time in Unix milliseconds; the result is not before it.
        """

    def verify(self, block: B, context: BlockContext) -> None:
        """Verify a block on its parent, which may itself be undecided, and make the block processing.

        Nothing is written. For a block that is already processing nothing is left to do.

        Args:
            block: As `parse` returned it.
            context: The block's context.

        Raises:
            UnknownParent: Its parent is neither processing nor the last accepted block.
            InvalidBlock: By a subclass of the chain: the block breaks a rule and is not processing.
            HeadMoved: Another process has accepted a block in the meantime.
        """

    def verify_all(self, blocks: Sequence[B], contexts: Sequence[BlockContext]) -> None:
        """Verify a run of consecutive blocks like `verify`: either all of them become processing, or none.

        Shared reads are batched. Use it for a run of blocks that are already decided, as in bootstrapping.

        Args:
            blocks: The blocks.
            contexts: The context of each block.

        Raises:
            UnknownParent: The first block's parent is neither processing nor the last accepted block.
            InvalidBlock: By a subclass of the chain: one of the blocks breaks a rule.
        """

    def options(self, block: B) -> tuple[B, B] | None:
        """Return the two options of a proposal block, one of which must follow it, the preferred one first.

        Return None for a block that is not a proposal.
        """

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on: a processing block or the last accepted one."""

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept consecutive processing blocks, the first of which follows the last accepted block.

        All of them or none, in one transaction. Conflicting blocks are rejected. State in memory and
        notifications are updated after the commit.

        Args:
            block_ids: In order of height; a proposal comes with its option.
            written: Writes data that belongs to each block but is stored elsewhere, in the same transaction.

        Raises:
            NotProcessing: A block is not processing, or does not follow the block before it.
            HeadMoved: Another process has accepted a block in the meantime.
        """

    def reject(self, block_id: ID) -> None:
        """Discard a processing block and its descendants, and return their transactions to the pool.

        Raises:
            NotProcessing: The block is not processing.
        """

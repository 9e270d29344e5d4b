"""The virtual machine of a chain as consensus sees it.

The words are the reference's (snowman.md 8.8): whoever decides asks a chain for these things and nothing
else, and a chain knows nothing of who decides. All calls of one chain are serial: the caller sees to it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from primitives.ids import ID


class Block(Protocol):
    """A block of any chain, parsed: what it says of itself."""

    @property
    def block_id(self) -> ID:
        """The hash by which it is known."""

    @property
    def parent_id(self) -> ID:
        """The block that it follows."""

    @property
    def height(self) -> int:
        """One more than its parent's; genesis has 0."""

    @property
    def raw(self) -> bytes:
        """Its bytes, of which `parse` makes the same block."""


B = TypeVar("B", bound=Block)


class HeadMoved(Exception):
    """Another process has accepted a block meanwhile: what was processing here is forgotten."""


Written = Callable[[ID], None]
"""Called for each accepted block inside the transaction that stores it, before any block's rows are written.

Nobody else can write to the chain then. What it raises undoes the acceptance."""


class ChainVM(Protocol[B]):
    """One chain: it judges blocks and keeps what became of them. Blocking: for threads."""

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID."""

    def get_block(self, block_id: ID) -> B | None:
        """Return a processing or an accepted block; None for one that is neither."""

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted one."""

    def parse(self, raw: bytes) -> B:
        """Read a block without looking at the state.

        Raises:
            InvalidBlock: By the chain's own class: the bytes are none.
        """

    def build(self, *, now: int, allow_empty: bool = False) -> B | None:
        """Build a block on the preferred one, verified already, and make it processing.

        None when there is nothing to put into it.

        Args:
            now: The node's time in Unix seconds.
            allow_empty: Build one without transactions too, where the chain's rules allow that.

        Raises:
            HeadMoved: Another process has accepted a block meanwhile.
        """

    def verify(self, block: B, *, now: int) -> None:
        """Verify a block on its parent, which may be undecided itself; from then on it is processing.

        Nothing is written. A block that is processing already is verified.

        Args:
            block: As `parse` returned it.
            now: The node's time in Unix seconds.

        Raises:
            UnknownParent: Its parent is neither processing nor the last accepted block.
            InvalidBlock: By the chain's own class: it breaks a rule. It is not processing.
            HeadMoved: Another process has accepted a block meanwhile.
        """

    def verify_all(self, line: Sequence[B], *, now: int) -> None:
        """Verify blocks that follow each other, as `verify` does: all of them become processing, or none.

        What they have in common is read once, so it is for who has a line of blocks that are decided.

        Raises:
            UnknownParent: The first one's parent is neither processing nor the last accepted block.
            InvalidBlock: By the chain's own class: one of them breaks a rule.
        """

    def options(self, block: B) -> tuple[B, B] | None:
        """Return the two blocks of which one must follow a proposal, the preferred one first.

        None of a block that is no proposal.
        """

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on: a processing one, or the last accepted one."""

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept processing blocks that follow the last accepted one and each other.

        All or none of them, in one transaction. Their rivals are rejected. Memory and notifications
        move after the commit.

        Args:
            block_ids: In order of height; a proposal comes with its option.
            written: Writes what belongs to each block elsewhere, in the same transaction.

        Raises:
            NotProcessing: One is not, or does not follow the one before it.
            HeadMoved: Another process has accepted a block meanwhile.
        """

    def reject(self, block_id: ID) -> None:
        """Forget a processing block and all that follow it, and offer their transactions to the pool.

        Raises:
            NotProcessing: It is not.
        """

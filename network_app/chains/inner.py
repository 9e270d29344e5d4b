"""What the network asks of a chain, in words of the chain's own blocks. Blocking: for threads."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from primitives.ids import ID


class InnerBlock(NamedTuple):
    """A chain's own block: accepted, or read from bytes and not verified."""

    height: int
    block_id: ID
    parent_id: ID
    time: int | None
    """Unix seconds; None of blocks that name none."""
    raw: bytes
    is_option: bool = False
    """An accepted commit or abort: nobody proposes it, and nobody signs it."""
    options: tuple[ID, ...] = ()
    """Of a proposal that was read from bytes: commit and abort. It is accepted with one of them."""
    parsed: object = None
    """What the chain itself reads in the bytes; None of accepted blocks, and where only the head is."""


class InnerTip(NamedTuple):
    """The last accepted block."""

    height: int
    block_id: ID


class Unreadable(Exception):
    """Bytes that are no block of the chain; the message says why."""


class Refused(Exception):
    """A block that breaks a rule of the chain; the message says which."""


Beside = Callable[[ID], None]
"""Called with a block's ID inside the transaction in which it is accepted."""


class InnerChain(Protocol):
    """A chain of this node."""

    alias: str
    chain_id: ID

    def genesis(self) -> InnerBlock:
        """Return block 0."""

    def tip(self) -> InnerTip:
        """Return the last accepted block."""

    def blocks(self, first: int, last: int, size: int) -> list[InnerBlock]:
        """Return accepted blocks from a height to another, also downwards.

        They end before their bytes together pass `size`; the first is there however large.
        """

    def glance(self, raw: bytes) -> InnerBlock:
        """Read what places a block in its chain, and no more than that: the rest may be anything.

        What it costs is bounded, and little beside what `parse` may cost.

        Raises:
            Unreadable: It is none.
        """

    def parse(self, seen: InnerBlock) -> InnerBlock:
        """Read the rest of a block that was glanced at, without looking at the state.

        Raises:
            Unreadable: It is none.
        """

    def accept(self, blocks: Sequence[InnerBlock], *, now: int, beside: Beside) -> int:
        """Verify, execute and accept blocks in one transaction: all or none. Returns transactions.

        Blocks are as `parse` returned them, proposals with their options. Those that are accepted
        already may be passed over; `beside` is not called for them.

        Raises:
            Refused: One breaks a rule.
        """

    def request_block(self) -> None:
        """Wake the maker of blocks: what waits may have become this node's to put into one."""

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of transactions that wait, newest last."""

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' bytes."""

    def transaction_id(self, raw: bytes) -> ID:
        """Return the ID by which a transaction is known."""

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Take transactions in as their issue method does, or say why not."""

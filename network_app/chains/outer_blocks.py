"""The outer blocks of a chain's accepted blocks, stored as rows; the inner blocks are in the chain's own rows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from chaindb import generation
from chaindb.database import Database
from chainvm.port import HeadMoved
from network_app.ports import BlockRef
from network_app.proposervm.block import OuterBlock, SignedBlock, encode_option, encode_signed
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.verification import ParentContext, of_genesis
from network_app.store import outer
from network_app.store.outer import Wrapping
from primitives.ids import ID, NodeID

HIGHEST = (1 << 63) - 1
"""Highest height that fits into a column."""


def _the_beginning() -> int:
    """Return the height of a genesis block."""
    return 0


class UnwrappedBlock(NamedTuple):
    """An accepted block of a chain, without its outer block."""

    height: int
    block_id: ID
    time: int
    """Unix seconds; chain time for blocks that have no time of their own."""
    raw: bytes
    is_option: bool = False
    """Whether the block is a commit or an abort, which has no proposer and no signature."""


AcceptedBlocks = Callable[[int, int, int], list[UnwrappedBlock]]
"""Returns a chain's accepted blocks between two heights, also in descending order.

The list ends before the total size exceeds the third argument; the first block is always included.
"""


class OuterRows:
    """`proposervm.ports.OuterBlocks` in this node's database. Threads share it; reads never write.

    Args:
        db: The database, which also has the inner blocks.
        alias: The chain's name, such as "P" or "C".
        blocks: Reads the inner blocks.
        first: Returns the height of the first block, which has no outer block: 0, or the fork block of a fork.
    """

    def __init__(
        self,
        db: Database,
        alias: str,
        blocks: AcceptedBlocks,
        first: Callable[[], int] = _the_beginning,
    ) -> None:
        self.db = db
        self.alias = alias
        self.blocks = blocks
        self._first = first
        self._genesis: UnwrappedBlock | None = None
        self._last: ParentContext | None = None
        """Facts of the last block at the latest access; the facts of a block never change."""
        self._known: set[NodeID] = set()
        """Nodes whose certificates are stored."""
        self._generation: int | None = None
        """Number of rollbacks of the rows as of the latest access."""

    @property
    def genesis(self) -> UnwrappedBlock:
        """The first block, which has no outer block."""
        found = self._genesis
        if found is None:
            first = self._first()
            found = self._genesis = self.blocks(first, first, 1)[0]
        return found

    def was_rewound(self) -> bool:
        """Return whether the rows were rolled back since the last call; if so, discard the cached values."""
        before, self._generation = self._generation, generation.number(self.db)
        if before in (None, self._generation):
            return False
        self._last, self._known = None, set()
        return True

    def tip(self) -> BlockRef:
        """Return height and ID of the last accepted block. One statement."""
        return outer.tip(self.db, self.alias) or BlockRef(
            self.genesis.height, self.genesis.block_id
        )

    def last(self) -> ParentContext:
        """Return the facts of the last accepted block for verifying its child. Usually one statement."""
        tip, known = self.tip(), self._last
        if known is None or known.outer_id != tip.block_id:
            known = self._last = self._facts(tip)
        return known

    def id_at(self, height: int) -> ID | None:
        """Return the ID of the accepted block at a height; genesis has no outer block."""
        return self.ids_at([height])[0]

    def ids_at(self, heights: Sequence[int]) -> list[ID | None]:
        """Return the IDs of the accepted blocks at these heights."""
        genesis = self.genesis
        rows = [height for height in heights if genesis.height < height <= HIGHEST]
        found = outer.ids_at(self.db, self.alias, rows)
        return [
            genesis.block_id if 0 <= item <= genesis.height else found.get(item) for item in heights
        ]

    def heights_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        """Return the heights of these blocks, None for those that are not accepted."""
        found = outer.heights_of(self.db, self.alias, block_ids)
        found[self.genesis.block_id] = self.genesis.height
        return [found.get(block_id) for block_id in block_ids]

    def raw(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; None if it is not accepted, or is genesis."""
        (height,) = self.heights_of([block_id])
        bare = height is None or height <= self.genesis.height
        return None if height is None or bare else self.raws(height, height, 1)[0][1]

    def raws(self, first: int, last: int, size: int) -> list[tuple[BlockRef, bytes]]:
        """Return blocks between two heights, also in descending order, like `AcceptedBlocks`.

        Both heights are above 0, because genesis has no outer block, and at most the last accepted height.
        """
        blocks = self.blocks(first, last, size)
        if not blocks:
            return []
        low, high = sorted((blocks[0].height, blocks[-1].height))
        found = {item.height: item for item in outer.between(self.db, self.alias, low - 1, high)}
        return [(found[block.height].ref, self._raw(block, found)) for block in blocks]

    def write(self, blocks: Sequence[tuple[OuterBlock, int]]) -> None:
        """Store blocks with their heights, in the transaction in which the inner blocks are accepted.

        Raises:
            HeadMoved: The rows were rolled back after the blocks were built or verified. Their parent may be
                the head again, but the data that they build on has been removed.
        """
        if self._generation is not None and self._generation != generation.number(self.db):
            raise HeadMoved
        wrappings = [wrapping_of(block, height) for block, height in blocks]
        # Certificates stored by this transaction count as known only after its commit.
        self._known |= outer.add(self.db, self.alias, wrappings, self._known)

    def forget_above(self, height: int) -> None:
        """Delete the blocks above a height, in the transaction in which their inner blocks are deleted."""
        outer.delete_above(self.db, self.alias, height)
        self._last = None
        if self._genesis is not None and height < self._genesis.height:
            self._genesis = None

    def _facts(self, ref: BlockRef) -> ParentContext:
        if ref.height == self.genesis.height:
            return of_genesis(ref.block_id, self.genesis.time, ref.height)
        found = outer.between(self.db, self.alias, ref.height - 1, ref.height)
        last = found[-1]
        # An option has no time; its proposal, directly before it, has one.
        timed = last if last.time is not None else found[0]
        inner = self.blocks(ref.height, ref.height, 1)[0]
        return ParentContext(
            ref.block_id,
            inner.block_id,
            ref.height,
            timed.time or 0,
            timed.p_chain_height,
            _epoch(timed),
        )

    def _raw(self, block: UnwrappedBlock, found: dict[int, Wrapping]) -> bytes:
        parent = found.get(block.height - 1)
        parent_id = self.genesis.block_id if parent is None else parent.block_id
        return raw_of(found[block.height], parent_id, block.raw)


def wrapping_of(block: OuterBlock, height: int) -> Wrapping:
    """Return the stored fields of an outer block."""
    if not isinstance(block, SignedBlock):
        nothing = (None, None, None, None, None)
        return Wrapping(height, block.outer_id, block.kind, *nothing, None, b"", b"")
    epoch = block.epoch
    return Wrapping(
        height,
        block.outer_id,
        block.kind,
        block.time,
        block.p_chain_height,
        None if epoch is None else epoch.p_chain_height,
        None if epoch is None else epoch.number,
        None if epoch is None else epoch.start_time,
        block.proposer,
        block.signature,
        block.certificate,
    )


def raw_of(wrapping: Wrapping, parent_id: ID, inside: bytes) -> bytes:
    """Return an outer block's bytes, exactly as they were before they were stored."""
    if wrapping.time is None:
        return encode_option(parent_id, inside)
    return encode_signed(
        parent_id,
        wrapping.time,
        wrapping.p_chain_height or 0,
        _epoch(wrapping),
        inside,
        certificate=wrapping.certificate,
        signature=wrapping.signature,
    )


def _epoch(wrapping: Wrapping) -> Epoch | None:
    height, number, start = wrapping.epoch_height, wrapping.epoch_number, wrapping.epoch_start
    if height is None or number is None or start is None:
        return None
    return Epoch(height, number, start)

"""The outer blocks of a chain's accepted blocks as rows have them; what is inside stands in the chain's own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from chaindb import generation
from chaindb.database import Database
from chainvm.port import HeadMoved
from network_app.ports import BlockRef
from network_app.proposervm.block import OuterBlock, SignedBlock, encode_option, encode_signed
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.verification import ParentFacts, of_genesis
from network_app.store import outer
from network_app.store.outer import Wrapping
from primitives.ids import ID, NodeID

HIGHEST = (1 << 62) - 1
"""Of heights that the rows' keys have room for."""


def _the_beginning() -> int:
    """Return the height of a genesis block."""
    return 0


class AcceptedBlock(NamedTuple):
    """An accepted block of a chain, without its outer block."""

    height: int
    block_id: ID
    time: int
    """Unix seconds; chain time of blocks that name none."""
    raw: bytes
    is_option: bool = False
    """A commit or an abort: nobody proposes it, and nobody signs it."""


AcceptedBlocks = Callable[[int, int, int], list[AcceptedBlock]]
"""Returns a chain's accepted blocks from a height to another, also downwards.

They end before their bytes together pass the third argument; the first is there however large.
"""


class OuterRows:
    """`proposervm.ports.OuterBlocks` in this node's database. Threads share it; it never writes when asked.

    Args:
        db: Where the blocks inside are, too.
        alias: Of the chain, "P" or "C".
        blocks: Reads the blocks inside.
        first: Says the height of the first block, which is bare: 0, or where a fork goes on from another chain.
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
        self._genesis: AcceptedBlock | None = None
        self._last: ParentFacts | None = None
        """Of the block that was last when somebody asked; facts of a block never change."""
        self._known: set[NodeID] = set()
        """Whose certificates are stored."""
        self._generation: int | None = None
        """How often the rows had gone back when somebody asked."""

    @property
    def genesis(self) -> AcceptedBlock:
        """The first block, which is bare."""
        found = self._genesis
        if found is None:
            first = self._first()
            found = self._genesis = self.blocks(first, first, 1)[0]
        return found

    def went_back(self) -> bool:
        """Say whether the rows were replaced by earlier ones since the last time; then forget what was read."""
        before, self._generation = self._generation, generation.number(self.db)
        if before in (None, self._generation):
            return False
        self._last, self._known = None, set()
        return True

    def place(self) -> BlockRef:
        """Return where the last accepted block stands. One statement."""
        return outer.tip(self.db, self.alias) or BlockRef(
            self.genesis.height, self.genesis.block_id
        )

    def last(self) -> ParentFacts:
        """Return what a child of the last accepted block needs to know of it. Mostly one statement."""
        place, known = self.place(), self._last
        if known is None or known.outer_id != place.block_id:
            known = self._last = self._facts(place)
        return known

    def id_at(self, height: int) -> ID | None:
        """Return the accepted block at a height; genesis is bare."""
        return self.ids_at([height])[0]

    def ids_at(self, heights: Sequence[int]) -> list[ID | None]:
        """Return the accepted blocks at these heights."""
        genesis = self.genesis
        rows = [height for height in heights if genesis.height < height <= HIGHEST]
        found = outer.ids_at(self.db, self.alias, rows)
        return [
            genesis.block_id if 0 <= one <= genesis.height else found.get(one) for one in heights
        ]

    def heights_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        """Return the heights of those of these blocks that are accepted."""
        found = outer.heights_of(self.db, self.alias, block_ids)
        found[self.genesis.block_id] = self.genesis.height
        return [found.get(block_id) for block_id in block_ids]

    def raw(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; None where it is not accepted, or genesis."""
        (height,) = self.heights_of([block_id])
        bare = height is None or height <= self.genesis.height
        return None if height is None or bare else self.raws(height, height, 1)[0][1]

    def raws(self, first: int, last: int, size: int) -> list[tuple[BlockRef, bytes]]:
        """Return blocks from a height to another, also downwards, as `AcceptedBlocks` does.

        Both are above 0 and not above the last accepted block: genesis is bare.
        """
        blocks = self.blocks(first, last, size)
        if not blocks:
            return []
        low, high = sorted((blocks[0].height, blocks[-1].height))
        found = {one.height: one for one in outer.between(self.db, self.alias, low - 1, high)}
        return [(found[one.height].place, self._raw(one, found)) for one in blocks]

    def write(self, blocks: Sequence[tuple[OuterBlock, int]]) -> None:
        """Store blocks with their heights, in the transaction in which the blocks inside are accepted.

        Raises:
            HeadMoved: The rows went back after the blocks were built or verified. Their parent may be the
                head again, but what they have was not there yet.
        """
        if self._generation is not None and self._generation != generation.number(self.db):
            raise HeadMoved
        wrappings = [wrapping_of(block, height) for block, height in blocks]
        # What this transaction stores itself is not known before it is committed.
        self._known |= outer.add(self.db, self.alias, wrappings, self._known)

    def forget_above(self, height: int) -> None:
        """Delete the blocks above a height, in the transaction in which those inside are deleted."""
        outer.delete_above(self.db, self.alias, height)
        self._last = None
        if self._genesis is not None and height < self._genesis.height:
            self._genesis = None

    def _facts(self, place: BlockRef) -> ParentFacts:
        if place.height == self.genesis.height:
            return of_genesis(place.block_id, self.genesis.time, place.height)
        found = outer.between(self.db, self.alias, place.height - 1, place.height)
        last = found[-1]
        # An option has no time: its proposal, right before it, has.
        timed = last if last.time is not None else found[0]
        inner = self.blocks(place.height, place.height, 1)[0]
        return ParentFacts(
            place.block_id,
            inner.block_id,
            place.height,
            timed.time or 0,
            timed.p_chain_height,
            _epoch(timed),
        )

    def _raw(self, one: AcceptedBlock, found: dict[int, Wrapping]) -> bytes:
        parent = found.get(one.height - 1)
        parent_id = self.genesis.block_id if parent is None else parent.block_id
        return raw_of(found[one.height], parent_id, one.raw)


def wrapping_of(block: OuterBlock, height: int) -> Wrapping:
    """Return what is stored of an outer block."""
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
    """Return an outer block's bytes, the very ones that were stored."""
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

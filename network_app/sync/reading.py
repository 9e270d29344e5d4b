"""Parses and checks a peer's answer to GetAncestors. Pure but for `Chain.parse`."""

from collections.abc import Sequence
from typing import NamedTuple

from network_app.ports import AcceptedChain, InvalidBlock, ParsedBlock
from network_app.sync.errors import (
    AncestryReason,
    BadAncestors,
    BlockRefused,
    ImpossibleHeight,
)
from primitives.ids import ID


class Ancestry(NamedTuple):
    """Blocks, each the parent of the one before, and the fault of the first bad one."""

    blocks: list[ParsedBlock]
    fault: BadAncestors | BlockRefused | ImpossibleHeight | None


def read_ancestry(
    chain: AcceptedChain, containers: Sequence[bytes], wanted: ID, floor: int, height: int | None
) -> Ancestry:
    """Parse a block and its ancestors as long as they are valid, down to the height above `floor`.

    Blocking: call it in a thread. IDs are hashes, so blocks linked by parent IDs were not forged in transit.
    `height` is the first block's height if it is known.
    """
    blocks: list[ParsedBlock] = []
    for raw in containers:
        expected = blocks[-1].height - 1 if blocks else height
        try:
            block = _read(chain, raw, blocks[-1] if blocks else None, wanted, expected)
        except (BadAncestors, BlockRefused) as fault:
            return Ancestry(blocks, fault)
        if expected is not None and block.height != expected:
            return Ancestry(blocks, ImpossibleHeight(block.block_id, block.height, expected))
        blocks.append(block)
        if block.height <= floor + 1:
            break
    return Ancestry(blocks, None)


def _read(
    chain: AcceptedChain, raw: bytes, child: ParsedBlock | None, wanted: ID, height: int | None
) -> ParsedBlock:
    try:
        block = chain.parse(raw)
    except InvalidBlock as error:
        if not error.spoiled and error.block_id == (wanted if child is None else child.parent_id):
            # It is the requested block, but cannot be parsed here, whichever peer sends it.
            unread = InvalidBlock(error.block_id, error.height or height, error.reason)
            raise BlockRefused(unread) from error
        raise BadAncestors(AncestryReason.UNPARSABLE, cause=error.reason) from error
    if child is None and block.block_id != wanted:
        raise BadAncestors(AncestryReason.OTHER_BLOCK, wanted=wanted, actual=block.block_id)
    if child is not None and block.block_id != child.parent_id:
        raise BadAncestors(
            AncestryReason.NOT_THE_PARENT, parent_id=child.parent_id, actual=block.block_id
        )
    return block

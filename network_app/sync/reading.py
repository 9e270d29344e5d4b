"""Reads what a peer answered to GetAncestors, and finds what is wrong with it. Pure but for `Chain.parse`."""

from collections.abc import Sequence
from typing import NamedTuple

from network_app.ports import AcceptedChain, InvalidBlock, ParsedBlock
from network_app.sync.errors import (
    BadAncestors,
    BlockRefused,
    BrokenAncestry,
    UnreadableBlock,
    WrongBlock,
    WrongHeight,
)
from primitives.ids import ID


class Ancestry(NamedTuple):
    """Blocks each of which is the parent of the one before, and what was wrong with the next."""

    blocks: list[ParsedBlock]
    fault: BadAncestors | BlockRefused | WrongHeight | None


def read_ancestry(
    chain: AcceptedChain, containers: Sequence[bytes], wanted: ID, floor: int, height: int | None
) -> Ancestry:
    """Read a block and its ancestors as long as they are right, down to right above a height.

    Blocking: for a thread. IDs are hashes, so blocks that are each other's parents were not made up
    on the way. The first block's height is known to be `height`, or not known before.
    """
    blocks: list[ParsedBlock] = []
    for raw in containers:
        expected = blocks[-1].height - 1 if blocks else height
        try:
            block = _read(chain, raw, blocks[-1] if blocks else None, wanted, expected)
        except (BadAncestors, BlockRefused) as fault:
            return Ancestry(blocks, fault)
        if expected is not None and block.height != expected:
            return Ancestry(blocks, WrongHeight(block.block_id, block.height, expected))
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
            # It is the right one: what it holds cannot be read here, whoever sends it.
            unread = InvalidBlock(error.block_id, error.height or height, error.reason)
            raise BlockRefused(unread) from error
        raise UnreadableBlock(error.reason) from error
    if child is None and block.block_id != wanted:
        raise WrongBlock(wanted, block.block_id)
    if child is not None and block.block_id != child.parent_id:
        raise BrokenAncestry(child.parent_id, block.block_id)
    return block

"""Blocks of other nodes that are decided: verified and accepted in one step, through the chain's VM."""

from collections.abc import Callable, Sequence

from cchain_app.blocks.candidate import (
    CandidateBlock,
    CandidateHeader,
    parse_block,
    parse_header,
)
from cchain_app.blocks.errors import UnknownParent
from cchain_app.blocks.evm_block import EvmBlock, evm_block
from cchain_app.chain import EvmChain
from chainvm.port import HeadMoved
from primitives.evm import Hash
from primitives.ids import ID

__all__ = ["CandidateBlock", "CandidateHeader", "accept", "parse_block", "parse_header"]

Beside = Callable[[EvmBlock], None]
"""Writes what belongs to a block elsewhere, in the transaction that stores the block."""


def nothing(block: EvmBlock) -> None:
    """Write nothing beside a block."""
    del block


def accept(
    chain: EvmChain, candidates: Sequence[CandidateBlock], *, now: int, beside: Beside = nothing
) -> None:
    """Verify and accept blocks that follow the head and each other: all or none of them.

    They are committed together, in one transaction. Memory moves and pointers are sent after it.

    Args:
        chain: Which chain.
        candidates: The blocks in order of height.
        now: This node's time in Unix seconds; blocks may be ten seconds ahead of it.
        beside: Called for each block in the transaction, before the blocks' rows are written; what
            it raises undoes all.

    Raises:
        UnknownParent: The first does not follow the head (any more), or another not the one before.
        InvalidBlock: By a subclass; one of them is refused, its `number` and `hash` say which.
    """
    if not candidates:
        return
    blocks = [evm_block(one) for one in candidates]
    first, by_id = blocks[0], {one.block_id: one for one in blocks}
    vm = chain.vm
    with chain.consensus.lock, chain.building.count(first.height):
        head = vm.last_accepted()
        try:
            if first.parent_id != head:
                raise _does_not_follow(first, head)
            vm.verify_all(blocks, now=now)
            vm.accept(list(by_id), written=lambda block_id: beside(by_id[block_id]))
        except HeadMoved as error:
            raise _does_not_follow(first, vm.last_accepted()) from error


def _does_not_follow(block: EvmBlock, head: ID) -> UnknownParent:
    refusal = UnknownParent(block.header.parent_hash, Hash(head))
    return refusal.of(block.height, block.hash)

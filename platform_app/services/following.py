"""Accepting blocks that other nodes have made: verified by the rules by which this one makes its own."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from chainvm.port import HeadMoved
from platform_app.blocks.block import BanffProposalBlock, Block
from platform_app.blocks.errors import InvalidBlock, OtherBlockAccepted
from platform_app.blocks.executor import verify_child
from platform_app.chain import PlatformChain
from platform_app.services.errors import MissingOption
from platform_app.services.vm import parse_block
from platform_app.store import blocks as chain_rows
from primitives.ids import ID

__all__ = ["Beside", "accept", "parse_block"]

Beside = Callable[[Block], object]
"""Writes what belongs to a block elsewhere, in the transaction that accepts the block."""


def accept(
    chain: PlatformChain, blocks: Sequence[Block], *, now: int, beside: Beside = lambda _block: None
) -> None:
    """Verify blocks, each on the state that those before it leave, and accept them: all or none.

    They come in the order of their heights, a proposal with its option behind it. Those that are
    accepted already are passed over.

    Args:
        chain: Which they belong to.
        blocks: As `parse_block` returns them.
        now: The node's time in Unix seconds.
        beside: Called for each new block in the transaction that accepts it, before anything is written.

    Raises:
        InvalidBlock: A block breaks a rule; the class says which. Among these `UnknownParent`: the
            first new one does not follow the last accepted block.
        MissingOption: The last one is a proposal.
    """
    with _outstanding(chain, blocks), chain.consensus.lock:
        while not _accepted(chain, blocks, now, beside):
            pass


def _outstanding(chain: PlatformChain, blocks: Sequence[Block]) -> AbstractContextManager[None]:
    """Count the first new block as outstanding: before the locks, which may be what it waits for."""
    height = chain.tip().height
    first = next((block.height for block in blocks if block.height > height), None)
    return nullcontext() if first is None else chain.building.count(first)


def _accepted(chain: PlatformChain, blocks: Sequence[Block], now: int, beside: Beside) -> bool:
    """Accept what is new; False: another process has accepted a block meanwhile, and it is to be tried anew."""
    vm = chain.vm
    last = vm.get_block(vm.last_accepted())
    assert last is not None
    new = _new(chain, blocks, last.height)
    by_id = {block.block_id: block for block in new}

    def written(block_id: ID) -> None:
        beside(by_id[block_id])

    if not new:
        return True
    try:
        verify_child(new[0], last)
        if isinstance(new[-1], BanffProposalBlock):
            raise MissingOption(new[-1].block_id, new[-1].height)
        vm.verify_all(new, now=now)
        vm.accept(list(by_id), written=written)
    except HeadMoved:
        return False
    except InvalidBlock:
        if vm.last_accepted() == last.block_id:
            raise
        return False
    return True


def _new(chain: PlatformChain, blocks: Sequence[Block], height: int) -> list[Block]:
    """Return the blocks above the last accepted one; the others must be accepted ones."""
    known = chain_rows.ids_at(chain.db, [one.height for one in blocks if one.height <= height])
    for block in blocks:
        if block.height in known and known[block.height] != block.block_id:
            raise OtherBlockAccepted(block.height, known[block.height], block.block_id)
    return [block for block in blocks if block.height not in known]

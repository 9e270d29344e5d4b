"""Blocks that other nodes have decided: verified in order and accepted together, as by consensus."""

from collections.abc import Callable, Sequence
from typing import Any

from cchain_app.blocks.candidate import CandidateBlock, evm_block
from cchain_app.services.runtime import EvmRuntime
from chainvm.port import Block, BlockContext
from platform_app.blocks.block import Block as PlatformBlock
from platform_app.services.runtime import PlatformRuntime
from primitives.ids import ID

Written = Callable[[Any], object]
"""Called for each block in the transaction that accepts it, before the block is written."""


def nothing(block: Any) -> None:
    """Write nothing with a block."""
    del block


def accept_evm(
    runtime: EvmRuntime,
    candidates: Sequence[CandidateBlock],
    *,
    now: int,
    written: Written = nothing,
) -> None:
    """Verify and accept consecutive blocks of an EVM chain on top of its head: all or none."""
    _accept(runtime, [evm_block(candidate) for candidate in candidates], now, written)


def accept_platform(
    runtime: PlatformRuntime,
    blocks: Sequence[PlatformBlock],
    *,
    now: int,
    written: Written = nothing,
) -> None:
    """Verify and accept consecutive blocks of a P-Chain on top of its last accepted one: all or none."""
    _accept(runtime, blocks, now, written)


def _accept(
    runtime: EvmRuntime | PlatformRuntime, blocks: Sequence[Block], now: int, written: Written
) -> None:
    vm: Any = runtime.vm
    by_id: dict[ID, Block] = {block.block_id: block for block in blocks}
    if not blocks:
        return

    def write(block_id: ID) -> None:
        if block_id in by_id:  # else a proposal that was accepted before, alone
            written(by_id[block_id])

    with runtime.chain.vm_lock:
        vm.last_accepted()
        vm.verify_all(blocks, [BlockContext(now)] * len(blocks))
        vm.accept(list(by_id), written=write)

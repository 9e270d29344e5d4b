"""Outer blocks for accepted blocks that have none, from older versions or from other programs.

Processes that build or follow blocks create the missing ones when they start (`voting`). From then on each outer
block is stored in the transaction that accepts its inner block.
"""

from collections.abc import Sequence

from chaindb import clock
from chaindb.chains import P_CHAIN
from chaindb.locks import Lock
from network_app.chains.outer_blocks import OuterRows, UnwrappedBlock
from network_app.chains.validators import PlatformValidators
from network_app.proposervm.block import OuterBlock, build_option
from network_app.proposervm.building import BlockSigner, build_child
from network_app.proposervm.verification import InnerContext, ParentContext, follow
from network_app.proposervm.windower import WINDOW_DURATION, next_slot, slot_of
from primitives.ids import NodeID
from primitives.upgrades import UpgradeTimes

PIECE = 256
"""Blocks that are wrapped in one transaction."""
PIECE_BYTES = 8 * 1024 * 1024


class Wrapper:
    """Adds outer blocks to accepted blocks of one chain.

    Args:
        rows: The stored outer blocks.
        lock: The lock for writing the chain's blocks.
        validators: The proposers; without any, blocks are not signed.
        node_id: This node, which signs.
        signature: The signing key and chain.
        upgrades: The rules in force.
    """

    def __init__(
        self,
        rows: OuterRows,
        lock: Lock,
        validators: PlatformValidators,
        *,
        node_id: NodeID,
        signature: BlockSigner,
        upgrades: UpgradeTimes,
    ) -> None:
        self._rows = rows
        self._lock = lock
        self._validators = validators
        self._node_id = node_id
        self._signature = signature
        self._upgrades = upgrades

    def wrap_missing(self) -> int:
        """Wrap the accepted blocks above the last outer block; return their number."""
        rows, count = self._rows, 0
        while True:
            last = rows.last()
            blocks = rows.blocks(last.height + 1, last.height + PIECE, PIECE_BYTES)
            if not blocks:
                return count
            with rows.db.atomic():
                rows.db.acquire(self._lock)
                if (
                    rows.tip().block_id == last.outer_id
                ):  # otherwise another process has wrapped them
                    self._wrap(blocks, last)
                    count += len(blocks)

    def _wrap(self, blocks: Sequence[UnwrappedBlock], last: ParentContext) -> None:
        p_height = self._validators.current_height()
        made: list[tuple[OuterBlock, int]] = []
        for block in blocks:
            outer = self._wrapped(block, last, p_height)
            made.append((outer, block.height))
            last = follow(last, outer, InnerContext(block.block_id, last.inner_id, block.height))
        self._rows.write(made)

    def _wrapped(self, block: UnwrappedBlock, parent: ParentContext, p_height: int) -> OuterBlock:
        if block.is_option:
            return build_option(parent.outer_id, block.raw)
        return build_child(
            parent,
            block.raw,
            time=self._time(block, parent),
            p_chain_height=self._p_chain_height(block, parent, p_height),
            signature=self._signature if self._is_signed(parent) else None,
            upgrades=self._upgrades,
        )

    def _is_signed(self, parent: ParentContext) -> bool:
        """Return whether the slots after a block have proposers."""
        return parent.p_chain_height is not None and bool(
            self._validators.proposers(parent.p_chain_height)
        )

    def _time(self, block: UnwrappedBlock, parent: ParentContext) -> int:
        """Return a block's time: its own, or the start of the first slot of this node after it.

        If no such slot has begun, it is the block's own time, and other nodes accept the block only while they
        bootstrap. Such blocks were built before the settings named another block producer, or voting.
        """
        time = max(block.time, parent.time)
        if parent.p_chain_height is None:
            return time  # any node may propose the first block
        slot = next_slot(
            self._signature.chain_id,
            block.height,
            self._node_id,
            self._validators.proposers(parent.p_chain_height),
            first=slot_of(time, parent.time),
        )
        start = time if slot is None else parent.time + WINDOW_DURATION * slot
        return start if time < start <= clock.now() else time

    def _p_chain_height(self, block: UnwrappedBlock, parent: ParentContext, p_height: int) -> int:
        """Return the P-Chain height to name: one that every node had reached by the time of the block.

        Args:
            block: The block.
            parent: Its parent, whose P-Chain height is the minimum.
            p_height: The current height of the P-Chain.
        """
        known = parent.p_chain_height or 0
        most = block.height - 1 if self._rows.alias == P_CHAIN else p_height
        return (
            known
            if known >= most
            else max(known, min(most, self._validators.height_at(block.time)))
        )

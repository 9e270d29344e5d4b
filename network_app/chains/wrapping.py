"""Outer blocks for accepted blocks that have none: those of before there were any, and of other programs.

Whoever makes blocks, or follows them, sees to it once when it begins (`consensus`). From then on each
block has its outer one from the transaction in which it is accepted.
"""

from collections.abc import Sequence

from chaindb import clock
from chaindb.chains import Chain
from chaindb.locks import Lock
from network_app.chains.outer_blocks import AcceptedBlock, OuterRows
from network_app.chains.validators import PlatformValidators
from network_app.proposervm.block import OuterBlock, build_option
from network_app.proposervm.building import Signature, build_child
from network_app.proposervm.verification import InnerFacts, ParentFacts, Upgrades, follow
from network_app.proposervm.windower import SLOT, next_slot, slot_of
from primitives.ids import NodeID

PIECE = 256
"""Blocks that are wrapped in one transaction."""
PIECE_BYTES = 8 * 1024 * 1024

_LOCKS = {Chain.P: Lock.PCHAIN, Chain.C: Lock.CCHAIN}


class Wrapper:
    """Puts outer blocks around accepted blocks of one chain.

    Args:
        rows: Where they are kept.
        validators: Who may propose; where nobody may blocks are not signed.
        node_id: This node, which signs.
        signature: With what.
        upgrades: Which rules hold.
    """

    def __init__(
        self,
        rows: OuterRows,
        validators: PlatformValidators,
        node_id: NodeID,
        signature: Signature,
        upgrades: Upgrades,
    ) -> None:
        self._rows = rows
        self._validators = validators
        self._node_id = node_id
        self._signature = signature
        self._upgrades = upgrades

    def wrap_missing(self) -> int:
        """Wrap the accepted blocks above the last outer one; return how many there were."""
        rows, count = self._rows, 0
        while True:
            last = rows.last()
            blocks = rows.blocks(last.height + 1, last.height + PIECE, PIECE_BYTES)
            if not blocks:
                return count
            with rows.db.atomic():
                rows.db.acquire(_LOCKS[Chain(rows.alias)])
                if rows.place().block_id == last.outer_id:  # else somebody else has wrapped them
                    self._wrap(blocks, last)
                    count += len(blocks)

    def _wrap(self, blocks: Sequence[AcceptedBlock], last: ParentFacts) -> None:
        p_height = self._validators.current_height()
        made: list[tuple[OuterBlock, int]] = []
        for one in blocks:
            outer = self._wrapped(one, last, p_height)
            made.append((outer, one.height))
            last = follow(last, outer, InnerFacts(one.block_id, last.inner_id, one.height))
        self._rows.write(made)

    def _wrapped(self, one: AcceptedBlock, parent: ParentFacts, p_height: int) -> OuterBlock:
        if one.is_option:
            return build_option(parent.outer_id, one.raw)
        return build_child(
            parent,
            one.raw,
            time=self._time(one, parent),
            p_chain_height=self._p_chain_height(one, parent, p_height),
            signature=self._signature if self._is_signed(parent) else None,
            upgrades=self._upgrades,
        )

    def _is_signed(self, parent: ParentFacts) -> bool:
        """Say whether somebody owns the slots after a block."""
        return parent.p_chain_height is not None and bool(
            self._validators.proposers(parent.p_chain_height)
        )

    def _time(self, one: AcceptedBlock, parent: ParentFacts) -> int:
        """Return a block's time: its own, or the start of the first slot after it that is ours.

        Where none has begun it stays its own: others take such a block only while they bootstrap.
        That are blocks which were made here before the settings named another maker of blocks, or votes.
        """
        time = max(one.time, parent.time)
        if parent.p_chain_height is None:
            return time  # nobody owns the first block
        slot = next_slot(
            self._signature.chain_id,
            one.height,
            self._node_id,
            self._validators.proposers(parent.p_chain_height),
            first=slot_of(time, parent.time),
        )
        start = time if slot is None else parent.time + SLOT * slot
        return start if time < start <= clock.now() else time

    def _p_chain_height(self, one: AcceptedBlock, parent: ParentFacts, p_height: int) -> int:
        """Return the P-Chain height to name: one that everybody had by the time of the block.

        Args:
            one: The block.
            parent: Its parent, below which it does not go.
            p_height: The P-Chain's.
        """
        known = parent.p_chain_height or 0
        most = one.height - 1 if self._rows.alias == Chain.P else p_height
        return (
            known if known >= most else max(known, min(most, self._validators.height_at(one.time)))
        )

"""Outer blocks around a chain's accepted blocks: read back, and made for blocks that were made here.

What was made here is wrapped when somebody asks for it, so a node without peers pays nothing for it.
Accepted blocks above the last outer one were made here: what others made is stored with its own. What is
wrapped is on the disk before anybody hears of it: a loss of power takes no block back that others have.
"""

from collections.abc import Sequence

from django.db import connection
from django.db import transaction as database

from chaindb import clock
from chaindb.durability import on_disk
from chaindb.locks import Lock, acquire
from network_app.chains.inner import InnerBlock, InnerChain
from network_app.chains.stored import facts_of, raw_of, wrapping_of
from network_app.handshake.identity import NodeIdentity
from network_app.ports import BlockPlace
from network_app.proposervm.block import OuterBlock, build_option
from network_app.proposervm.building import Signature, build_child
from network_app.proposervm.verification import (
    InnerFacts,
    ParentFacts,
    Proposers,
    Upgrades,
    follow,
    of_genesis,
)
from network_app.proposervm.windower import SLOT, next_slot, slot_of
from network_app.store import outer
from network_app.store.outer import Wrapping
from platform_app.apps import platform_chain
from platform_app.selectors import accepted

PIECE = 256
"""Blocks that are wrapped in one transaction."""
PIECE_BYTES = 8 * 1024 * 1024
LAG = 30
"""Seconds by which the P-Chain height that blocks name is behind, so that others know it too."""


class Wrapper:
    """The outer blocks of one chain.

    Args:
        inner: The chain.
        own: Who signs what was made here.
        upgrades: Which rules hold.
        proposers: The weights of those who may propose, by P-Chain height; where there are none blocks
            are not signed.
    """

    def __init__(
        self, inner: InnerChain, own: NodeIdentity, upgrades: Upgrades, proposers: Proposers
    ) -> None:
        self.inner = inner
        self.upgrades = upgrades
        self.proposers = proposers
        self._node_id = own.node_id
        self._signature = Signature(inner.chain_id, own.certificate_der, own.tls_key)
        # No lock guards it: it is believed only as far as the rows agree.
        self._last: ParentFacts | None = None

    def last(self) -> ParentFacts:
        """Wrap what was made here since, and return what a child of the last block needs to know."""
        tip = self.inner.tip()
        last = self._last
        if last is None or (last.height >= tip.height and last.inner_id != tip.block_id):
            last = self._read_last()
        while last.height < tip.height:
            last = self._wrap_piece(last, tip.height)
        if not connection.in_atomic_block:  # what is not committed may still come to nothing
            self._last = last
        return last

    def place(self) -> BlockPlace:
        """Return where the chain stands."""
        last = self.last()
        return BlockPlace(last.height, last.outer_id)

    def note(self, last: ParentFacts) -> None:
        """Remember the last block after others' blocks were accepted."""
        self._last = last

    def raws(self, first: int, last: int, size: int) -> list[tuple[BlockPlace, bytes]]:
        """Return wrapped blocks from a height to another, also downwards, as `InnerChain.blocks` does.

        Both are above 0: genesis is not wrapped.
        """
        blocks = self.inner.blocks(first, last, size)
        if not blocks:
            return []
        low, high = sorted((blocks[0].height, blocks[-1].height))
        found = {one.height: one for one in outer.between(self.inner.alias, low - 1, high)}
        return [(found[one.height].place, self._raw(one, found)) for one in blocks]

    def _raw(self, one: InnerBlock, found: dict[int, Wrapping]) -> bytes:
        parent = found.get(one.height - 1)
        parent_id = self.inner.genesis().block_id if parent is None else parent.block_id
        return raw_of(found[one.height], parent_id, one.raw)

    def _read_last(self) -> ParentFacts:
        found = outer.latest(self.inner.alias, 2)
        if not found:
            genesis = self.inner.genesis()
            return of_genesis(genesis.block_id, genesis.time or 0)
        last = found[0]
        inside = self.inner.blocks(last.height, last.height, 1)[0]
        # An option has no time: its proposal, right before it, has.
        return facts_of(last, last if last.time is not None else found[1], inside.block_id)

    def _wrap_piece(self, last: ParentFacts, height: int) -> ParentFacts:
        """Wrap the next blocks and return what their last one's child needs to know."""
        top = min(height, last.height + PIECE)
        blocks = self.inner.blocks(last.height + 1, top, PIECE_BYTES)
        with on_disk(), database.atomic():
            acquire(Lock.NETWORK)
            if outer.tip_id(self.inner.alias) != (last.outer_id if last.height else None):
                return self._read_last()  # another process has wrapped meanwhile
            return self._wrap(blocks, last)

    def _wrap(self, blocks: Sequence[InnerBlock], last: ParentFacts) -> ParentFacts:
        p_height = platform_chain().tip().height
        wrappings = []
        for one in blocks:
            made = self._wrapped(one, last, p_height)
            wrappings.append(wrapping_of(made, one.height))
            last = follow(last, made, inner_facts(one))
        outer.add(self.inner.alias, wrappings)
        return last

    def _wrapped(self, one: InnerBlock, parent: ParentFacts, p_height: int) -> OuterBlock:
        if one.is_option:
            return build_option(parent.outer_id, one.raw)
        return build_child(
            parent,
            one.raw,
            time=self._time(one, parent),
            p_chain_height=self._p_chain_height(one, parent, p_height),
            signature=self._signature if self._is_signed(parent) else None,
            upgrades=self.upgrades,
        )

    def _is_signed(self, parent: ParentFacts) -> bool:
        """Say whether somebody owns the slots after a block."""
        return parent.p_chain_height is not None and bool(self.proposers(parent.p_chain_height))

    def _time(self, one: InnerBlock, parent: ParentFacts) -> int:
        """Return a block's time: its own, or the start of the first slot after it that is ours.

        Where none has begun it stays its own: others take such a block only while they bootstrap.
        That are blocks which were made here before the settings told of others that take turns.
        """
        time = max(one.time or 0, parent.time)
        if parent.p_chain_height is None:
            return time  # nobody owns the first block
        slot = next_slot(
            self.inner.chain_id,
            one.height,
            self._node_id,
            self.proposers(parent.p_chain_height),
            first=slot_of(time, parent.time),
        )
        start = time if slot is None else parent.time + SLOT * slot
        return start if time < start <= clock.now() else time

    def _p_chain_height(self, one: InnerBlock, parent: ParentFacts, p_height: int) -> int:
        """Return the P-Chain height to name: one that everybody has by now.

        Args:
            one: The block.
            parent: Its parent, below which it does not go.
            p_height: The P-Chain's.
        """
        known = parent.p_chain_height or 0
        most = one.height - 1 if self.inner.alias == "P" else p_height
        if known >= most:
            return known
        return max(
            known, min(most, accepted.height_at(platform_chain(), (one.time or 0) - LAG) or 0)
        )


def inner_facts(one: InnerBlock) -> InnerFacts:
    """Return what the outer block's rules ask of the block inside."""
    return InnerFacts(one.block_id, one.parent_id, one.height, one.options)

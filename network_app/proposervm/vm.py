"""The proposer VM: wraps one chain's VM and exposes outer blocks to consensus and peers (snowman.md 9).

It is a `ChainVM` around another one. An outer block is built and signed together with its inner block, and
is written in the transaction that accepts the inner block. Read methods write nothing. The class is pure:
the validators and the storage of accepted outer blocks are injected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from chainvm.errors import UnknownParent
from chainvm.port import MILLISECONDS, Block, BlockContext, ChainVM, Written
from chainvm.processing import ProcessingTree
from network_app.proposervm import windower
from network_app.proposervm.block import OuterBlock, SignedBlock, build_option, parse
from network_app.proposervm.building import BlockSigner, build_child, signed_from, unsigned_from
from network_app.proposervm.errors import NotOurSlot, NotWrapped
from network_app.proposervm.ports import OuterBlocks, Proposal, ValidatorState
from network_app.proposervm.verification import (
    InnerContext,
    ParentContext,
    epoch_of_child,
    follow,
    inner_height_of,
    inner_p_chain_height,
    verify_child,
)
from primitives.ids import ID, NodeID
from primitives.upgrades import OWN_NETWORK, UpgradeTimes

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class ProposerBlock(Generic[B]):
    """An outer block and its inner block, both parsed. Only genesis is bare: it has no outer block."""

    outer: OuterBlock | None
    inner: B

    @property
    def block_id(self) -> ID:
        """The block ID that peers use."""
        return self.inner.block_id if self.outer is None else self.outer.outer_id

    @property
    def parent_id(self) -> ID:
        """The outer parent."""
        return self.inner.parent_id if self.outer is None else self.outer.parent_id

    @property
    def height(self) -> int:
        """The inner block's."""
        return self.inner.height

    @property
    def raw(self) -> bytes:
        """The outer block's bytes."""
        return self.inner.raw if self.outer is None else self.outer.raw

    @property
    def proposer(self) -> NodeID | None:
        """The signer; None: unsigned."""
        return self.outer.proposer if isinstance(self.outer, SignedBlock) else None


class ProposerVM(Generic[B]):
    """Wraps one chain's VM; implements `chainvm.port.ChainVM`. Its methods block: call them in threads.

    Args:
        inner: The chain.
        accepted: Its accepted outer blocks.
        validators: The validators that may propose.
        node_id: This node.
        signature: The key and certificate that sign this node's blocks, and the chain ID.
        upgrades: Activation times of the rules.
    """

    def __init__(
        self,
        inner: ChainVM[B],
        accepted: OuterBlocks,
        validators: ValidatorState,
        *,
        node_id: NodeID,
        signature: BlockSigner,
        upgrades: UpgradeTimes = OWN_NETWORK,
    ) -> None:
        self._inner = inner
        self._accepted = accepted
        self._validators = validators
        self._node_id = node_id
        self._signature = signature
        self.chain_id = signature.chain_id
        self._upgrades = upgrades
        self._stored = accepted.last()
        self._last_block: ProposerBlock[B] | None = None
        """Cache of the last accepted block, which is read before each block is built."""
        self._reached = 0
        """A P-Chain height known to be accepted."""
        self._tree: ProcessingTree[ProposerBlock[B], ParentContext] = ProcessingTree(
            self._stored.outer_id, self._stored
        )
        self._unwritten: dict[ID, ProposerBlock[B]] = {}
        """Accepted blocks whose rows are not written yet, by inner ID: proposals without option."""

    def __len__(self) -> int:
        return len(self._tree)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._tree

    @property
    def last(self) -> ParentContext:
        """The facts about the last accepted block, as of the last call of `last_accepted`."""
        return self._tree.last_effect

    @property
    def preference(self) -> ID:
        """The block that `build` builds on."""
        return self._tree.preference

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID.

        If another process has accepted blocks or has rewound the chain in the meantime, the processing
        blocks are dropped.

        Raises:
            NotWrapped: The chain has accepted a block whose outer block is not stored.
        """
        if self._accepted.was_rewound():
            self._reached = 0
            self.reset_to(self._accepted.last())
        inner_id = self._inner.last_accepted()
        while inner_id != self.last.inner_id:
            self.reset_to(self._accepted.last())
            before, inner_id = inner_id, self._inner.last_accepted()
            if inner_id == before != self.last.inner_id:
                raise NotWrapped(inner_id)
        return self._tree.last_accepted

    def get_block(self, block_id: ID) -> ProposerBlock[B] | None:
        """Return a processing or accepted block; None if the block is unknown."""
        block = self._tree.get(block_id)
        if block is not None:
            return block
        for waiting in self._unwritten.values():
            if waiting.block_id == block_id:
                return waiting
        if block_id != self._tree.last_accepted:
            return self._read(block_id)
        if self._last_block is None:
            self._last_block = self._read(block_id)
        return self._last_block

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted one."""
        for waiting in self._unwritten.values():
            if waiting.height == height:
                return waiting.block_id
        return self._accepted.id_at(height)

    def parse(self, raw: bytes) -> ProposerBlock[B]:
        """Parse an outer block and its inner block.

        Raises:
            OuterBlockError: The bytes are not an outer block.
            InvalidBlock: By the chain's own class: the inner bytes are not a block.
        """
        outer = parse(raw)
        return ProposerBlock(outer, self._inner.parse(outer.inner))

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> ProposerBlock[B] | None:
        """Build a block on the preferred one and sign it; None if there is nothing to put into it.

        Only the context's time is used; the outer block has its seconds. The inner block is built for the P-Chain
        height with which other nodes will verify it.

        Unspecified: an unsigned block, which every node may build, is built at the whole second. Nodes that build at
        the same moment then build the same block; three nodes with a block each would never agree.

        Raises:
            NotOurSlot: The current slot belongs to another validator.
        """
        parent = self._preferred()
        time = max(context.now, parent.time)
        signature = self._signature_at(time, parent)
        if signature is None:
            context = context._replace(fraction=0)
        height = max(self._validators.minimum_height(context.now), parent.p_chain_height or 0)
        epoch = epoch_of_child(parent, time, self._upgrades)
        inner_height = inner_p_chain_height(parent, time, height, epoch, self._upgrades)
        inner = self._inner.build(
            context._replace(p_chain_height=inner_height, decided=False, voted=True),
            allow_empty=allow_empty,
        )
        if inner is None:
            return None
        outer = build_child(
            parent,
            inner.raw,
            time=time,
            p_chain_height=height,
            signature=signature,
            upgrades=self._upgrades,
        )
        block = ProposerBlock(outer, inner)
        if block.block_id not in self._tree:
            self._tree.add(block, follow(parent, outer, self._inner_facts(inner)))
        return block

    def builds_from(self, milliseconds: int, *, minimum_delay: int = 0) -> int | None:
        """Return the time from which `build` succeeds on the preferred block, in Unix milliseconds.

        None: this node owns no slot within the hour, or the chain's rules allow no block. The answer changes when another
        block becomes preferred.

        Args:
            milliseconds: The node's time in Unix milliseconds.
            minimum_delay: Minimum seconds between the preferred block's time and the new block.
        """
        parent = self._preferred()
        time = self._inner.builds_from(
            max(milliseconds, (parent.time + minimum_delay) * MILLISECONDS)
        )
        if time is None:
            return None
        proposers = self._proposers(parent)
        if self._owner_at(time // MILLISECONDS, parent, proposers) is None:
            return unsigned_from(time, self._inner.builds_from)
        return signed_from(time, parent, self.chain_id, self._node_id, proposers)

    def verify(self, block: ProposerBlock[B], context: BlockContext) -> None:
        """Verify an outer block and its inner block against their parents; then it is processing.

        Raises:
            UnknownParent: Its parent is neither processing nor the last accepted block.
            OuterBlockError: A rule of outer blocks is broken; `OuterBlockTooEarly`: temporarily.
            InvalidBlock: By the chain's own class: a rule of the chain is broken.
        """
        self.verify_all([block], [context])

    def verify_all(
        self,
        blocks: Sequence[ProposerBlock[B]],
        contexts: Sequence[BlockContext],
        *,
        outer: Sequence[ParentContext] | None = None,
    ) -> None:
        """Verify consecutive blocks, as `verify` does: all become processing, or none.

        Args:
            blocks: The blocks.
            contexts: The context of each block, of which only the time is used.
            outer: The results of `verify_outer` for each block, if it was already called.
        """
        if not blocks:
            return
        facts = self._verify_outer_blocks(blocks, contexts) if outer is None else outer
        self._inner.verify_all(
            [block.inner for block in blocks], self._inner_contexts(blocks, facts, contexts)
        )
        for block, block_facts in zip(blocks, facts, strict=True):
            if block.block_id not in self._tree:
                self._tree.add(block, block_facts)

    def verify_outer(
        self,
        block: ProposerBlock[B],
        parent: ParentContext,
        *,
        now: int,
        bootstrapping: bool,
        reached: int = 0,
    ) -> ParentContext:
        """Verify an outer block alone, on any parent; return the facts that its child is verified against.

        Args:
            block: The block; its inner block is not verified.
            parent: The result of this method for its parent.
            now: The node's time in Unix seconds.
            bootstrapping: The block is historical: its proposer and slot are not verified.
            reached: A P-Chain height that will be accepted before this block can be.

        Raises:
            OuterBlockError: A rule is broken; `OuterBlockTooEarly`: temporarily.
        """
        assert block.outer is not None, "genesis has no parent"
        inner = self._inner_facts(block.inner)
        verify_child(
            block.outer,
            parent,
            inner=inner,
            chain_id=self.chain_id,
            now=now,
            p_height=max(reached, self._p_height(block.outer, bootstrapping=bootstrapping)),
            bootstrapping=bootstrapping,
            proposers=self._validators.proposers,
            upgrades=self._upgrades,
        )
        return follow(parent, block.outer, inner)

    def options(self, block: ProposerBlock[B]) -> tuple[ProposerBlock[B], ProposerBlock[B]] | None:
        """Return a proposal's two options, the preferred one first; None for other blocks."""
        found = self._inner.options(block.inner)
        if found is None:
            return None
        first, second = (
            ProposerBlock(build_option(block.block_id, inner.raw), inner) for inner in found
        )
        return first, second

    def proposal(self, block: ProposerBlock[B]) -> Proposal:
        """Return the proposer and slot of a processing block; all fields are empty for options."""
        if not self._tree.is_parent(block.parent_id) or not isinstance(block.outer, SignedBlock):
            return Proposal()
        parent, time = self._tree.effect(block.parent_id), block.outer.time
        return Proposal(block.proposer, windower.slot_of(time, parent.time), time)

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on: a processing block, or the last accepted one.

        Raises:
            NotProcessing: It is neither of the two.
        """
        self._inner.set_preference(self._tree.effect(block_id).inner_id)
        self._tree.prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept consecutive processing blocks after the last accepted one: all or none.

        Conflicting outer blocks leave the tree; the inner VM rejects the conflicting inner blocks. After an
        error the tree is reset to the last stored block.

        Raises:
            NotProcessing: A block is not processing, or does not follow the one before it.
        """
        accepted = self._tree.consecutive(block_ids)
        preferred = self._tree.preference
        self._unwritten |= {facts.inner_id: block for block, facts in accepted}
        stored: list[ID] = []
        try:
            self._inner.accept(
                [facts.inner_id for _, facts in accepted],
                written=self._write([facts for _, facts in accepted], stored, written),
            )
        except BaseException:
            # The storage may not be readable just now; `last_accepted` checks whether the head moved.
            self.reset_to(self._stored)
            raise
        self._tree.accept(block_ids)
        for inner_id in stored:
            del self._unwritten[inner_id]
        self._last_block = accepted[-1].block
        self._stored = next(
            (facts for _, facts in reversed(accepted) if facts.inner_id in stored), self._stored
        )
        if preferred not in (self._tree.preference, *block_ids):
            # The inner VM may prefer a block whose outer block has just left the tree.
            self._inner.set_preference(self._preferred().inner_id)

    def reject(self, block_id: ID) -> None:
        """Drop an outer block and its descendants.

        Its inner block may still be accepted in another outer block. The inner block is rejected when a
        conflicting inner block is accepted.

        Raises:
            NotProcessing: The block is not processing.
        """
        self._tree.reject(block_id)

    def reset_to(self, last: ParentContext) -> None:
        """Drop everything and reset to a stored block, after a restart or a failed commit."""
        self._stored = last
        self._last_block = None
        self._unwritten.clear()
        self._tree.reset(last.outer_id, last)

    def _verify_outer_blocks(
        self, blocks: Sequence[ProposerBlock[B]], contexts: Sequence[BlockContext]
    ) -> list[ParentContext]:
        """Verify the outer rules of consecutive blocks; blocks that are already processing are skipped."""
        found: list[ParentContext] = []
        for block, context in zip(blocks, contexts, strict=True):
            if block.block_id in self._tree:
                found.append(self._tree.effect(block.block_id))
                continue
            parent = found[-1] if found else self._facts_before(block)
            found.append(self.verify_outer(block, parent, now=context.now, bootstrapping=False))
        return found

    def _inner_contexts(
        self,
        blocks: Sequence[ProposerBlock[B]],
        facts: Sequence[ParentContext],
        contexts: Sequence[BlockContext],
    ) -> list[BlockContext]:
        """Return the contexts of the inner blocks of consecutive blocks.

        Raises:
            UnknownParent: The first block's parent is neither processing nor the last accepted block.
        """
        parents = [self._facts_before(blocks[0]), *facts[:-1]]
        return [
            context._replace(
                p_chain_height=inner_height_of(block.outer, before, self._upgrades), voted=True
            )
            for block, before, context in zip(blocks, parents, contexts, strict=True)
        ]

    def _write(
        self, accepted: Sequence[ParentContext], stored: list[ID], written: Written
    ) -> Callable[[ID], None]:
        """Return the callback that the inner VM calls for each block that it writes.

        All outer blocks are written together with the last inner block. A proposal that comes last is
        written with its option, now or later.
        """
        last = next((facts.inner_id for facts in reversed(accepted) if not facts.options), None)
        waiting: list[tuple[OuterBlock, int]] = []

        def write(inner_id: ID) -> None:
            block = self._unwritten[inner_id]
            assert block.outer is not None, "genesis has no outer block"
            written(block.block_id)
            stored.append(inner_id)
            waiting.append((block.outer, block.height))
            if last is None or last in stored:
                self._accepted.write(waiting)
                waiting.clear()

        return write

    def _read(self, block_id: ID) -> ProposerBlock[B] | None:
        """Return a stored accepted block; None for any other."""
        raw = self._accepted.raw(block_id)
        if raw is not None:
            return self.parse(raw)
        genesis = self._inner.get_block(block_id) if block_id == self._accepted.id_at(0) else None
        return None if genesis is None else ProposerBlock(None, genesis)

    def _p_height(self, block: OuterBlock, *, bootstrapping: bool) -> int:
        """Return an accepted height of the P-Chain; the current one if a cached one would not suffice."""
        if not isinstance(block, SignedBlock) or bootstrapping:
            return self._reached
        if block.p_chain_height > self._reached:
            self._reached = self._validators.current_height()
        return self._reached

    def _preferred(self) -> ParentContext:
        return self._tree.effect(self._tree.preference)

    def _facts_before(self, block: ProposerBlock[B]) -> ParentContext:
        """Return the facts about a block's parent.

        Raises:
            UnknownParent: The parent is neither processing nor the last accepted block.
        """
        if not self._tree.is_parent(block.parent_id):
            raise UnknownParent(block.block_id, block.parent_id)
        return self._tree.effect(block.parent_id)

    def _inner_facts(self, inner: B) -> InnerContext:
        options = tuple(option.block_id for option in self._inner.options(inner) or ())
        return InnerContext(inner.block_id, inner.parent_id, inner.height, options)

    def _signature_at(self, time: int, parent: ParentContext) -> BlockSigner | None:
        """Return the key that signs a child with the timestamp `time`; None if its slot has no owner.

        Raises:
            NotOurSlot: Another node owns the slot.
        """
        owner = self._owner_at(time, parent, self._proposers(parent))
        if owner is None:
            return None
        if owner != self._node_id:
            raise NotOurSlot(windower.slot_of(time, parent.time), owner)
        return self._signature

    def _proposers(self, parent: ParentContext) -> Mapping[NodeID, int]:
        """Return the weights of the validators that sign a child; empty: any node builds it, unsigned."""
        height = parent.p_chain_height
        return {} if height is None else self._validators.proposers(height)

    def _owner_at(
        self, time: int, parent: ParentContext, proposers: Mapping[NodeID, int]
    ) -> NodeID | None:
        slot = windower.slot_of(time, parent.time)
        return windower.proposer_at(self.chain_id, parent.height + 1, slot, proposers)

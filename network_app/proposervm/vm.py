"""The proposer VM: one chain's VM behind outer blocks, as consensus and peers know them (snowman.md 9).

It is a `ChainVM` around another one. An outer block is made together with the block inside and signed at
once, and is written in the transaction in which the inner one is accepted. Nothing is written by questions.
Pure: who validates, and where accepted outer blocks are kept, it is given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chainvm.port import Block, ChainVM, Written
from chainvm.processing import NotProcessing, ProcessingTree, UnknownParent
from network_app.proposervm import windower
from network_app.proposervm.block import OuterBlock, SignedBlock, build_option, parse
from network_app.proposervm.building import Signature, build_child
from network_app.proposervm.verification import (
    ALL_ACTIVE,
    InnerFacts,
    ParentFacts,
    Upgrades,
    follow,
    verify_child,
)
from primitives.ids import ID, NodeID

B = TypeVar("B", bound=Block)


class ValidatorState(Protocol):
    """What blocks ask of the P-Chain, by its accepted heights."""

    def current_height(self) -> int:
        """Return the height of the last accepted P-Chain block."""

    def minimum_height(self, now: int) -> int:
        """Return a height that every node has by now (Unix seconds): the one that blocks name."""

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of those who may propose as of a height.

        Raises:
            HeightNotReached: It is above the last accepted one.
        """


class OuterBlocks(Protocol):
    """The accepted outer blocks of one chain, where they are kept."""

    def last(self) -> ParentFacts:
        """Return what a child of the last accepted block needs to know of it."""

    def id_at(self, height: int) -> ID | None:
        """Return the accepted block at a height; genesis is bare."""

    def raw(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; None where it is not accepted, or genesis."""

    def write(self, block: OuterBlock, height: int) -> None:
        """Store a block, in the transaction in which the block inside is accepted."""


@dataclass(frozen=True, slots=True)
class ProposerBlock(Generic[B]):
    """An outer block and the block inside, both parsed. Genesis alone is bare: it has no outer block."""

    outer: OuterBlock | None
    inner: B

    @property
    def block_id(self) -> ID:
        """By which peers know it."""
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
        """Who signed it; None: nobody signs such a block."""
        return self.outer.proposer if isinstance(self.outer, SignedBlock) else None


class NotOurSlot(Exception):
    """Nothing is built now: the slot belongs to another validator."""

    def __init__(self, slot: int, owner: NodeID) -> None:
        super().__init__(f"slot {slot} belongs to {owner}")
        self.slot = slot
        self.owner = owner


@dataclass(slots=True)
class _Entry(Generic[B]):
    block: ProposerBlock[B]
    facts: ParentFacts


class ProposerVM(Generic[B]):
    """One chain behind outer blocks; see `chainvm.port.ChainVM`, which this is. Blocking: for threads.

    Args:
        inner: The chain.
        accepted: Its accepted outer blocks.
        validators: Who may propose.
        node_id: This node.
        signature: With what it signs, and for which chain.
        upgrades: Which rules hold.
    """

    def __init__(
        self,
        inner: ChainVM[B],
        accepted: OuterBlocks,
        validators: ValidatorState,
        *,
        node_id: NodeID,
        signature: Signature,
        upgrades: Upgrades = ALL_ACTIVE,
    ) -> None:
        self._inner = inner
        self._accepted = accepted
        self._validators = validators
        self._node_id = node_id
        self._signature = signature
        self._chain_id = signature.chain_id
        self._upgrades = upgrades
        self._stored = self._last = accepted.last()
        self._tree: ProcessingTree[_Entry[B]] = ProcessingTree(self._last.outer_id)
        self._unwritten: dict[ID, ProposerBlock[B]] = {}
        """Accepted blocks whose rows come with a later one's, by inner ID: proposals without option."""
        self.bootstrapping = False
        """Whether blocks are of the past: who was to propose them when is not verified."""

    def __len__(self) -> int:
        return len(self._tree)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._tree

    @property
    def preference(self) -> ID:
        """The block that `build` builds on."""
        return self._tree.preference

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID.

        Another process may have accepted blocks meanwhile: then what was processing here is forgotten.
        """
        stored = self._accepted.last()
        if stored.outer_id != self._stored.outer_id:
            self.begin_at(stored)
        return self._tree.last_accepted

    def get_block(self, block_id: ID) -> ProposerBlock[B] | None:
        """Return a processing or an accepted block; None for one that is neither."""
        entry = self._tree.get(block_id)
        if entry is not None:
            return entry.block
        for waiting in self._unwritten.values():
            if waiting.block_id == block_id:
                return waiting
        raw = self._accepted.raw(block_id)
        if raw is not None:
            return self.parse(raw)
        genesis = self._inner.get_block(block_id) if block_id == self._accepted.id_at(0) else None
        return None if genesis is None else ProposerBlock(None, genesis)

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted one."""
        for waiting in self._unwritten.values():
            if waiting.height == height:
                return waiting.block_id
        return self._accepted.id_at(height)

    def parse(self, raw: bytes) -> ProposerBlock[B]:
        """Read an outer block and what places the block inside.

        Raises:
            MalformedBlock: By a subclass: the bytes are no outer block.
            InvalidBlock: By the chain's own class: what is inside is no block.
        """
        outer = parse(raw)
        return ProposerBlock(outer, self._inner.parse(outer.inner))

    def build(self, *, now: int) -> ProposerBlock[B] | None:
        """Build a block on the preferred one and sign it; None when there is nothing to put into it.

        Raises:
            NotOurSlot: Another validator is to propose now.
        """
        parent = self._preferred()
        time = max(now, parent.time)
        signature = self._signature_at(time, parent)
        inner = self._inner.build(now=now)
        if inner is None:
            return None
        outer = build_child(
            parent,
            inner.raw,
            time=time,
            p_chain_height=self._validators.minimum_height(now),
            signature=signature,
            upgrades=self._upgrades,
        )
        block = ProposerBlock(outer, inner)
        if block.block_id not in self._tree:
            self._add(block, outer, parent)
        return block

    def builds_from(self, *, now: int) -> int | None:
        """Return since when this node may build on the preferred block (Unix seconds).

        None: it owns no slot within the hour. A block that has come first changes the answer.
        """
        parent = self._preferred()
        time = max(now, parent.time)
        if parent.p_chain_height is None:
            return time
        first = windower.slot_of(time, parent.time)
        slot = windower.next_slot(
            self._chain_id,
            parent.height + 1,
            self._node_id,
            self._validators.proposers(parent.p_chain_height),
            first=first,
        )
        if slot is None or slot == first:
            return None if slot is None else time
        return parent.time + slot * windower.SLOT

    def verify(self, block: ProposerBlock[B], *, now: int) -> None:
        """Verify an outer block and the one inside on their parents; from then on it is processing.

        Raises:
            UnknownParent: Its parent is neither processing nor the last accepted block.
            InvalidChild: By a subclass: a rule of outer blocks is broken; `NotYetValid`: for now.
            InvalidBlock: By the chain's own class: a rule of the chain is broken.
        """
        if block.block_id in self._tree:
            return
        parent = self._facts_of(block.parent_id)
        if parent is None:
            raise UnknownParent(block.block_id, block.parent_id)
        assert block.outer is not None, "genesis follows nothing"
        verify_child(
            block.outer,
            parent,
            inner=self._inner_facts(block.inner),
            chain_id=self._chain_id,
            now=now,
            p_height=self._validators.current_height(),
            bootstrapping=self.bootstrapping,
            proposers=self._validators.proposers,
            upgrades=self._upgrades,
        )
        self._inner.verify(block.inner, now=now)
        self._add(block, block.outer, parent)

    def options(self, block: ProposerBlock[B]) -> tuple[ProposerBlock[B], ProposerBlock[B]] | None:
        """Return the two blocks of which one must follow a proposal, the preferred one first."""
        found = self._inner.options(block.inner)
        if found is None:
            return None
        first, second = (
            ProposerBlock(build_option(block.block_id, inner.raw), inner) for inner in found
        )
        return first, second

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on: a processing one, or the last accepted one.

        Raises:
            NotProcessing: It is neither.
        """
        facts = self._facts_of(block_id)
        if facts is None:
            raise NotProcessing(block_id)
        self._inner.set_preference(facts.inner_id)
        self._tree.prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept processing blocks that follow the last accepted one and each other: all or none.

        Outer blocks beside them leave the tree; the inner VM rejects what is beside the inner ones.
        After an error the tree begins anew at what is stored.

        Raises:
            NotProcessing: One is not, or does not follow the one before it.
        """
        accepted = self._tree.line(block_ids[-1])
        if [one.block.block_id for one in accepted] != list(block_ids):
            raise NotProcessing(block_ids[0], f"does not follow {self._tree.last_accepted}")
        stored: list[ID] = []
        self._unwritten |= {one.facts.inner_id: one.block for one in accepted}
        try:
            self._inner.accept(
                [one.facts.inner_id for one in accepted], written=self._write(stored, written)
            )
        except BaseException:
            self.begin_at(self._accepted.last())
            raise
        for block_id in block_ids:
            self._tree.accept(block_id)
        for inner_id in stored:
            del self._unwritten[inner_id]
        for one in accepted:
            self._last = one.facts
            if one.facts.inner_id in stored:
                self._stored = one.facts
        # The inner VM may prefer what follows in an outer block that has just left the tree.
        self._inner.set_preference(self._preferred().inner_id)

    def reject(self, block_id: ID) -> None:
        """Forget an outer block and all that follow it.

        What is inside may yet be accepted in another outer block: it is rejected with the acceptance of
        what is beside it.

        Raises:
            NotProcessing: It is not.
        """
        self._tree.reject(block_id)

    def begin_at(self, last: ParentFacts) -> None:
        """Forget everything and begin anew at a stored block: after a restart, or a commit that failed."""
        self._stored = self._last = last
        self._unwritten.clear()
        self._tree.begin_at(last.outer_id)

    def _write(self, stored: list[ID], written: Written) -> Callable[[ID], None]:
        def write(inner_id: ID) -> None:
            block = self._unwritten[inner_id]
            assert block.outer is not None, "genesis is written by nobody"
            self._accepted.write(block.outer, block.height)
            written(block.block_id)
            stored.append(inner_id)

        return write

    def _preferred(self) -> ParentFacts:
        facts = self._facts_of(self._tree.preference)
        assert facts is not None
        return facts

    def _facts_of(self, block_id: ID) -> ParentFacts | None:
        if block_id == self._tree.last_accepted:
            return self._last
        entry = self._tree.get(block_id)
        return None if entry is None else entry.facts

    def _inner_facts(self, inner: B) -> InnerFacts:
        options = tuple(one.block_id for one in self._inner.options(inner) or ())
        return InnerFacts(inner.block_id, inner.parent_id, inner.height, options)

    def _signature_at(self, time: int, parent: ParentFacts) -> Signature | None:
        """Return with what a child of this time is signed; None where nobody owns its slot.

        Raises:
            NotOurSlot: Somebody else does.
        """
        if parent.p_chain_height is None:
            return None
        slot = windower.slot_of(time, parent.time)
        proposers = self._validators.proposers(parent.p_chain_height)
        owner = windower.proposer_at(self._chain_id, parent.height + 1, slot, proposers)
        if owner is None:
            return None
        if owner != self._node_id:
            raise NotOurSlot(slot, owner)
        return self._signature

    def _add(self, block: ProposerBlock[B], outer: OuterBlock, parent: ParentFacts) -> None:
        facts = follow(parent, outer, self._inner_facts(block.inner))
        self._tree.add(block.block_id, block.parent_id, _Entry(block, facts))

"""Verify and accept past blocks while bootstrapping, under the lock of the chain's VM.

The beacons confirm that the network has accepted the blocks (p2p.md 9); this module checks that they follow its rules.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from chaindb import clock
from chainvm.errors import InvalidBlock, NotProcessing, UnknownParent
from chainvm.port import Block, BlockContext, HeadMoved
from network_app.chains.backend import ChainBackend
from network_app.chains.outer_blocks import HIGHEST, OuterRows
from network_app.chains.voting import DeferredVM
from network_app.ports import AcceptResult, BlockRef, BlockRejection, NotYet
from network_app.proposervm.block import SignedBlock, parse
from network_app.proposervm.errors import OuterBlockError, OuterBlockReason, OuterBlockTooEarly
from network_app.proposervm.verification import ParentContext
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.services import clock_follows_blocks, move_clock
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class _Verification(Generic[B]):
    """A block whose outer block is valid."""

    block: ProposerBlock[B]
    facts: ParentContext
    """Facts that are needed to verify its child."""
    now: int
    """The node's time after the block is accepted, Unix seconds."""


class _NewBlocks(NamedTuple, Generic[B]):
    """New blocks, each the child of the one before it, the first of the last accepted block."""

    blocks: list[_Verification[B]]
    stopped_by: Exception | None
    """Why the blocks that were given after them are missing."""


def invalid(block: ProposerBlock[B], reason: object, *, spoiled: bool = False) -> BlockRejection:
    """Return the error for a rejected block."""
    return BlockRejection(block.block_id, block.height, str(reason), spoiled=spoiled)


class Acceptor(Generic[B]):
    """Accepts blocks of one chain that the network has accepted before.

    Args:
        rows: The outer blocks of its accepted blocks.
        inner: The inner chain.
        vm: The chain with its outer blocks.
        building: Counts blocks, by the first one's height, as outstanding while they are accepted.
    """

    def __init__(
        self,
        rows: OuterRows,
        inner: ChainBackend[B],
        vm: DeferredVM[B],
        *,
        building: Callable[[int], AbstractContextManager[None]],
    ) -> None:
        self.vm = vm
        self._rows = rows
        self._inner = inner
        self._building = building

    def accept(self, raws: Sequence[bytes]) -> AcceptResult:
        """Verify and accept blocks in order; see `ports.AcceptedChain.accept`."""
        with self.vm.lock:
            vm = self.vm.get()
            vm.last_accepted()
            now = clock.now()
            new = self._verify_outer(vm, raws, now)
            accepted, reason = self._accept_all(vm, new.blocks, now)
            if vm.last.options and raws and self.parse(raws[-1]).block_id == vm.last.outer_id:
                # Consensus has accepted this proposal. It is stored with its option, which is missing.
                raise NotYet("the option of an accepted proposal is missing")
        if reason is not None or new.stopped_by is not None:
            raise reason or new.stopped_by or AssertionError
        return accepted

    def _accept_all(
        self, vm: ProposerVM[B], verified: Sequence[_Verification[B]], now: int
    ) -> tuple[AcceptResult, BlockRejection | None]:
        """Accept blocks up to the first invalid inner block; return the accepted ones and the reason to stop.

        Raises:
            HeadMoved: Another process has accepted a block in the meantime.
        """
        if not verified:
            return AcceptResult(), None
        with self._building(verified[0].block.height):
            verified, refused = self._verify(vm, verified)
            return self._accept(vm, verified, now) if verified else AcceptResult(), refused

    def parse(self, raw: bytes) -> ProposerBlock[B]:
        """Parse a block as far as its height; the rest is not validated.

        Raises:
            BlockRejection: The bytes are not a block.
        """
        try:
            block = self.vm.get().parse(raw)
        except OuterBlockError as error:
            # A block cut off before its signature still hashes to the ID of the whole block, which may be accepted.
            spoiled = error.reason is OuterBlockReason.CUT_OFF
            raise BlockRejection(ID(sha256(raw)), None, str(error), spoiled=spoiled) from error
        except InvalidBlock as error:
            raise BlockRejection(parse(raw).outer_id, None, str(error)) from error
        if block.height > HIGHEST:
            raise invalid(block, "no chain is so high")
        return block

    def _verify_outer(self, vm: ProposerVM[B], raws: Sequence[bytes], now: int) -> _NewBlocks[B]:
        """Return the blocks whose outer blocks are valid.

        On a local network with a single block producer the clock follows the blocks.
        """
        parent, leaps = vm.last, clock_follows_blocks()
        found: list[_Verification[B]] = []
        reason: Exception | None = None
        try:
            for block in self._new(vm, raws):
                if leaps and isinstance(block.outer, SignedBlock):
                    now = max(now, block.outer.time)
                parent = _facts_of(vm, block, parent, now)
                found.append(_Verification(block, parent, now))
        except (InvalidBlock, NotYet) as stopped_by:
            reason = stopped_by
        if found and found[-1].facts.options:
            found.pop()
            reason = reason or NotYet("the option of a proposal is missing")
        return _NewBlocks(found, reason)

    def _new(self, vm: ProposerVM[B], raws: Sequence[bytes]) -> Iterator[ProposerBlock[B]]:
        """Parse blocks in order, and skip those that are already accepted.

        Raises:
            BlockRejection: The bytes are not a block, or a different block is accepted at its height.
        """
        for raw in raws:
            block = self.parse(raw)
            if block.height > vm.last.height:
                yield block
                continue
            accepted = vm.get_block_id_at_height(block.height)
            if block.block_id != accepted:
                raise invalid(block, f"at its height the block {accepted} is accepted")

    def _verify(
        self, vm: ProposerVM[B], new: Sequence[_Verification[B]]
    ) -> tuple[list[_Verification[B]], BlockRejection | None]:
        """Verify inner blocks together, up to the first invalid one; return the valid ones and the reason to stop.

        Raises:
            HeadMoved: Another process has accepted a block in the meantime.
        """
        refused: BlockRejection | None = None
        branch: list[_Verification[B]] = []
        for item in new:
            try:
                inner = self._inner.read(item.block.inner)
            except InvalidBlock as error:
                refused = invalid(item.block, error)
                break
            branch.append(replace(item, block=ProposerBlock(item.block.outer, inner)))
        if branch and branch[-1].facts.options:
            branch.pop()
        if not branch or self._verify_together(vm, branch) is None:
            return branch, refused
        verified: list[_Verification[B]] = []
        for unit in _units(branch):
            reason = self._verify_together(vm, unit)
            if reason is not None:
                return verified, invalid(unit[0].block, reason)
            verified += unit
        return verified, refused

    def _verify_together(
        self, vm: ProposerVM[B], branch: Sequence[_Verification[B]]
    ) -> Exception | None:
        """Verify inner blocks, all or none; return why they are rejected.

        Raises:
            HeadMoved: Another process has accepted a block in the meantime.
        """
        last = vm.last.outer_id
        try:
            vm.verify_all(
                [item.block for item in branch],
                [BlockContext(branch[-1].now, decided=True)] * len(branch),
                outer=[other.facts for other in branch],
            )
        except (NotProcessing, UnknownParent) as error:
            raise HeadMoved from error
        except InvalidBlock as error:
            if vm.last_accepted() != last:
                raise HeadMoved from error
            return error
        return None

    def _accept(
        self, vm: ProposerVM[B], verified: Sequence[_Verification[B]], now: int
    ) -> AcceptResult:
        """Accept verified blocks in one transaction, which also moves the clock to their time.

        Raises:
            HeadMoved: Another process has accepted a block in the meantime.
        """
        last = verified[-1]

        def written(block_id: ID) -> None:
            if block_id == last.block.block_id and last.now > now:
                move_clock(last.now)

        vm.accept([item.block.block_id for item in verified], written=written)
        return AcceptResult(
            tuple(BlockRef(entry.block.height, entry.block.block_id) for entry in verified),
            sum(self._inner.transactions_in(other.block.inner) for other in verified),
        )


def _facts_of(
    vm: ProposerVM[B], block: ProposerBlock[B], parent: ParentContext, now: int
) -> ParentContext:
    """Verify an outer block and return the facts that are needed to verify its child.

    Raises:
        BlockRejection: The block breaks a rule.
        UnknownParent: Blocks before it are missing.
        NotYet: The block may become valid later.
    """
    if block.height > parent.height + 1:
        raise UnknownParent(block.block_id, block.parent_id)
    # A P-Chain block may name the height of its parent, which is accepted before it.
    reached = parent.height if vm.chain_id == PRIMARY_NETWORK_ID else 0
    try:
        return vm.verify_outer(block, parent, now=now, bootstrapping=True, reached=reached)
    except OuterBlockTooEarly as error:
        raise NotYet(str(error)) from error
    except OuterBlockError as error:
        spoiled = error.reason is OuterBlockReason.WRONG_SIGNATURE
        raise invalid(block, error, spoiled=spoiled) from error


def _units(branch: Sequence[_Verification[B]]) -> list[list[_Verification[B]]]:
    """Split blocks into the smallest units that can be accepted: single blocks, or proposals with their options."""
    units: list[list[_Verification[B]]] = []
    for item in branch:
        if units and units[-1][-1].facts.options:
            units[-1].append(item)
        else:
            units.append([item])
    return units

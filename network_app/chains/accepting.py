"""Others' blocks: verified and accepted through the proposer VM, under the lock of who decides on the chain's."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Generic, TypeVar

from chaindb import clock
from chainvm.port import Block, HeadMoved
from chainvm.processing import NotProcessing
from chainvm.processing import UnknownParent as ParentNotHere
from network_app.chains.consensus import OuterConsensus
from network_app.chains.inner import InnerChain
from network_app.chains.outer_blocks import HIGHEST, OuterRows
from network_app.chains.trust import Judge, Judged, Trust, invalid
from network_app.ports import Accepted, BlockPlace, InvalidBlock, UnknownParent
from network_app.proposervm.block import parse
from network_app.proposervm.errors import CutOff, OuterBlockError
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.services import clock as network_clock
from primitives.hashing import sha256
from primitives.ids import ID, NodeID

B = TypeVar("B", bound=Block)


class Acceptor(Generic[B]):
    """Takes in others' blocks of one chain.

    Args:
        rows: The outer blocks of its accepted blocks.
        inner: The chain without them.
        consensus: Who decides on its blocks.
        judge: Verifies their outer blocks.
        building: Counts blocks, by the first one's height, as outstanding while they are accepted.
        after: Called whenever blocks were accepted.
    """

    def __init__(
        self,
        rows: OuterRows,
        inner: InnerChain[B],
        consensus: OuterConsensus[B],
        judge: Judge[B],
        *,
        building: Callable[[int], AbstractContextManager[None]],
        after: Callable[[], None],
    ) -> None:
        self.consensus = consensus
        self._rows = rows
        self._inner = inner
        self._judge = judge
        self._building = building
        self._after = after

    def accept(self, raws: Sequence[bytes], trust: Trust) -> Accepted:
        """Verify and accept blocks in order; see `ports.Chain.accept`."""
        with self.consensus.lock:
            vm = self.consensus.outer
            vm.last_accepted()
            now = clock.now()
            run = self._judge.judge(vm, self._new(vm, raws, trust), trust, now)
            accepted, reason = self._accept_all(vm, run.blocks, now)
        if reason is not None or run.stopped_by is not None:
            raise reason or run.stopped_by or AssertionError
        return accepted

    def _accept_all(
        self, vm: ProposerVM[B], judged: Sequence[Judged[B]], now: int
    ) -> tuple[Accepted, InvalidBlock | None]:
        """Accept blocks as far as what is inside of them is right, and say what stops them.

        Raises:
            UnknownParent: Another process has accepted a block meanwhile.
        """
        if not judged:
            return Accepted(), None
        with self._building(judged[0].block.height):
            verified, refused = self._verify(vm, judged)
            return self._accept(vm, verified, now) if verified else Accepted(), refused

    def parse(self, raw: bytes) -> ProposerBlock[B]:
        """Read a block as far as its place goes; what stands behind that may be anything.

        Raises:
            InvalidBlock: It is none.
        """
        try:
            block = self.consensus.outer.parse(raw)
        except OuterBlockError as error:
            # A block without its signature hashes to the ID of the whole, which may well be accepted.
            spoiled = isinstance(error, CutOff)
            raise InvalidBlock(ID(sha256(raw)), None, str(error), spoiled=spoiled) from error
        except self._inner.refused as error:
            raise InvalidBlock(parse(raw).outer_id, None, str(error)) from error
        if block.height > HIGHEST:
            raise invalid(block, "no chain is so high")
        return block

    def _new(
        self, vm: ProposerVM[B], raws: Sequence[bytes], trust: Trust
    ) -> Iterator[tuple[ProposerBlock[B], Collection[NodeID]]]:
        """Read blocks one after the other, and pass over those that are accepted already.

        Raises:
            InvalidBlock: One is none, or another one is accepted at its height.
        """
        for index, raw in enumerate(raws):
            block = self.parse(raw)
            if block.height > vm.last.height:
                yield block, trust.told_by(index)
                continue
            accepted = vm.get_block_id_at_height(block.height)
            if block.block_id != accepted:
                raise invalid(block, f"at its height the block {accepted} is accepted")

    def _verify(
        self, vm: ProposerVM[B], judged: Sequence[Judged[B]]
    ) -> tuple[list[Judged[B]], InvalidBlock | None]:
        """Verify what is inside of blocks together, as far as they are right; and say what stops them.

        Raises:
            UnknownParent: Another process has accepted a block meanwhile.
        """
        refused: InvalidBlock | None = None
        line: list[Judged[B]] = []
        for one in judged:
            try:
                inner = self._inner.read(one.block.inner)
            except self._inner.refused as error:
                refused = invalid(one.block, error)
                break
            line.append(replace(one, block=ProposerBlock(one.block.outer, inner)))
        if line and line[-1].facts.options:
            line.pop()
        if not line or self._verify_together(vm, line) is None:
            return line, refused
        verified: list[Judged[B]] = []
        for unit in _units(line):
            reason = self._verify_together(vm, unit)
            if reason is not None:
                return verified, invalid(unit[0].block, reason)
            verified += unit
        return verified, refused

    def _verify_together(self, vm: ProposerVM[B], line: Sequence[Judged[B]]) -> Exception | None:
        """Verify what is inside of blocks, all or none; return why they are refused.

        Raises:
            UnknownParent: Another process has accepted a block meanwhile.
        """
        last = vm.last.outer_id
        try:
            vm.verify_all(
                [one.block for one in line],
                now=line[-1].now,
                outer=[one.facts for one in line],
            )
        except (HeadMoved, NotProcessing, ParentNotHere) as error:
            raise _overtaken() from error
        except self._inner.refused as error:
            if vm.last_accepted() != last:
                raise _overtaken() from error
            return error
        return None

    def _accept(self, vm: ProposerVM[B], verified: Sequence[Judged[B]], now: int) -> Accepted:
        """Accept verified blocks in one transaction, in which the clock follows them.

        Raises:
            UnknownParent: Another process has accepted a block meanwhile.
        """
        last = verified[-1]

        def written(block_id: ID) -> None:
            if block_id == last.block.block_id and last.now > now:
                network_clock.follow(last.now)

        try:
            vm.accept([one.block.block_id for one in verified], written=written)
        except HeadMoved as error:
            raise _overtaken() from error
        self._after()
        return Accepted(
            tuple(BlockPlace(one.block.height, one.block.block_id) for one in verified),
            sum(self._inner.transactions_in(one.block.inner) for one in verified),
        )


def _overtaken() -> UnknownParent:
    return UnknownParent("another block was accepted meanwhile")


def _units(line: Sequence[Judged[B]]) -> list[list[Judged[B]]]:
    """Split blocks into the least that can be accepted: single ones, proposals with their options."""
    units: list[list[Judged[B]]] = []
    for one in line:
        if units and units[-1][-1].facts.options:
            units[-1].append(one)
        else:
            units.append([one])
    return units

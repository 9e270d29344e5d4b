"""Others' blocks, read and held against the rules of outer blocks: what may be accepted next, and when.

What is inside is only read here; its own chain verifies it when it is accepted.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.conf import settings

from chaindb import clock
from network_app.chains.inner import InnerBlock, Unreadable
from network_app.chains.wrapping import Wrapper, inner_facts
from network_app.ports import InvalidBlock, NotYet, UnknownParent, Unvouched
from network_app.proposervm import signing
from network_app.proposervm.block import OuterBlock, SignedBlock, parse
from network_app.proposervm.errors import (
    CutOff,
    HeightNotReached,
    NotYetValid,
    OuterBlockError,
    ProposerMismatch,
    UnexpectedProposer,
    WrongSignature,
)
from network_app.proposervm.verification import ParentFacts, follow, verify_child
from network_app.services import clock as network_clock
from network_app.store import outer
from platform_app.apps import platform_chain
from primitives.hashing import sha256
from primitives.ids import ID, NodeID

_log = logging.getLogger(__name__)

HIGHEST = (1 << 62) - 1
"""Of heights that the rows' keys have room for."""


class Candidate(NamedTuple):
    """A block whose place was read."""

    outer: OuterBlock
    inner: InnerBlock

    @property
    def proposer(self) -> NodeID | None:
        """Who is said to have signed it; None: nobody signs such a block."""
        return self.outer.proposer if isinstance(self.outer, SignedBlock) else None


class Verified(NamedTuple):
    """A block whose outer rules hold."""

    outer: OuterBlock
    inner: InnerBlock
    facts: ParentFacts
    """What its child needs to know of it."""
    now: int
    """The node's time once it is accepted, Unix seconds."""
    leaps: bool
    """Whether the clock does not show that yet."""

    vouched: bool
    """Whether somebody vouches for it, and so for all before it."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is believed of blocks besides their signatures; see `ports.Chain.accept`."""

    bootstrapping: bool = False
    agreed: bool = False
    tellers: Sequence[Collection[NodeID]] = field(default=())

    def told_by(self, place: int) -> Collection[NodeID]:
        """Return who told of the block at a place of the run."""
        return self.tellers[place] if place < len(self.tellers) else ()


class Run(NamedTuple):
    """New blocks that follow each other and the last accepted one."""

    blocks: list[Verified]
    stopped_by: InvalidBlock | UnknownParent | NotYet | None
    """Why those that were given after them are not among them."""


def invalid(one: Candidate | Verified, reason: str) -> InvalidBlock:
    """Return that a block is refused."""
    return InvalidBlock(one.outer.outer_id, one.inner.height, reason)


class Verifier:
    """Reads and verifies others' blocks of one chain.

    Args:
        wrapper: Its outer blocks, and the chain inside.
    """

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper
        self._inner = wrapper.inner
        self._known_p_height = 0
        self._said = False
        """Whether the log has named the setting that says who makes blocks."""

    def read(self, raw: bytes) -> Candidate:
        """Read a block as far as its place goes; what stands behind that may be anything.

        Raises:
            InvalidBlock: It is none.
        """
        try:
            outside = parse(raw)
        except OuterBlockError as error:
            # A block without its signature hashes to the ID of the whole, which may well be accepted.
            spoiled = isinstance(error, CutOff)
            raise InvalidBlock(ID(sha256(raw)), None, str(error), spoiled=spoiled) from error
        try:
            inside = self._inner.glance(outside.inner)
        except Unreadable as error:
            raise InvalidBlock(outside.outer_id, None, str(error)) from error
        if inside.height > HIGHEST:
            raise InvalidBlock(outside.outer_id, inside.height, "no chain is so high")
        return Candidate(outside, inside)

    def producers(self) -> frozenset[NodeID]:
        """Return who makes blocks by now, as far as it is known here: after the last one, and since."""
        return self._producers_since(self._wrapper.last())

    def signer(self, raw: bytes, among: Collection[NodeID]) -> NodeID | None:
        """Return which of some nodes has signed a block; see `ports.Chain.signer`."""
        try:
            block = parse(raw)
            if not isinstance(block, SignedBlock) or block.proposer not in among:
                return None
            message = signing.header(self._inner.chain_id, block.parent_id, block.outer_id)
            signing.verify_signature(block.certificate, message, block.signature)
        except OuterBlockError as error:
            raise InvalidBlock(ID(sha256(raw)), None, str(error)) from error
        return block.proposer

    def run(self, raws: Sequence[bytes], last: ParentFacts, trust: Trust) -> Run:
        """Return the blocks that may be accepted as far as their outer rules go.

        What nobody signs, the first block and options, is among them if somebody vouches for it: by a
        signature further on, or as `trust` says. What is inside is read last, of what gets so far.

        On a local network the clock follows the one who makes the blocks. Where several take turns it
        follows none of them, since each could move everybody's, but what those agree on whom this
        node trusts.

        Args:
            raws: Outer blocks, in order; those that are accepted already are left out.
            last: Of the last accepted block.
            trust: What is believed of them.
        """
        run = self._walk(raws, last, trust)
        whole = self._read_whole(_vouched(run))
        if whole.blocks and whole.blocks[-1].facts.options:
            missing = NotYet("the option of a proposal is missing")
            return Run(whole.blocks[:-1], whole.stopped_by or missing)
        return whole

    def _walk(self, raws: Sequence[bytes], last: ParentFacts, trust: Trust) -> Run:
        """Verify one block after the other, up to one that stops all after it."""
        leaping = network_clock.follows() and (trust.agreed or not self._take_turns(last))
        found: list[Verified] = []
        height, shown = last.height, clock.now()
        now = shown
        try:
            for place, raw in enumerate(raws):
                one = self.read(raw)
                if one.inner.height <= height:
                    self._verify_accepted(one)
                    continue
                if leaping and isinstance(one.outer, SignedBlock):
                    now = max(now, one.outer.time)
                facts = self._verify(one, last, now, bootstrapping=trust.bootstrapping)
                vouched = trust.agreed or one.proposer is not None
                if not vouched and (told_by := trust.told_by(place)):
                    vouched = not self._makers(last, found).isdisjoint(told_by)
                found.append(Verified(*one, facts, now, leaps=now > shown, vouched=vouched))
                last = facts
        except (InvalidBlock, UnknownParent, NotYet) as reason:
            return Run(found, reason)
        return Run(found, None)

    def _read_whole(self, run: Run) -> Run:
        """Read what is inside of blocks whose outer rules hold."""
        found: list[Verified] = []
        for one in run.blocks:
            try:
                found.append(one._replace(inner=self._inner.parse(one.inner)))
            except Unreadable as error:
                return Run(found, invalid(one, str(error)))
        return Run(found, run.stopped_by)

    def _makers(self, parent: ParentFacts, found: Sequence[Verified]) -> frozenset[NodeID]:
        """Return who may vouch for a child that nobody signed by telling of it.

        Of an option that is who made the proposal, of the first block whoever makes blocks.
        """
        if parent.options and found and isinstance(found[-1].outer, SignedBlock):
            proposer = found[-1].outer.proposer
            if proposer is not None:
                return frozenset({proposer})
        return self._producers_since(parent)

    def _producers_since(self, last: ParentFacts) -> frozenset[NodeID]:
        """Return who makes blocks after a block, and who does by now."""
        return self._producers_at(last.p_chain_height) | self._producers_at(
            platform_chain().tip().height
        )

    def _producers_at(self, p_height: int | None) -> frozenset[NodeID]:
        """Return who makes blocks as of a height of the P-Chain; nobody, if it is not there yet."""
        try:
            return frozenset(self._wrapper.proposers(p_height or 0))
        except HeightNotReached:
            return frozenset()

    def _take_turns(self, last: ParentFacts) -> bool:
        """Say whether there are several who make blocks."""
        return len(self._producers_at(last.p_chain_height)) != 1

    def _verify_accepted(self, one: Candidate) -> None:
        """See that a block that is not above the last accepted one is accepted itself.

        Raises:
            InvalidBlock: Another one is, at its height.
        """
        height = one.inner.height
        found = outer.ids_at(self._inner.alias, [height])
        accepted = found.get(height, self._inner.genesis().block_id)
        if one.outer.outer_id != accepted:
            raise invalid(one, f"at its height the block {accepted} is accepted")

    def _verify(
        self, one: Candidate, last: ParentFacts, now: int, *, bootstrapping: bool
    ) -> ParentFacts:
        """Verify a block's outer rules and return what its child needs to know of it.

        Raises:
            InvalidBlock: One is broken.
            UnknownParent: Blocks are missing before it.
            NotYet: It may be right later.
        """
        if one.inner.height > last.height + 1:
            raise UnknownParent(f"{one.outer.parent_id} is not accepted here")
        facts = inner_facts(one.inner)
        try:
            verify_child(
                one.outer,
                last,
                inner=facts,
                chain_id=self._inner.chain_id,
                now=now,
                p_height=self._p_height(one.outer, last),
                bootstrapping=bootstrapping,
                proposers=self._wrapper.proposers,
                upgrades=self._wrapper.upgrades,
            )
            makes_blocks = not bootstrapping or self._makes_blocks(one.outer, last)
        except NotYetValid as error:
            raise NotYet(str(error)) from error
        except WrongSignature as error:
            outer_id, height = one.outer.outer_id, one.inner.height
            raise InvalidBlock(outer_id, height, str(error), spoiled=True) from error
        except OuterBlockError as error:
            if isinstance(error, UnexpectedProposer | ProposerMismatch):
                self._name_setting()
            raise invalid(one, str(error)) from error
        if not makes_blocks:
            self._name_setting()
            raise invalid(one, "whoever signed it makes no blocks of this network")
        return follow(last, one.outer, facts)

    def _name_setting(self) -> None:
        """Name the setting that may be wrong here when another than it says has made a block; once."""
        if not self._said and settings.NODE.producers != ("all",):
            self._said = True
            _log.warning(
                "%s-Chain: a block is not by whom this node takes for its maker. NODE_PRODUCERS has to "
                "be as on the network's other nodes: all, where its validators take turns",
                self._inner.alias,
            )

    def _makes_blocks(self, block: OuterBlock, parent: ParentFacts) -> bool:
        """Say whether a block of the past was signed by one of those who take turns, in whichever slot.

        By nobody where the schedule names nobody.

        Unspecified: the reference believes the beacons' majority. There is no voting here, and a single
        peer may be the one who knows more, so a signature is asked for.
        """
        if not isinstance(block, SignedBlock) or parent.p_chain_height is None:
            return True
        makers = self._wrapper.proposers(parent.p_chain_height)
        if block.proposer is None:
            return not makers
        return block.proposer in makers

    def _p_height(self, block: OuterBlock, last: ParentFacts) -> int:
        """Return the P-Chain's height; it is asked for only if what is remembered does not do."""
        if self._inner.alias == "P":
            return last.height
        if isinstance(block, SignedBlock) and block.p_chain_height > self._known_p_height:
            self._known_p_height = platform_chain().tip().height
        return self._known_p_height


def _vouched(run: Run) -> Run:
    """Leave out the last blocks, if nobody vouches for them."""
    blocks = list(run.blocks)
    unvouched: Unvouched | None = None
    while blocks and not blocks[-1].vouched:
        unvouched = Unvouched(f"nobody vouches for {blocks.pop().outer.outer_id}")
    if unvouched is None or isinstance(run.stopped_by, InvalidBlock):
        return Run(blocks, run.stopped_by)
    return Run(blocks, unvouched)

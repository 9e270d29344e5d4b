"""Others' blocks, read and held against the rules of outer blocks: what may be accepted next, and when.

What is inside is only read here; its own chain verifies it when it is accepted.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chaindb import clock
from network_app.chains.inner import InnerBlock, Unreadable
from network_app.chains.wrapping import Wrapper, inner_facts
from network_app.ports import InvalidBlock, NotYet, UnknownParent
from network_app.proposervm.block import OuterBlock, SignedBlock, parse
from network_app.proposervm.errors import NotYetValid, OuterBlockError
from network_app.proposervm.verification import ParentFacts, follow, verify_child
from network_app.services import clock as network_clock
from network_app.store import outer
from platform_app.selectors import chain
from primitives.hashing import sha256
from primitives.ids import ID

HIGHEST = (1 << 62) - 1
"""Of heights that the rows' keys have room for."""


class Candidate(NamedTuple):
    """A block that was read."""

    outer: OuterBlock
    inner: InnerBlock


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

    @property
    def is_signed(self) -> bool:
        """Whether who has the right to make it vouches for it, and so for all before it."""
        return isinstance(self.outer, SignedBlock) and self.outer.proposer is not None


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

    def read(self, raw: bytes) -> Candidate:
        """Read a block.

        Raises:
            InvalidBlock: It is none.
        """
        try:
            outside = parse(raw)
        except OuterBlockError as error:
            raise InvalidBlock(ID(sha256(raw)), None, str(error)) from error
        try:
            inside = self._inner.parse(outside.inner)
        except Unreadable as error:
            raise InvalidBlock(outside.outer_id, None, str(error)) from error
        if inside.height > HIGHEST:
            raise InvalidBlock(outside.outer_id, inside.height, "no chain is so high")
        return Candidate(outside, inside)

    def run(self, raws: Sequence[bytes], last: ParentFacts, *, bootstrapping: bool) -> Run:
        """Return the blocks that may be accepted as far as their outer rules go.

        On a local network the clock follows who has the right to make blocks. It does not follow the
        first block, which nobody signs, unless a signed one stands on it; but while bootstrapping it
        follows all, since those are blocks that the nodes which this one trusts have agreed on.

        Args:
            raws: Outer blocks, in order; those that are accepted already are left out.
            last: Of the last accepted block.
            bootstrapping: Whether who proposes when is not asked.
        """
        shown = clock.now()
        run = self._walk(raws, last, shown, bootstrapping=bootstrapping)
        if not bootstrapping and not _is_vouched_for(run.blocks):
            calm = self._walk(raws, last, shown, bootstrapping=bootstrapping, leaping=False)
            found = run.stopped_by if isinstance(run.stopped_by, InvalidBlock) else calm.stopped_by
            run = Run(calm.blocks, found)
        if run.blocks and run.blocks[-1].facts.options:
            missing = NotYet("the option of a proposal is missing")
            return Run(run.blocks[:-1], run.stopped_by or missing)
        return run

    def _walk(
        self,
        raws: Sequence[bytes],
        last: ParentFacts,
        shown: int,
        *,
        bootstrapping: bool,
        leaping: bool = True,
    ) -> Run:
        """Verify one block after the other, up to one that stops all after it."""
        leaping = leaping and network_clock.follows()
        found: list[Verified] = []
        height, now = last.height, shown
        try:
            for raw in raws:
                one = self.read(raw)
                if one.inner.height <= height:
                    self._verify_accepted(one)
                    continue
                if leaping and isinstance(one.outer, SignedBlock):
                    now = max(now, one.outer.time)
                last = self._verify(one, last, now, bootstrapping=bootstrapping)
                found.append(Verified(*one, last, now, leaps=now > shown))
        except (InvalidBlock, UnknownParent, NotYet) as reason:
            return Run(found, reason)
        return Run(found, None)

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
        except OuterBlockError as error:
            raise invalid(one, str(error)) from error
        if not makes_blocks:
            raise invalid(one, "whoever signed it makes no blocks of this network")
        return follow(last, one.outer, facts)

    def _makes_blocks(self, block: OuterBlock, parent: ParentFacts) -> bool:
        """Say whether a block of the past was signed by one of those who take turns, in whichever slot.

        Unspecified: the reference believes the beacons' majority. There is no voting here, and a single
        peer may be the one who knows more, so a signature is asked for.
        """
        if not isinstance(block, SignedBlock) or parent.p_chain_height is None:
            return True
        return block.proposer in self._wrapper.proposers(parent.p_chain_height)

    def _p_height(self, block: OuterBlock, last: ParentFacts) -> int:
        """Return the P-Chain's height; it is asked for only if what is remembered does not do."""
        if self._inner.alias == "P":
            return last.height
        if isinstance(block, SignedBlock) and block.p_chain_height > self._known_p_height:
            self._known_p_height = chain.tip().height
        return self._known_p_height


def _is_vouched_for(blocks: Sequence[Verified]) -> bool:
    """Say whether the clock, as far as it has to leap for blocks, follows somebody's signature."""
    return not blocks or not blocks[-1].leaps or any(one.is_signed for one in blocks)

"""What is believed of others' blocks: their signatures, and what those say who make blocks, or are trusted.

Without voting a signature of whoever may make blocks is what decides. What nobody signs, the first block
and options, needs somebody who vouches for it.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from django.conf import settings

from chainvm.port import Block
from network_app.chains.validators import PlatformValidators
from network_app.ports import InvalidBlock, NotYet, UnknownParent, Unvouched
from network_app.proposervm.block import SignedBlock
from network_app.proposervm.errors import (
    HeightNotReached,
    NotYetValid,
    OuterBlockError,
    ProposerMismatch,
    UnexpectedProposer,
    WrongSignature,
)
from network_app.proposervm.verification import ParentFacts
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.services import clock as network_clock
from primitives.ids import PRIMARY_NETWORK_ID, NodeID

_log = logging.getLogger(__name__)

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class Trust:
    """What is believed of blocks besides their signatures; see `ports.Chain.accept`."""

    bootstrapping: bool = False
    agreed: bool = False
    tellers: Sequence[Collection[NodeID]] = field(default=())

    def told_by(self, index: int) -> Collection[NodeID]:
        """Return who told of the block with this index."""
        return self.tellers[index] if index < len(self.tellers) else ()


@dataclass(frozen=True, slots=True)
class Judged(Generic[B]):
    """A block whose outer rules hold."""

    block: ProposerBlock[B]
    facts: ParentFacts
    """What its child needs to know of it."""
    now: int
    """The node's time once it is accepted, Unix seconds."""
    vouched: bool
    """Whether somebody vouches for it, and so for all before it."""


class Judgement(NamedTuple, Generic[B]):
    """New blocks that follow each other and the last accepted one."""

    blocks: list[Judged[B]]
    stopped_by: Exception | None
    """Why those that were given after them are not among them."""


def invalid(block: ProposerBlock[B], reason: object, *, spoiled: bool = False) -> InvalidBlock:
    """Return that a block is refused."""
    return InvalidBlock(block.block_id, block.height, str(reason), spoiled=spoiled)


class Judge(Generic[B]):
    """Verifies others' outer blocks of one chain, and sees who vouches for them.

    Args:
        alias: Of the chain.
        validators: Who makes blocks, by P-Chain height.
    """

    def __init__(self, alias: str, validators: PlatformValidators) -> None:
        self._alias = alias
        self._validators = validators
        self._said = False
        """Whether the log has named the setting that says who makes blocks."""

    def producers_since(self, last: ParentFacts) -> frozenset[NodeID]:
        """Return who makes blocks after a block, and who does by now."""
        return self._makers(last.p_chain_height) | self._makers(self._validators.current_height())

    def judge(
        self,
        vm: ProposerVM[B],
        blocks: Iterable[tuple[ProposerBlock[B], Collection[NodeID]]],
        trust: Trust,
        shown: int,
    ) -> Judgement[B]:
        """Return the blocks that may be accepted as far as their outer rules go.

        On a local network the clock follows the one who makes the blocks. Where several take turns it
        follows none of them, since each could move everybody's, but what those agree on whom this
        node trusts.

        Args:
            vm: The chain; nothing becomes processing.
            blocks: Those above its last accepted one, each with who told of it.
            trust: What is believed of them.
            shown: The node's time in Unix seconds.
        """
        parent, now = vm.last, shown
        leaps = network_clock.follows() and (trust.agreed or len(self._makers_after(parent)) == 1)
        found: list[Judged[B]] = []
        reason: Exception | None = None
        try:
            for block, told_by in blocks:
                if leaps and isinstance(block.outer, SignedBlock):
                    now = max(now, block.outer.time)
                facts = self._verify(vm, block, parent, now, bootstrapping=trust.bootstrapping)
                vouched = trust.agreed or block.proposer is not None
                if not vouched and told_by:
                    vouched = not self._vouching(parent, found).isdisjoint(told_by)
                found.append(Judged(block, facts, now, vouched))
                parent = facts
        except (InvalidBlock, UnknownParent, NotYet) as stopped_by:
            reason = stopped_by
        return _whole(found, reason)

    def _vouching(self, parent: ParentFacts, found: Sequence[Judged[B]]) -> frozenset[NodeID]:
        """Return who may vouch for a child that nobody signed by telling of it.

        Of an option that is who made the proposal, of the first block whoever makes blocks.
        """
        if parent.options and found and found[-1].block.proposer is not None:
            return frozenset({found[-1].block.proposer})
        return self.producers_since(parent)

    def _makers_after(self, parent: ParentFacts) -> frozenset[NodeID]:
        return self._makers(parent.p_chain_height)

    def _makers(self, p_height: int | None) -> frozenset[NodeID]:
        """Return who makes blocks as of a height of the P-Chain; nobody, if it is not there yet."""
        try:
            return frozenset(self._validators.proposers(p_height or 0))
        except HeightNotReached:
            return frozenset()

    def _verify(
        self,
        vm: ProposerVM[B],
        block: ProposerBlock[B],
        parent: ParentFacts,
        now: int,
        *,
        bootstrapping: bool,
    ) -> ParentFacts:
        """Verify a block's outer rules and return what its child needs to know of it.

        Raises:
            InvalidBlock: One is broken.
            UnknownParent: Blocks are missing before it.
            NotYet: It may be right later.
        """
        if block.height > parent.height + 1:
            raise UnknownParent(f"{block.parent_id} is not accepted here")
        # A block of the P-Chain may name its parent, which is accepted before it.
        reached = parent.height if vm.chain_id == PRIMARY_NETWORK_ID else 0
        try:
            facts = vm.verify_outer(
                block, parent, now=now, bootstrapping=bootstrapping, reached=reached
            )
            makes_blocks = not bootstrapping or self._makes_blocks(block, parent)
        except NotYetValid as error:
            raise NotYet(str(error)) from error
        except WrongSignature as error:
            raise invalid(block, error, spoiled=True) from error
        except OuterBlockError as error:
            if isinstance(error, UnexpectedProposer | ProposerMismatch):
                self._name_setting()
            raise invalid(block, error) from error
        if not makes_blocks:
            self._name_setting()
            raise invalid(block, "whoever signed it makes no blocks of this network")
        return facts

    def _makes_blocks(self, block: ProposerBlock[B], parent: ParentFacts) -> bool:
        """Say whether a block of the past was signed by one of those who take turns, in whichever slot.

        By nobody where the schedule names nobody.

        Unspecified: the reference believes the beacons' majority. There is no voting here, and a single
        peer may be the one who knows more, so a signature is asked for.
        """
        if not isinstance(block.outer, SignedBlock) or parent.p_chain_height is None:
            return True
        makers = self._validators.proposers(parent.p_chain_height)
        return not makers if block.proposer is None else block.proposer in makers

    def _name_setting(self) -> None:
        """Name the setting that may be wrong here when another than it says has made a block; once."""
        node = settings.NODE
        if not self._said and not node.votes and node.producers != ("all",):
            self._said = True
            _log.warning(
                "%s-Chain: a block is not by whom this node takes for its maker. NODE_PRODUCERS has to "
                "be as on the network's other nodes: all, where its validators take turns",
                self._alias,
            )


def _whole(found: list[Judged[B]], reason: Exception | None) -> Judgement[B]:
    """Leave out the last blocks, if nobody vouches for them, and a proposal without its option."""
    unvouched: Unvouched | None = None
    while found and not found[-1].vouched:
        unvouched = Unvouched(f"nobody vouches for {found.pop().block.block_id}")
    if unvouched is not None and not isinstance(reason, InvalidBlock):
        reason = unvouched
    if found and found[-1].facts.options:
        found.pop()
        reason = reason or NotYet("the option of a proposal is missing")
    return Judgement(found, reason)

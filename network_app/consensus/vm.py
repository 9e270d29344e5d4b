"""A chain's blocking VM as the engine sees it: all calls run in the chain's thread, one by one."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Generic, Protocol, TypeVar

from typing_extensions import override

from chainvm.errors import InvalidBlock
from chainvm.port import MILLISECONDS, Block, BlockContext, ChainVM, HeadMoved, Written
from network_app.ports import RunInThread
from network_app.proposervm.errors import NotOurSlot
from network_app.proposervm.ports import Proposal
from network_app.snowman.ports import EngineVM
from network_app.snowman.topological import VoteDecision
from primitives.ids import ID

B = TypeVar("B", bound=Block)
B_contra = TypeVar("B_contra", bound=Block, contravariant=True)

_log = logging.getLogger(__name__)


def _nothing(_: ID) -> None:
    """Write no additional rows."""


def _without_proposer(_: Block) -> Proposal:
    """Return the proposal of an unsigned block."""
    return Proposal()


def _at_once() -> None:
    """Do nothing: the commit has already reached the disk."""


class ProposingVM(ChainVM[B], Protocol[B]):
    """A VM that knows the proposers of each slot: `proposervm.vm.ProposerVM`."""

    @override
    def builds_from(self, milliseconds: int, *, minimum_delay: int = 0) -> int | None:
        """Return the time from which this node may build on the preferred block (Unix milliseconds), or None."""


def _milliseconds(seconds: float) -> int:
    """Return the whole milliseconds of a time in seconds."""
    return int(seconds * MILLISECONDS)


def _undecided() -> bool:
    """Return False: votes decide on each block."""
    return False


@dataclass(frozen=True, slots=True)
class VotedChain(Generic[B]):
    """A chain that takes part in consensus, with its settings."""

    alias: str
    """The chain's name."""
    chain_id: ID
    vm: ProposingVM[B]
    run: RunInThread
    """Runs a blocking call in the single thread of this chain."""
    now: Callable[[], float]
    """Returns Unix seconds."""
    minimum_delay: int = 0
    """Minimum seconds between a block's time and the next block built here (p2p.md 11.5)."""
    verified_at: Callable[[B], float] | None = None
    """Returns the time at which a block is verified, Unix seconds; None: `now`."""
    proposal: Callable[[B], Proposal] = _without_proposer
    """Returns the proposer and slot of a processing block."""
    written: Written = _nothing
    """Writes additional rows for an accepted block, in the transaction that stores the block."""
    flush: Callable[[], None] = _at_once
    """Ensures that commits are on the disk, because later messages rely on them."""
    follows: bool = False
    """Whether another node builds all blocks: this node builds none and heeds blocks of that node only."""
    allow_empty: bool = False
    """Whether blocks are built periodically, `minimum_delay` after their parents, even if empty."""
    decided: Callable[[], bool] = _undecided
    """Returns whether blocks count as accepted by the network when they arrive here (`BlockContext.decided`)."""


class BuildOutcome(Enum):
    """The outcome of the last attempt to build a block."""

    BLOCK = auto()
    NOTHING = auto()
    """There was nothing to put into a block."""
    NOT_NOW = auto()
    """The slot belongs to another proposer."""
    FAILED = auto()


class BlockObserver(Protocol[B_contra]):
    """Receives the events of blocks, on the event loop."""

    def issued(self, block: B_contra, proposal: Proposal, seconds: float, *, is_own: bool) -> None:
        """Note a processing block, its proposer, the seconds spent on it, and whether it was built here."""

    def decided(self, decisions: Sequence[VoteDecision], seconds: float) -> None:
        """Note committed decisions: accepted blocks, the blocks rejected for them, and the seconds spent."""

    def built(self, outcome: BuildOutcome) -> None:
        """Note an attempt to build a block."""


class ThreadedVM(EngineVM[B]):
    """`EngineVM` over a blocking VM.

    Processing blocks and the last accepted block are served from memory.

    Unspecified: a VM that fails unexpectedly while it verifies a block counts as rejecting the block, as in
    the reference. A peer's block must not be able to end the engine.

    Args:
        chain: The chain.
        observer: Receives the events of blocks.
    """

    def __init__(self, chain: VotedChain[B], observer: BlockObserver[B]) -> None:
        self._vm = chain.vm
        self.run = chain.run
        self.now = chain.now
        self._minimum_delay = chain.minimum_delay
        self._verified_at = chain.verified_at
        self._proposal = chain.proposal
        self._written = chain.written
        self._flush = chain.flush
        self._allow_empty = chain.allow_empty
        self._is_decided = chain.decided
        self._observer = observer
        self._processing: dict[ID, B] = {}
        self._last: B | None = None
        self._preference: ID | None = None
        self._built: tuple[ID, float] | None = None
        """The block that was last built, and the seconds spent on it."""
        self.last_build = BuildOutcome.NOTHING
        """Outcome of the last attempt to build a block."""
        self.on_accepted: list[Callable[[B], None]] = []
        """Called for each accepted block, in order, after its commit."""
        self.on_refused: list[Callable[[B, Exception], None]] = []
        """Called for each block that breaks a rule."""
        self.lock = asyncio.Lock()
        """Held during a step of the engine; between steps its state agrees with the committed state."""

    async def begin(self) -> B:
        """Drop the processing blocks; return the last accepted block as stored."""
        self._processing.clear()
        self._preference = None
        last: B = await self.run(self._last_accepted)
        self._last = last
        return last

    async def delay(self) -> int | None:
        """Return the milliseconds until this node may build on the preferred block, at least 0; None: it may not."""
        now = _milliseconds(self.now())
        begins = await self.run(
            partial(self._vm.builds_from, now, minimum_delay=self._minimum_delay)
        )
        return None if begins is None else max(0, begins - now)

    @property
    def last(self) -> B | None:
        """The last accepted block, once it is committed; None before the first engine."""
        return self._last

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        """Return a block and its ancestors that are in memory, newest first, and the next parent's ID.

        All are processing except the last accepted block, which is not stored until its option is accepted.
        """
        raws: list[bytes] = []
        while (block := self._held(block_id)) is not None:
            raws.append(block.raw)
            block_id = block.parent_id
        return raws, block_id

    @override
    async def parse(self, raw: bytes) -> B | None:
        try:
            return await self.run(self._parse, raw)
        except InvalidBlock as error:
            _log.debug("bytes that are no block: %s", error)
        except Exception:
            _log.exception("bytes that are no block in an unexpected way")
        return None

    @override
    async def get_block(self, block_id: ID) -> B | None:
        return self._held(block_id) or await self.run(self._vm.get_block, block_id)

    @override
    async def get_block_id_at_height(self, height: int) -> ID | None:
        return await self.run(self._vm.get_block_id_at_height, height)

    @override
    async def build(self) -> B | None:
        block: B | None = None
        context = BlockContext.at(_milliseconds(self.now()))

        def build() -> tuple[B | None, float]:
            began = time.monotonic()
            built = self._vm.build(context, allow_empty=self._allow_empty)
            return built, time.monotonic() - began

        try:
            block, seconds = await self.run(build)
            self._built = None if block is None else (block.block_id, seconds)
            self.last_build = BuildOutcome.NOTHING if block is None else BuildOutcome.BLOCK
        except NotOurSlot as error:
            _log.debug("nothing is built: %s", error)
            self.last_build = BuildOutcome.NOT_NOW
        except HeadMoved:
            raise
        except Exception:
            _log.exception("no block can be built")
            self.last_build = BuildOutcome.FAILED
        self._observer.built(self.last_build)
        return block

    @override
    async def verify(self, block: B) -> bool:
        time_of_check = self.now() if self._verified_at is None else self._verified_at(block)
        context = BlockContext.at(_milliseconds(time_of_check), decided=self._is_decided())

        def verify() -> tuple[Proposal, float]:
            began = time.monotonic()
            self._vm.verify(block, context)
            return self._proposal(block), time.monotonic() - began

        try:
            proposal, seconds = await self.run(verify)
        except InvalidBlock as error:
            _log.debug("block %s at height %d: %s", block.block_id, block.height, error)
            for listener in self.on_refused:
                listener(block, error)
            return False
        except HeadMoved:
            raise
        except Exception:
            _log.exception("block %s at height %d", block.block_id, block.height)
            return False
        self._processing[block.block_id] = block
        is_own = self._built is not None and self._built[0] == block.block_id
        if self._built is not None and is_own:
            seconds += self._built[1]
        self._observer.issued(block, proposal, seconds, is_own=is_own)
        return True

    @override
    async def options(self, block: B) -> Sequence[B]:
        found: tuple[B, B] | None = await self.run(self._vm.options, block)
        return found or ()

    @override
    async def set_preference(self, block_id: ID) -> None:
        if block_id != self._preference:
            await self.run(self._vm.set_preference, block_id)
            self._preference = block_id

    @override
    async def decide(self, decisions: Sequence[VoteDecision]) -> None:
        """Accept the decisions of one step in one transaction; return after the commit.

        The VM itself rejects the conflicting blocks of an accepted block.
        """
        self._preference = None
        accepted = [decision.accepted for decision in decisions]

        def accept() -> float:
            began = time.monotonic()
            self._vm.accept(accepted, written=self._written)
            self._flush()
            return time.monotonic() - began

        accepting = asyncio.ensure_future(self.run(accept))
        try:
            seconds = await asyncio.shield(accepting)
        except asyncio.CancelledError:
            # The thread continues. Announce its commit before anything else may use the chain.
            self._decided(decisions, await accepting)
            raise
        self._decided(decisions, seconds)

    def _decided(self, decisions: Sequence[VoteDecision], seconds: float) -> None:
        """Announce committed decisions; the commit took `seconds`."""
        self._observer.decided(decisions, seconds)
        for decision in decisions:
            self._last = self._processing.pop(decision.accepted)
            for rejected in decision.rejected:
                del self._processing[rejected]
            for listener in self.on_accepted:
                listener(self._last)

    def _parse(self, raw: bytes) -> B:
        return self._vm.parse(raw)

    def _held(self, block_id: ID) -> B | None:
        """Return a processing block or the last accepted block, or None."""
        if self._last is not None and block_id == self._last.block_id:
            return self._last
        return self._processing.get(block_id)

    def _last_accepted(self) -> B:
        block = self._vm.get_block(self._vm.last_accepted())
        assert block is not None
        return block

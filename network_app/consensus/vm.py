"""A chain's blocking VM as the engine sees it: all calls in the chain's thread, one after the other."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Generic, Protocol, TypeVar

from typing_extensions import override

from chainvm.port import Block, ChainVM, HeadMoved, Written
from chainvm.processing import UnknownParent
from network_app.ports import RunInThread
from network_app.proposervm.errors import OuterBlockError
from network_app.proposervm.ports import Proposal
from network_app.proposervm.vm import NotOurSlot
from network_app.snowman.ports import EngineVM
from network_app.snowman.topological import Decision
from primitives.ids import ID

B = TypeVar("B", bound=Block)
B_contra = TypeVar("B_contra", bound=Block, contravariant=True)

_log = logging.getLogger(__name__)


def _nothing(_: ID) -> None:
    """Write nothing."""


def _by_nobody(_: Block) -> Proposal:
    """Return that nobody signed a block."""
    return Proposal()


def _at_once() -> None:
    """Do nothing: what is committed is on the disk."""


class ProposingVM(ChainVM[B], Protocol[B]):
    """A VM that knows who may propose when: `proposervm.vm.ProposerVM`."""

    def builds_from(self, *, now: int, minimum_delay: int = 0) -> int | None:
        """Return since when this node may build on the preferred block (Unix seconds), or None."""


@dataclass(frozen=True, slots=True)
class VotedChain(Generic[B]):
    """A chain whose blocks are voted on: what is particular to it."""

    alias: str
    """"P" or "C"."""
    chain_id: ID
    vm: ProposingVM[B]
    run: RunInThread
    """Calls something blocking in the one thread of this chain."""
    now: Callable[[], float]
    """Unix seconds."""
    minimum_delay: int = 0
    """Seconds after a block's time in which this node builds nothing on it (p2p.md 11.5)."""
    refusals: tuple[type[Exception], ...] = ()
    """By which classes of its own the chain refuses a block."""
    verified_at: Callable[[B], int] | None = None
    """Returns the time at which a block is verified, Unix seconds; None: `now`."""
    proposal: Callable[[B], Proposal] = _by_nobody
    """Returns who signed a processing block, and for which slot."""
    written: Written = _nothing
    """Writes what belongs to an accepted block, in the transaction in which it is stored."""
    flush: Callable[[], None] = _at_once
    """Sees that what is committed is on the disk: what is said from then on builds on it."""
    follows: bool = False
    """Whether one other node makes all blocks: this one builds none, and heeds nobody else's."""
    allow_empty: bool = False
    """Whether blocks are made by the clock, `minimum_delay` after their parents, with nothing in them too."""


class Built(Enum):
    """What came of the last attempt to build."""

    BLOCK = auto()
    NOTHING = auto()
    """There was nothing to put into a block."""
    NOT_NOW = auto()
    """The slot belongs to somebody else."""
    FAILED = auto()


class Observer(Protocol[B_contra]):
    """Is told what becomes of blocks, on the event loop."""

    def issued(self, block: B_contra, proposal: Proposal, seconds: float, *, is_own: bool) -> None:
        """Note that a block is processing, who signed it, for how long it was built and verified, and if built here."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Note that blocks are accepted, which is committed, and others rejected, and how long that took."""

    def built(self, outcome: Built) -> None:
        """Note that a block was to be built."""


class ThreadedVM(EngineVM[B]):
    """`EngineVM` over a blocking VM.

    What is processing, and the last accepted block, are answered out of memory.

    Unspecified: a VM that fails in an unexpected way over a block refuses it, as in the reference; a
    block of a peer must not be able to end the engine.

    Args:
        chain: The chain.
        observer: Is told what becomes of blocks.
    """

    def __init__(self, chain: VotedChain[B], observer: Observer[B]) -> None:
        self._vm = chain.vm
        self.run = chain.run
        self.now = chain.now
        self._minimum_delay = chain.minimum_delay
        self._refusals: tuple[type[Exception], ...] = (
            UnknownParent,
            OuterBlockError,
            *chain.refusals,
        )
        self._verified_at = chain.verified_at
        self._proposal = chain.proposal
        self._written = chain.written
        self._flush = chain.flush
        self._allow_empty = chain.allow_empty
        self._observer = observer
        self._processing: dict[ID, B] = {}
        self._last: B | None = None
        self._preference: ID | None = None
        self._built: tuple[ID, float] | None = None
        """The block that was built last, and the seconds that it took."""
        self.last_build = Built.NOTHING
        """What came of the last attempt."""
        self.on_accepted: list[Callable[[B], None]] = []
        """Called for each block that is accepted, in order, once it is committed."""
        self.on_refused: list[Callable[[B, Exception], None]] = []
        """Called for each block that breaks a rule."""
        self.lock = asyncio.Lock()
        """Held during a step of the engine: what it knows and what is committed agree between two."""

    async def begin(self) -> B:
        """Forget what was processing; return the last accepted block, as it is stored."""
        self._processing.clear()
        self._preference = None
        last: B = await self.run(self._last_accepted)
        self._last = last
        return last

    async def builds_from(self) -> int | None:
        """Return since when this node may build on the preferred block (Unix seconds), or None."""
        now, delay = int(self.now()), self._minimum_delay
        return await self.run(partial(self._vm.builds_from, now=now, minimum_delay=delay))

    @property
    def last(self) -> B | None:
        """The last accepted block, once that is committed; None before the first engine."""
        return self._last

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        """Return a block and those before it as far as they are in memory, newest first, and what is before.

        All are processing but the last accepted one, which is not stored while it waits for its option.
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
        except self._refusals as error:
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
        now = int(self.now())

        def build() -> tuple[B | None, float]:
            began = time.monotonic()
            built = self._vm.build(now=now, allow_empty=self._allow_empty)
            return built, time.monotonic() - began

        try:
            block, seconds = await self.run(build)
            self._built = None if block is None else (block.block_id, seconds)
            self.last_build = Built.NOTHING if block is None else Built.BLOCK
        except NotOurSlot as error:
            _log.debug("nothing is built: %s", error)
            self.last_build = Built.NOT_NOW
        except HeadMoved:
            raise
        except Exception:
            _log.exception("no block can be built")
            self.last_build = Built.FAILED
        self._observer.built(self.last_build)
        return block

    @override
    async def verify(self, block: B) -> bool:
        now = int(self.now()) if self._verified_at is None else self._verified_at(block)

        def verify() -> tuple[Proposal, float]:
            began = time.monotonic()
            self._vm.verify(block, now=now)
            return self._proposal(block), time.monotonic() - began

        try:
            proposal, seconds = await self.run(verify)
        except self._refusals as error:
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
    async def decide(self, decisions: Sequence[Decision]) -> None:
        """Accept in one transaction what one step has decided; return once it is committed.

        The VM rejects by itself what is beside an accepted block.
        """
        self._preference = None
        accepted = [one.accepted for one in decisions]

        def accept() -> float:
            began = time.monotonic()
            self._vm.accept(accepted, written=self._written)
            self._flush()
            return time.monotonic() - began

        accepting = asyncio.ensure_future(self.run(accept))
        try:
            seconds = await asyncio.shield(accepting)
        except asyncio.CancelledError:
            # The thread goes on. What it commits is told before anybody else may work on the chain.
            self._decided(decisions, await accepting)
            raise
        self._decided(decisions, seconds)

    def _decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Tell of what is committed, which took so many seconds."""
        self._observer.decided(decisions, seconds)
        for one in decisions:
            self._last = self._processing.pop(one.accepted)
            for rejected in one.rejected:
                del self._processing[rejected]
            for listener in self.on_accepted:
                listener(self._last)

    def _parse(self, raw: bytes) -> B:
        return self._vm.parse(raw)

    def _held(self, block_id: ID) -> B | None:
        """Return a block that is processing, or the last accepted one."""
        if self._last is not None and block_id == self._last.block_id:
            return self._last
        return self._processing.get(block_id)

    def _last_accepted(self) -> B:
        block = self._vm.get_block(self._vm.last_accepted())
        assert block is not None
        return block

"""Takes in blocks as they come, in order, and fetches those that did not come (p2p.md 10.2).

There is no voting yet: a block that is signed by whoever may make it is verified and accepted. What
nobody signs, the first block and a proposal's option, is accepted below a signed one, or when those who
make blocks tell of it: they send it, or name it as their last accepted one. Who is connected to none of
them waits for the next signed block.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import (
    BlockPlace,
    InvalidBlock,
    NotYet,
    ParsedBlock,
    UnknownParent,
)
from network_app.sync.buffer import LONGEST_WAIT, Buffer, Held
from network_app.sync.choosing import Choice
from network_app.sync.errors import BlockRefused, WrongHeight
from network_app.sync.fetching import Fetcher
from network_app.sync.head import Head
from network_app.sync.intake import Intake
from network_app.sync.messages import as_id
from network_app.sync.witnesses import Witnesses
from network_app.wire.p2p_pb2 import Chits
from primitives.hashing import sha256
from primitives.ids import ID, NodeID

FEW = 8
"""So many missing blocks are asked for one by one; an answer with ancestors has up to 2,000."""
MOST_FETCHES = 4
"""That those who make blocks or validate cause; and as many again that others cause."""
STAGGER = 0.25
"""Seconds before a second fetch begins beside one that is not answered."""
TRIES = 3
"""Peers that are asked for a missing block, one after the other."""
REFUSED = 1024
"""Refused blocks that are remembered."""

# It is their bytes that are refused, not their ID: an ID does not cover the signature, so whoever sends a
# right block with a wrong signature must not spoil the right one.

_log = logging.getLogger(__name__)


class Fetch(NamedTuple):
    """A block that is asked for."""

    since: float
    is_trusted: bool
    """Whether who named it makes blocks, or validates."""


class Refusal(NamedTuple):
    """Bytes of a block that were refused."""

    why: BlockRefused
    until: float
    """For how long they are not tried again."""


class Follower:
    """One chain's way from blocks that come to blocks that are accepted."""

    def __init__(
        self,
        head: Head,
        buffer: Buffer,
        fetcher: Fetcher,
        choice: Choice,
        config: NetworkConfig,
        *,
        witnesses: Witnesses,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._head = head
        self._buffer = buffer
        self._fetcher = fetcher
        self._choice = choice
        self._witnesses = witnesses
        self._config = config
        self._clock = clock
        self.behind = asyncio.Event()
        """Set when so much is missing that bootstrapping is the faster way."""
        self.on_arrival: list[Callable[[], None]] = []
        """Called when something new is known to be out there."""
        self._wake = asyncio.Event()
        self._busy = False
        self._intake = Intake(head, choice)
        self._refused: OrderedDict[bytes, Refusal] = OrderedDict()
        self._fetches: dict[ID, Fetch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        """Look again at what waits."""
        self._wake.set()

    def offer(self, raw: bytes, sender: NodeID) -> None:
        """Take a block that a peer sent; it is read and accepted soon."""
        if not self._head.following or self._is_aside(sender):
            return
        if self._intake.offer(raw, sender):
            self._busy = True
            self._wake.set()

    @property
    def lacks_word(self) -> bool:
        """Whether a block waits that only a word of those who make blocks can settle."""
        return self._buffer.lacks_word(self._head.place.block_id)

    def heard(self, node_id: NodeID, chits: Chits) -> None:
        """Take what a peer says of its last accepted block."""
        block_id = as_id(chits.accepted_id)
        if block_id is None:
            return
        if node_id in self._head.producers and self._buffer.tell(block_id, node_id):
            self._wake.set()
        if not self._busy:  # else it may be among those that came
            self.seek(BlockPlace(chits.accepted_height, block_id), node_id)

    def seek(self, place: BlockPlace, node_id: NodeID) -> None:
        """Fetch a block that a peer has, and what lies between, unless it is known."""
        missing = place.height - self._head.place.height
        if missing <= 0 or place.block_id in self._buffer or not self._head.following:
            return
        if self._is_aside(node_id):
            return
        is_trusted = node_id in self._head.producers or self._choice.validates(node_id)
        if is_trusted:
            self._head.obstacle.named()
        if self._head.obstacle.is_resting:
            return
        if missing > self._config.behind_by:
            self.behind.set()
            return
        for listener in self.on_arrival:
            listener()
        now = self._clock()
        alike = [one for one in self._fetches.values() if one.is_trusted == is_trusted]
        if (
            place.block_id in self._fetches
            or len(alike) >= MOST_FETCHES
            or any(now - one.since < STAGGER for one in alike)
            or self._fetcher.is_asking(node_id)  # its answer, or its silence, leads here again
        ):
            return
        self._fetches[place.block_id] = Fetch(now, is_trusted)
        # Not in the task itself: one that is cancelled before it begins does nothing.
        self._start(self._fetch(place, node_id), partial(self._fetched, place))

    def _start(
        self,
        work: Coroutine[None, None, None],
        *after: Callable[["asyncio.Task[None]"], object],
    ) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        for one in (self._tasks.discard, *after):
            task.add_done_callback(one)

    def _is_aside(self, node_id: NodeID) -> bool:
        return self._choice.aside.has(node_id, self._head.chain.alias)

    async def run(self) -> None:
        """Follow until cancelled."""
        self._wake.set()  # what an earlier run left when it failed
        try:
            while True:
                self._busy = False
                await self._wake.wait()
                self._wake.clear()
                self._busy = True
                if self._head.following:
                    await self._take_in()
                    await self._accept_all()
                    await self._look_for_missing()
                else:
                    self._forget_all()
        finally:
            for task in self._tasks:
                task.cancel()
            self._again_in(None)

    async def _take_in(self) -> None:
        """Read what came, not all at once when that is a lot."""
        for block, sender, signer in await self._intake.take():
            self._keep(block, sender, signed=signer is not None)
        if len(self._intake):
            self._wake.set()

    def _keep(self, block: ParsedBlock, sender: NodeID, *, signed: bool = False) -> None:
        if block.height <= self._head.place.height:
            return
        refused = self._was_refused(block.raw) if self._refused else None
        if refused is not None:
            if self._head.obstacle.words is None:  # more may have accepted it than before
                self._start(self._judge(refused, sender))
            return
        if self._buffer.add(block, sender, self._clock(), signed=signed):
            for listener in self.on_arrival:
                listener()
        if sender in self._head.producers:
            self._buffer.tell(block.block_id, sender)

    async def _accept_all(self) -> None:
        """Accept what follows the last accepted block, together what came meanwhile."""
        while run := self._buffer.run_after(self._head.place.block_id, self._config.execute_batch):
            before = self._head.place
            raws = [held.block.raw for held in run]
            try:
                tellers = [frozenset(held.tellers) for held in run]
                await self._head.accept(raws, bootstrapping=False, tellers=tellers)
            except InvalidBlock as error:
                self._refuse(run, error)
            except NotYet:
                if self._head.place == before:
                    self._again_in(self._config.poll_interval)
                    return
            except UnknownParent:
                pass
            if self._head.place == before:
                self._buffer.drop(run[0].block.block_id)
            self._buffer.forget_up_to(self._head.place.height)
            await self._take_in()

    def _refuse(self, run: Sequence[Held], error: InvalidBlock) -> None:
        """Forget an invalid block and all that follow it, and see whose fault it is."""
        culprit = next((one for one in run if one.block.block_id == error.block_id), run[0])
        self._buffer.drop(culprit.block.block_id)
        if culprit.block.height <= self._head.place.height:
            return  # another block is accepted there meanwhile
        digest = sha256(culprit.block.raw)
        self._refused.pop(digest, None)
        refused = BlockRefused(error)
        self._refused[digest] = Refusal(refused, self._clock() + self._config.refused_again)
        if len(self._refused) > REFUSED:
            self._refused.popitem(last=False)
        self._start(self._judge(refused, culprit.sender))
        for listener in self.on_arrival:
            listener()

    async def _judge(self, refused: BlockRefused, sender: NodeID) -> None:
        """Set aside who sent an invalid block, unless most of the network has accepted it."""
        if not await self._witnesses.judge(refused):
            self._choice.set_aside(sender, self._head.chain.alias, str(refused))

    def _was_refused(self, raw: bytes) -> BlockRefused | None:
        """Return why these bytes were refused a moment ago, if they were."""
        refusal = self._refused.get(sha256(raw))
        return None if refusal is None or self._clock() >= refusal.until else refusal.why

    async def _look_for_missing(self) -> None:
        """Fetch the parents that are not here, lowest first."""
        self._buffer.forget_since(self._clock() - LONGEST_WAIT)
        for held in self._buffer.roots():
            block = held.block
            if block.parent_id == self._head.place.block_id:
                continue  # a proposal that waits for its option, or what nobody vouches for
            if block.height == self._head.place.height + 1:
                self._buffer.drop(block.block_id)
                await self._intake.stray(block)
                continue
            self.seek(BlockPlace(block.height - 1, block.parent_id), held.sender)

    async def _fetch(self, place: BlockPlace, node_id: NodeID) -> None:
        """Ask for a block and those below it, first the peer that has it, then others."""
        asked: list[NodeID] = []
        peer: NodeID | None = node_id
        if node_id not in self._choice.connected():
            peer = self._choice.someone(self._head.chain.alias)
        try:
            while peer is not None and len(asked) < TRIES:
                asked.append(peer)
                floor = self._head.place.height
                alone = place.height - floor <= FEW
                blocks = await self._fetcher.try_one(peer, place.block_id, floor, alone=alone)
                for block in reversed(blocks):
                    self._keep(block, peer)
                if blocks:
                    break
                if peer == node_id:
                    self._disbelieve(peer)
                peer = self._choice.someone(self._head.chain.alias, besides=asked)
        except WrongHeight as error:
            _log.info("%s-Chain: %s", self._head.chain.alias, error)
        except BlockRefused as error:
            await self._judge(error, asked[-1])

    def _fetched(self, place: BlockPlace, _: "asyncio.Task[None]") -> None:
        """Make room for another question, whatever became of this one, and look what is missing."""
        del self._fetches[place.block_id]
        self._wake.set()

    def _disbelieve(self, node_id: NodeID) -> None:
        """Forget a peer's blocks without parents here, since it does not give what it has named.

        Else who names many would be asked for one after the other, before what others tell of. What it
        only passed on, signed by one who makes blocks, may be had elsewhere.
        """
        is_own = node_id in self._head.producers
        for held in self._buffer.roots():
            follows = held.block.parent_id == self._head.place.block_id
            if held.sender == node_id and not follows and (is_own or not held.signed):
                self._buffer.drop(held.block.block_id)

    def _again_in(self, seconds: float | None) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if seconds is not None:
            self._retry = asyncio.get_running_loop().call_later(seconds, self._wake.set)

    def _forget_all(self) -> None:
        self._intake.clear()
        self._buffer.clear()

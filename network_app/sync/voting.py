"""A chain whose blocks are voted on: once it has reached the frontier it takes part (snowman.md 14).

The validators vote, or the one node that makes all blocks has the only vote.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from typing_extensions import override

from chainvm.processing import UnknownParent
from network_app.ports import AcceptedChain, InvalidBlock
from network_app.proposervm.errors import NotYetValid, WrongSignature
from network_app.sync.errors import BlockRefused
from network_app.sync.handler import ChainHandler, Shared
from network_app.sync.requests import Requests
from network_app.sync.serving import Query, Question
from network_app.wire.p2p_pb2 import Get, PullQuery, PushQuery
from primitives.ids import ID, NodeID

REFUSED = 32
"""Refused blocks of which it is asked who has accepted them; older ones are forgotten."""


class Participation(Protocol):
    """This node's part in the voting on one chain: `consensus.runner.Runner`. On the event loop."""

    lock: asyncio.Lock
    """Held while the chain's VM is used."""
    behind: asyncio.Event
    """Set when so much is missing that bootstrapping is the faster way."""
    on_accepted: list[Callable[[Any], None]]
    """Called for each block that is accepted, once it is committed."""
    on_refused: list[Callable[[Any, Exception], None]]
    """Called for each block that breaks a rule of the chain, with which one."""

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer is gone."""

    def blocks_waiting(self) -> None:
        """Note that the chain may have something to put into a block."""

    def processing(self) -> Sequence[float]:
        """Return for how many seconds each block has been processing."""

    def last_accepted(self) -> ID | None:
        """Return the last accepted block, also one that is not stored yet; None: the rows know it."""

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        """Return a block that is not stored and those before it, newest first, and the one before them all."""

    def answer(self, node_id: NodeID, question: PushQuery | PullQuery | Get) -> Awaitable[None]:
        """Answer a question and take in what it tells, while it runs; what is returned is to be awaited."""

    async def run(self) -> None:
        """Take part until cancelled: the chain has reached the frontier."""


TakePart: TypeAlias = Callable[[AcceptedChain, Shared, Requests], Participation]
"""Makes a node's part in the voting on a chain, with the open questions of that chain."""


class VotingHandler(ChainHandler):
    """A chain that is voted on.

    Bootstrapping and voting take turns, and never use the chain's VM at the same time. Peers get processing
    blocks too when they ask for one by its ID. A proposal that is accepted and waits for its option, with
    which it is stored, is told as any accepted block.

    Args:
        chain: The chain.
        shared: What it has in common with the others.
        take_part: Makes this node's part in the voting.
    """

    def __init__(self, chain: AcceptedChain, shared: Shared, take_part: TakePart) -> None:
        super().__init__(chain, shared)
        self._consensus = take_part(chain, shared, self.requests)
        self._consensus.on_accepted.append(self._accepted)
        self._consensus.on_refused.append(self._refused)
        self._refusals: OrderedDict[ID, InvalidBlock] = OrderedDict()
        self._was_refused = asyncio.Event()
        self._stands_before: ID | None = None
        """The refused block that the network has accepted."""
        self.last_accepted.accepting = self._consensus.lock
        self.serving.undecided = self._consensus
        self.progress.processing = self._consensus.processing
        self._advanced = asyncio.Event()

    @override
    def blocks_accepted(self, height: int | None) -> None:
        """Do nothing: all blocks are accepted by this process, which knows."""

    @override
    def blocks_waiting(self) -> None:
        self._consensus.blocks_waiting()

    @override
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        return self._consensus.answer(node_id, query)

    @override
    async def answer(self, node_id: NodeID, question: Question) -> None:
        """Answer a question about accepted blocks, or one for a block that may be processing."""
        if isinstance(question, Get) and self.last_accepted.following:
            await self._consensus.answer(node_id, question)
        else:
            await super().answer(node_id, question)

    @override
    def connected(self, node_id: NodeID) -> None:
        self._consensus.connected(node_id)
        super().connected(node_id)

    @override
    def disconnected(self, node_id: NodeID) -> None:
        self._consensus.disconnected(node_id)
        super().disconnected(node_id)

    @override
    def _work(self) -> list[Callable[[], Awaitable[None]]]:
        return [self._vote, self._see_accepted, self._judge_refused]

    async def _vote(self) -> None:
        """Take part, and bootstrap anew whenever too much is missing, but not all the time."""
        behind = self._consensus.behind
        while True:
            if self.last_accepted.following:  # else it failed on the way
                await self._vote_until_behind()
            behind.clear()
            await self._bootstrap.run()
            self._follow()

    async def _vote_until_behind(self) -> None:
        behind = self._consensus.behind
        voting = asyncio.create_task(self._consensus.run())
        try:
            await asyncio.sleep(self._shared.config.sync_repeat)
            await behind.wait()
            while not self._bootstrap.has_beacons:
                behind.clear()
                await behind.wait()
        finally:
            voting.cancel()
            await asyncio.gather(voting, return_exceptions=True)

    def _accepted(self, block: object) -> None:
        """Note that a block was accepted; it is stored by now, but for a proposal without its option."""
        del block
        self.last_accepted.grow_stale()
        self._advanced.set()

    async def _see_accepted(self) -> None:
        """Look where the chain stands whenever it has accepted blocks."""
        while True:
            await self._advanced.wait()
            self._advanced.clear()
            await self.last_accepted.fresh()

    def _refused(self, block: Any, reason: Exception) -> None:
        """Note a block that breaks a rule here, whatever may be right later.

        What the chain stands before already is not judged again before its time.
        """
        if isinstance(reason, (NotYetValid, UnknownParent)):
            return
        if block.block_id == self._stands_before and self.last_accepted.obstacle.is_resting:
            self.last_accepted.obstacle.named()
            return
        spoiled = isinstance(reason, WrongSignature)
        refused = InvalidBlock(block.block_id, block.height, str(reason), spoiled=spoiled)
        self._refusals[block.block_id] = refused
        if len(self._refusals) > REFUSED:
            self._refusals.popitem(last=False)
        self._was_refused.set()

    async def _judge_refused(self) -> None:
        """See of refused blocks whether the network has accepted one: then this chain stands before it.

        One after the other, and not all the time: anybody can send what is refused, and each question
        goes to all validators.
        """
        config = self._shared.config
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(config.poll_interval):
                    await self._was_refused.wait()
            self._was_refused.clear()
            self.last_accepted.obstacle.lapse(config.unnamed_for)
            if self._refusals:
                _, refused = self._refusals.popitem()
                if await self._witnesses.judge(BlockRefused(refused)):
                    self._stands_before = refused.block_id
                if self._refusals:
                    self._was_refused.set()
                await asyncio.sleep(config.poll_interval)

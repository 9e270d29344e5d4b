"""A chain whose validators vote on its blocks: once it has reached the frontier it takes part (snowman.md 14)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from typing_extensions import override

from network_app.ports import Chain
from network_app.sync.handler import ChainHandler, Shared
from network_app.sync.requests import Requests
from network_app.sync.serving import Query, Question
from network_app.wire.p2p_pb2 import Get, PullQuery, PushQuery
from primitives.ids import NodeID


class Consensus(Protocol):
    """This node's part in the voting on one chain: `consensus.runner.Runner`. On the event loop."""

    lock: asyncio.Lock
    """Held while the chain's VM is used."""
    behind: asyncio.Event
    """Set when so much is missing that bootstrapping is the faster way."""
    on_accepted: list[Callable[[Any], None]]
    """Called for each block that is accepted, once it is committed."""

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer is gone."""

    def blocks_waiting(self) -> None:
        """Note that the chain may have something to put into a block."""

    def processing(self) -> Sequence[float]:
        """Return for how many seconds each block has been processing."""

    async def answer(self, node_id: NodeID, question: PushQuery | PullQuery | Get) -> None:
        """Answer a question and take in what it tells, while it runs."""

    async def run(self) -> None:
        """Take part until cancelled: the chain has reached the frontier."""


TakePart: TypeAlias = Callable[[Chain, Shared, Requests], Consensus]
"""Makes a node's part in the voting on a chain, with the open questions of that chain."""


class VotingHandler(ChainHandler):
    """A chain that is voted on.

    Bootstrapping and voting take turns, and never use the chain's VM at the same time. Peers are told of
    blocks that are stored; a processing one they get when they ask for it by its ID.

    Unspecified: a proposal that is accepted and waits for its option, with which it is stored, is told by
    chits and by its ID alone; the accepted frontier is the block before it. Who bootstraps to there gets
    both by voting, and the reference would name the proposal.

    Args:
        chain: The chain.
        shared: What it has in common with the others.
        take_part: Makes this node's part in the voting.
    """

    def __init__(self, chain: Chain, shared: Shared, take_part: TakePart) -> None:
        super().__init__(chain, shared, believes_claims=False)
        self._consensus = take_part(chain, shared, self.requests)
        self._consensus.on_accepted.append(self._accepted)
        self.head.accepting = self._consensus.lock
        self.progress.processing = self._consensus.processing
        self._advanced = asyncio.Event()

    @override
    def blocks_accepted(self, height: int | None) -> None:
        """Do nothing: all blocks are accepted by this process, which knows."""

    @override
    def blocks_waiting(self) -> None:
        self._consensus.blocks_waiting()

    @override
    def look_again(self) -> None:
        """Do nothing: a block that was refused too early is named again by votes."""

    @override
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        return self._consensus.answer(node_id, query)

    @override
    async def answer(self, node_id: NodeID, question: Question) -> None:
        """Answer a question about accepted blocks, or one for a block that may be processing."""
        if isinstance(question, Get) and self.head.following:
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
        return [self._vote, self._see_accepted]

    async def _vote(self) -> None:
        """Take part, and bootstrap anew whenever too much is missing, but not all the time."""
        behind = self._consensus.behind
        while True:
            if self.head.following:  # else it failed on the way
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
        self.head.grow_stale()
        self._advanced.set()

    async def _see_accepted(self) -> None:
        """Look where the chain stands whenever it has accepted blocks."""
        while True:
            await self._advanced.wait()
            self._advanced.clear()
            await self.head.fresh()

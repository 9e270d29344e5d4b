"""A chain with voting: once it has reached the frontier it takes part (snowman.md 14).

Either the validators vote, or the block producer has the only vote.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from typing_extensions import override

from chainvm.errors import NotYetValid, UnknownParent
from network_app.ports import AcceptedChain, BlockRejection
from network_app.proposervm.errors import OuterBlockError, OuterBlockReason
from network_app.sync.errors import InvalidFetchedBlock
from network_app.sync.handler import ChainHandler, SharedParts
from network_app.sync.requests import Requests
from network_app.sync.serving import Query, Question
from network_app.wire.p2p_pb2 import Get, PullQuery, PushQuery
from primitives.ids import ID, NodeID

REFUSED = 32
"""Number of rejected blocks for which peers are asked whether they accepted them; older ones are dropped."""


class Participation(Protocol):
    """This node's part in the consensus of one chain: `consensus.runner.Runner`. Used on the event loop."""

    lock: asyncio.Lock
    """Held while the chain's VM is used."""
    behind: asyncio.Event
    """Set when so many blocks are missing that bootstrapping is faster."""
    on_accepted: list[Callable[[Any], None]]
    """Called for each accepted block, after its commit."""
    on_refused: list[Callable[[Any, Exception], None]]
    """Called for each block that breaks a rule of the chain, with the error."""

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer has disconnected."""

    def blocks_waiting(self) -> None:
        """Note that the chain may have something to put into a block."""

    def processing(self) -> Sequence[float]:
        """Return the number of seconds each block has been processing."""

    def last_accepted(self) -> ID | None:
        """Return the last accepted block, even if it is not stored yet; None: the stored one is the last."""

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        """Return an unstored block and its unstored ancestors, newest first, and the next parent's ID."""

    def answer(self, node_id: NodeID, question: PushQuery | PullQuery | Get) -> Awaitable[None]:
        """Answer a request and process the block it names, if running; await the result."""

    async def run(self) -> None:
        """Take part in consensus until cancelled. Call it when the chain has reached the frontier."""


TakePart: TypeAlias = Callable[[AcceptedChain, SharedParts, Requests], Participation]
"""Creates a node's part in the consensus of a chain, with the open requests of that chain."""


class VotingHandler(ChainHandler):
    """A chain with voting.

    Bootstrapping and voting take turns, and never use the chain's VM at the same time. Requests for a block
    by its ID are also answered with processing blocks. A proposal is stored with its option; while it waits
    for the option, it is served like any accepted block.

    Args:
        chain: The chain.
        shared: Objects shared with the other chains.
        take_part: Creates this node's part in the consensus.
    """

    def __init__(self, chain: AcceptedChain, shared: SharedParts, take_part: TakePart) -> None:
        super().__init__(chain, shared)
        self._consensus = take_part(chain, shared, self.requests)
        self._consensus.on_accepted.append(self._accepted)
        self._consensus.on_refused.append(self._refused)
        # A stack rather than a cache: `_judge_refused` takes the newest block, which `BoundedCache` cannot.
        self._refusals: OrderedDict[ID, BlockRejection] = OrderedDict()
        self._was_refused = asyncio.Event()
        self._obstacle_id: ID | None = None
        """The rejected block that the network has accepted."""
        self.last_accepted.accepting = self._consensus.lock
        self.serving.undecided = self._consensus
        self.progress.processing = self._consensus.processing
        self._advanced = asyncio.Event()

    @override
    def blocks_accepted(self, height: int | None) -> None:
        """Do nothing: this process accepts all blocks itself, so it already knows."""

    @override
    def blocks_waiting(self) -> None:
        self._consensus.blocks_waiting()

    @override
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        return self._consensus.answer(node_id, query)

    @override
    async def answer(self, node_id: NodeID, question: Question) -> None:
        """Answer a request about accepted blocks, or for a block that may be processing."""
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
        """Take part, and bootstrap again when too many blocks are missing, at limited intervals."""
        behind = self._consensus.behind
        while True:
            if self.last_accepted.following:  # otherwise bootstrapping was interrupted by a failure
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
        """Note an accepted block, which is stored unless it is a proposal without its option."""
        del block
        self.last_accepted.grow_stale()
        self._advanced.set()

    async def _see_accepted(self) -> None:
        """Refresh the last accepted block whenever blocks were accepted."""
        while True:
            await self._advanced.wait()
            self._advanced.clear()
            await self.last_accepted.fresh()

    def _refused(self, block: Any, reason: Exception) -> None:
        """Note a block that breaks a rule here, unless it may become valid later.

        The block that is the current obstacle is not judged again before its time.
        """
        if isinstance(reason, (NotYetValid, UnknownParent)):
            return
        if block.block_id == self._obstacle_id and self.last_accepted.obstacle.is_resting:
            self.last_accepted.obstacle.named()
            return
        spoiled = (
            isinstance(reason, OuterBlockError)
            and reason.reason is OuterBlockReason.WRONG_SIGNATURE
        )
        refused = BlockRejection(block.block_id, block.height, str(reason), spoiled=spoiled)
        self._refusals[block.block_id] = refused
        if len(self._refusals) > REFUSED:
            self._refusals.popitem(last=False)
        self._was_refused.set()

    async def _judge_refused(self) -> None:
        """Ask whether the network has accepted a rejected block; if so, it is this chain's obstacle.

        Blocks are judged one by one, at limited intervals, because any peer can send invalid blocks and each
        request goes to all validators.
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
                if await self._witnesses.judge(InvalidFetchedBlock(refused)):
                    self._obstacle_id = refused.block_id
                if self._refusals:
                    self._was_refused.set()
                await asyncio.sleep(config.poll_interval)

"""The queries and block requests that peers send to a chain's engine, and their answers (snowman.md 8.4, 8.6).

They wait in a queue that is fair between senders: a busy peer cannot delay the others.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from network_app.consensus.sender import PendingBlocksLimit, Work
from network_app.consensus.vm import ThreadedVM
from network_app.ports import Network
from network_app.snowman.engine import SnowmanEngine
from network_app.sync.budget import Turn
from network_app.sync.messages import as_id, enclose
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import pack
from network_app.wire.p2p_pb2 import Get, PullQuery, PushQuery, Put
from primitives.ids import ID, NodeID


class EngineEvent(NamedTuple):
    """An item of work for the engine."""

    work: Work
    until: float | None = None
    """Deadline after which the sender no longer waits for the answer; None: no deadline."""
    done: asyncio.Future[None] | None = None
    """Completes when the work is finished or dropped."""

    def settle(self) -> None:
        """Complete `done`, so that its waiters continue."""
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class MessageQueue:
    """A first-in, first-out queue per sender; senders take turns.

    The queue itself has no limits. A validator's messages are limited by its connection, those of other
    peers by the budget, answers and failures by the number of open requests.
    """

    def __init__(self) -> None:
        self._of: OrderedDict[NodeID, deque[EngineEvent]] = OrderedDict()
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, sender: NodeID, arrival: EngineEvent) -> None:
        """Append an item to the sender's queue."""
        self._of.setdefault(sender, deque()).append(arrival)
        self._filled.set()

    async def take(self) -> EngineEvent:
        """Wait for the next item and return it."""
        while not self._of:
            self._filled.clear()
            await self._filled.wait()
        sender, waiting = self._of.popitem(last=False)
        arrival = waiting.popleft()
        if waiting:
            self._of[sender] = waiting
        return arrival

    def clear(self) -> None:
        """Drop all items and complete their `done`."""
        while self._of:
            _, waiting = self._of.popitem()
            for arrival in waiting:
                arrival.settle()


Question: TypeAlias = PushQuery | PullQuery | Get

_log = logging.getLogger(__name__)


class Questions:
    """Answers one chain's peers, each request in its turn.

    Args:
        vm: The chain.
        network: The connections.
        pending_limit: Limits the blocks that wait for their parents.
        chain_id: ID of the chain.
        is_heeded: Whether blocks and block IDs in a peer's queries are processed.
    """

    def __init__(
        self,
        vm: ThreadedVM[Any],
        network: Network,
        pending_limit: PendingBlocksLimit,
        chain_id: ID,
        is_heeded: Callable[[NodeID], bool],
    ) -> None:
        self._vm = vm
        self._network = network
        self._pending_limit = pending_limit
        self._chain_id = bytes(chain_id)
        self._is_heeded = is_heeded

    def work_for(self, node_id: NodeID, question: Question, turn: Turn) -> Work:
        """Return the coroutine function that answers a request when its turn comes."""

        async def work(engine: SnowmanEngine[Any]) -> None:
            if isinstance(question, Get):
                turn.size = await self._put(node_id, question)
            else:
                await self._vote(engine, node_id, question)

        return work

    async def _vote(
        self, engine: SnowmanEngine[Any], node_id: NodeID, query: PushQuery | PullQuery
    ) -> None:
        """Answer a query. Process its block only if the peer is heeded and the limit allows it."""
        number, height = query.request_id, query.requested_height
        if not (self._is_heeded(node_id) and self._pending_limit.is_left(engine, node_id)):
            await engine.answer(node_id, number, height)
        elif isinstance(query, PushQuery):
            await engine.push_query(node_id, number, query.container, height)
        elif (block_id := as_id(query.container_id)) is not None:
            await engine.pull_query(node_id, number, block_id, height)

    async def _put(self, node_id: NodeID, question: Get) -> int:
        """Send a processing or accepted block and return the bytes sent; ignore unknown block IDs."""
        block_id = as_id(question.container_id)
        block = None if block_id is None else await self._vm.get_block(block_id)
        if block is None:
            return 0
        answer = Put(chain_id=self._chain_id, request_id=question.request_id, container=block.raw)
        try:
            packed = await self._vm.run(pack, enclose(answer))
        except MessageTooLarge as error:
            _log.error("a block of this node cannot be sent: %s", error)
            return 0
        return len(packed.frame) if self._network.send(node_id, packed) else 0

"""Answers the queries and block requests that peers send to a chain's engine (snowman.md 8.4, 8.6)."""

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from network_app.consensus.pending_limit import PendingBlocksLimit
from network_app.consensus.sender import Work
from network_app.consensus.vm import ThreadedVM
from network_app.ports import Network
from network_app.snowman.engine import SnowmanEngine
from network_app.sync.budget import Turn
from network_app.sync.messages import as_id, enclose
from network_app.wire.errors import MessageTooLarge
from network_app.wire.framing import pack
from network_app.wire.p2p_pb2 import Get, PullQuery, PushQuery, Put
from primitives.ids import ID, NodeID

Question: TypeAlias = PushQuery | PullQuery | Get

_log = logging.getLogger(__name__)


class Questions:
    """Answers one chain's peers, each request in its turn.

    Args:
        vm: The chain.
        network: The connections.
        room: Limits the blocks that wait for their parents.
        chain_id: ID of the chain.
        is_heeded: Whether blocks and block IDs in a peer's queries are processed.
    """

    def __init__(
        self,
        vm: ThreadedVM[Any],
        network: Network,
        room: PendingBlocksLimit,
        chain_id: ID,
        is_heeded: Callable[[NodeID], bool],
    ) -> None:
        self._vm = vm
        self._network = network
        self._room = room
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
        if not (self._is_heeded(node_id) and self._room.is_left(engine, node_id)):
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

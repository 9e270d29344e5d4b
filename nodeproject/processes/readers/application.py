"""The application of a reader: the C-Chain's interface, for calls that the direct fast path cannot answer."""

import asyncio
from typing import Any

from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.pooled import PooledRequests
from jsonrpc.http.replies import by_path
from nodeproject.heads.listener import HeadListener
from nodeproject.node import Node
from nodeproject.processes.readers.handover import Handover
from nodeproject.processes.readers.head import ReaderHead
from nodeproject.processes.readers.protocol import BodyLengths, ReadingProtocol


class ReaderApplication:
    """An ASGI application; it follows the chain from start-up to shutdown of the server.

    Args:
        node: The node whose interface it serves.
    """

    def __init__(self, node: Node) -> None:
        doors = node.doors
        self._node = node
        self._follower = HeadListener(node.evm_rpc)
        self._door = AsgiRpc(
            by_path([doors.cchain]),
            _nowhere,
            doors.workers,
            gatherers=doors.gatherers,
            memory=doors.memory,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._door(scope, receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        self._follower.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._follower.stop()
        await self._node.doors.close()
        await send({"type": "lifespan.shutdown.complete"})


def protocol_of(node: Node, head: ReaderHead, handover: Handover) -> type[asyncio.Protocol]:
    """Return the class of uvicorn's protocol for each connection."""
    doors = node.doors
    endpoint = doors.cchain
    paths = by_path([endpoint])

    class Protocol(ReadingProtocol):
        heads = RequestHeads(paths)
        whole = endpoint.whole
        pooled = PooledRequests(whole) if whole else None
        answering = doors.answering
        held = doors.connections
        memory = doors.memory
        turn = node.turn
        interpreter = doors.interpreter
        dispatcher = endpoint.dispatcher
        reader_head = head
        lengths = BodyLengths(paths)

    Protocol.handover = handover
    return Protocol


async def _nowhere(_scope: Any, _receive: Any, _send: Any) -> None:
    """Never called: requests that are not for the interface were handed over to the writer."""

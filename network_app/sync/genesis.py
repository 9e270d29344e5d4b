"""Requests the network's genesis from peers, for a node that knows only their addresses.

Unspecified: the reference contains the genesis of its networks or reads it from a file. This exchange is an
application message of our own (node.proto); other nodes answer that they do not know the handler.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from contextlib import suppress

from google.protobuf.message import DecodeError
from typing_extensions import override

from network_app.ports import MessageHandler, Network, PeerInfo
from network_app.sync.errors import UnusableGenesis
from network_app.sync.messages import GENESIS, enclose, with_handler
from network_app.wire.node_pb2 import GenesisAnswer
from network_app.wire.p2p_pb2 import AppRequest, Message
from primitives.ids import P_CHAIN_ID, NodeID

__all__ = ["GenesisAnswer", "GenesisFetcher"]

PATIENCE = 10.0
"""Seconds to wait for a peer's answer, which is also the deadline sent to it."""
ASK_AGAIN = 5.0
"""Seconds before a peer that has not answered is asked again."""

_log = logging.getLogger(__name__)


class GenesisFetcher(MessageHandler):
    """Message handler of a node that has no chains yet.

    It asks every peer that connects, and takes the first usable answer: a node that joins by an address
    trusts that address. `check` raises `UnusableGenesis` for an unusable answer; its sender is not asked
    again.
    """

    def __init__(self, check: Callable[[GenesisAnswer], None]) -> None:
        self._check = check
        self.refused: dict[NodeID, str] = {}
        """Why the genesis sent by a node is unusable; the node is not asked again."""
        self._connected = asyncio.Event()
        self._numbers = itertools.count(1, 2)
        self._open: dict[tuple[NodeID, int], asyncio.Future[GenesisAnswer | None]] = {}

    async def fetch(self, network: Network) -> GenesisAnswer:
        """Wait for peers and return the first usable answer."""
        while True:
            self._connected.clear()
            asking = [
                asyncio.ensure_future(self.ask(network, node_id))
                for node_id in network.connected()
                if node_id not in self.refused
            ]
            try:
                for answered in asyncio.as_completed(asking):
                    answer = await answered
                    if answer is not None:
                        return answer
            finally:
                for task in asking:
                    task.cancel()
                await asyncio.gather(*asking, return_exceptions=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_AGAIN):
                    await self._connected.wait()

    async def ask(self, network: Network, node_id: NodeID) -> GenesisAnswer | None:
        """Ask one peer; return None if it sends no answer, or an unusable one."""
        key = node_id, next(self._numbers)
        request = AppRequest(
            chain_id=bytes(P_CHAIN_ID),
            request_id=key[1],
            deadline=int(PATIENCE * 1e9),
            app_bytes=with_handler(GENESIS, b""),
        )
        self._open[key] = asyncio.get_running_loop().create_future()
        try:
            if not network.send(node_id, enclose(request)):
                return None
            async with asyncio.timeout(PATIENCE):
                answer = await self._open[key]
        except TimeoutError:
            return None
        finally:
            del self._open[key]
        return answer if answer is not None and self._is_usable(node_id, answer) else None

    def _is_usable(self, node_id: NodeID, answer: GenesisAnswer) -> bool:
        try:
            self._check(answer)
        except UnusableGenesis as error:
            reason = f"the genesis that {node_id} sent cannot be used: {error}"
            self.refused[node_id] = reason
            _log.warning("%s", reason)
            return False
        return True

    @override
    def connected(self, peer: PeerInfo) -> None:
        self._connected.set()

    @override
    def disconnected(self, node_id: NodeID) -> None:
        for (asked, _), answer in self._open.items():
            if asked == node_id and not answer.done():
                answer.set_result(None)

    @override
    async def handle(self, node_id: NodeID, message: Message) -> None:
        kind = message.WhichOneof("message")
        if kind not in ("app_response", "app_error"):
            return
        inner = message.app_response if kind == "app_response" else message.app_error
        waiting = self._open.get((node_id, inner.request_id))
        if waiting is None or waiting.done():
            return
        waiting.set_result(
            _read(message.app_response.app_bytes) if kind == "app_response" else None
        )


def _read(raw: bytes) -> GenesisAnswer | None:
    try:
        answer = GenesisAnswer.FromString(raw)
    except DecodeError:
        return None
    return answer if answer.platform else None

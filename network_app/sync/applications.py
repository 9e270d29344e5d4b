"""Answers application requests of peers: transaction pulls and the network's genesis (p2p.md 8)."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from network_app.ports import RunInThread
from network_app.sync.messages import (
    GENESIS,
    NOT_REGISTERED,
    TRANSACTION_GOSSIP,
    split_handler,
)
from network_app.sync.pulling import Pulling
from network_app.wire.node_pb2 import GenesisAnswer
from network_app.wire.p2p_pb2 import AppError, AppResponse
from primitives.ids import NodeID

Told: TypeAlias = AppResponse | AppError


class GenesisBytes(NamedTuple):
    """The network's genesis, for nodes that join it."""

    platform: bytes
    cchain: bytes
    """A genesis file, JSON."""
    producer: str = ""
    """Node ID of the block producer; "all" if the validators vote."""


class GenesisTeller:
    """Answers requests for the genesis, which never changes and is therefore read only once.

    Args:
        read: Reads the genesis. Blocking.
        serve: Runs a blocking call in a thread.
    """

    def __init__(self, read: Callable[[], GenesisBytes], serve: RunInThread) -> None:
        self._read = read
        self._serve = serve
        self._told: bytes | None = None
        self._reading = asyncio.Lock()

    async def answer(self) -> AppResponse:
        """Return the answer with the genesis."""
        async with self._reading:
            if self._told is None:
                self._told = await self._serve(self._make)
        return AppResponse(app_bytes=self._told)

    def _make(self) -> bytes:
        files = self._read()
        return GenesisAnswer(
            platform=files.platform, cchain=files.cchain, producer=files.producer
        ).SerializeToString()


async def answer(
    pulling: Pulling, genesis: GenesisTeller | None, node_id: NodeID, app_bytes: bytes
) -> Told:
    """Answer a peer's application request.

    Args:
        pulling: Transaction pulls of the requested chain.
        genesis: Answers requests for the genesis; None on chains that do not serve it.
        node_id: The peer.
        app_bytes: The handler's number and the request.
    """
    handler, payload = split_handler(app_bytes) or (None, b"")
    if handler == TRANSACTION_GOSSIP:
        return await pulling.answer(node_id, payload)
    if handler == GENESIS and genesis is not None:
        return await genesis.answer()
    return AppError(error_code=NOT_REGISTERED, error_message="unregistered handler")

"""Messages in progress: synchronous ones need no task, and every outcome returns the lease."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, cast

import pytest

from network_app.config import NetworkConfig
from network_app.peers.incoming import Workload
from network_app.peers.throttle import BytePool
from network_app.ports import DONE
from network_app.wire.p2p_pb2 import Chits, Message
from primitives.ids import NodeID

PEER = NodeID(bytes(20))
CONFIG = NetworkConfig(network_id=1, peer_messages=1)
SIZE = 3 * CONFIG.shared_pool_of_one
"""Bytes of a message that leaves no space for another one."""
CHITS = Message(chits=Chits(request_id=1))


class Handler:
    """A handler whose behaviour a test sets."""

    def __init__(self) -> None:
        self.work: Awaitable[None] | Exception = DONE
        self.handled = 0

    def handle(self, node_id: NodeID, message: Message) -> Awaitable[None]:
        assert (node_id, message) == (PEER, CHITS)
        self.handled += 1
        if isinstance(self.work, Exception):
            raise self.work
        return self.work


class BusyPeer:
    """The messages of one peer, and the pool that they share."""

    def __init__(self) -> None:
        self.handler = Handler()
        self.pool = BytePool(CONFIG, lambda _: 0, lambda _: True)
        self.workload = Workload(PEER, cast(Any, self.handler), self.pool, CONFIG, lambda: False)

    async def begin(self) -> None:
        lease = self.pool.try_take(PEER, SIZE)
        assert lease is not None
        await self.workload.begin(CHITS, lease)

    @property
    def has_all_back(self) -> bool:
        lease = self.pool.try_take(PEER, SIZE)
        if lease is not None:
            self.pool.give_back(lease)
        return lease is not None


async def test_synchronous_message_returns_its_lease() -> None:
    peer = BusyPeer()
    await peer.begin()

    assert (peer.handler.handled, len(peer.workload)) == (1, 0)
    assert peer.has_all_back


async def test_asynchronous_message_keeps_its_lease_until_done() -> None:
    peer = BusyPeer()
    peer.handler.work = over = asyncio.get_running_loop().create_future()
    await peer.begin()
    assert len(peer.workload) == 1
    assert not peer.has_all_back

    over.set_result(None)
    await asyncio.sleep(0)

    assert len(peer.workload) == 0
    assert peer.has_all_back


async def test_peer_with_too_many_messages_in_progress_waits() -> None:
    peer = BusyPeer()
    peer.handler.work = over = asyncio.get_running_loop().create_future()
    await peer.begin()
    peer.handler.work = DONE
    lease = BytePool(CONFIG, lambda _: 0, lambda _: True).try_take(PEER, 1)
    assert lease is not None
    second = asyncio.create_task(peer.workload.begin(CHITS, lease))
    await asyncio.sleep(0)
    assert peer.handler.handled == 1

    over.set_result(None)
    await second

    assert peer.handler.handled == 2


async def test_failed_message_is_logged_and_returns_its_lease(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = BusyPeer()
    peer.handler.work = ValueError("no good")
    with caplog.at_level(logging.ERROR):
        await peer.begin()

    assert f"a message of {PEER} was not worked off" in caplog.text
    assert "no good" in caplog.text
    assert peer.has_all_back

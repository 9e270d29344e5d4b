"""Pings, their content, and the disconnection of peers that fall silent."""

import asyncio
import random

import pytest

from network_app.wire import framing
from network_app.wire.p2p_pb2 import Ancestors, Message, Ping
from tests.builders.nodes import node
from tests.builders.peers import (
    Validators,
    eventually,
    frontier_request,
    running,
    stranger,
)

pytestmark = pytest.mark.sqlite_only


async def test_pings_report_uptime_to_both_sides() -> None:
    knowing = Validators(uptimes={node(1).identity.node_id: 93})
    async with (
        running(node(0), knowing, ping_interval=0.05) as one,
        running(node(1), tracked=(one.address,)) as two,
    ):
        await eventually(lambda: one.knows(two) and two.knows(one))

        await eventually(
            lambda: two.network.connected()[one.node_id].observed_uptime == 93
        )  # fmt: skip
        await eventually(lambda: one.network.counters.received.messages["pong"] >= 2)
        assert one.network.connected()[two.node_id].observed_uptime == 0


@pytest.mark.parametrize(("known", "told"), [(-1, 0), (0, 0), (100, 100), (250, 100)])
async def test_uptime_is_sent_in_percent(known: int, told: int) -> None:
    knowing = Validators(uptimes={node(99).identity.node_id: known})
    async with running(node(0), knowing, ping_interval=0.05) as one, stranger(one.address) as peer:
        assert (await peer.receive_kind("ping")).ping.uptime == told


async def test_more_than_all_uptime_ends_the_connection() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.send(Message(ping=Ping(uptime=100)))
        await peer.receive_kind("pong")

        peer.send(Message(ping=Ping(uptime=101)))

        assert await peer.ended()
        await eventually(lambda: one.ended["UptimeTooHigh"] == 1)


async def test_pings_keep_a_quiet_connection() -> None:
    async with (
        running(node(0), ping_interval=0.1, read_timeout=2.0) as one,
        running(node(1), tracked=(one.address,), ping_interval=0.1, read_timeout=2.0) as two,
    ):
        await eventually(lambda: one.knows(two) and two.knows(one))
        await eventually(lambda: one.network.counters.sent.messages["ping"] >= 30)

        assert one.network.totals().times_connected == 1
        assert one.network.totals().times_disconnected == 0


@pytest.mark.parametrize("begun", [b"", b"\0", b"\0\0\0\x10", b"\0\0\0\x10half"])
async def test_a_peer_that_falls_silent_is_not_kept(begun: bytes) -> None:
    async with running(node(0), read_timeout=1.0) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.writer.write(begun)

        assert await peer.ended()
        await eventually(lambda: one.ended["NothingRead"] == 1)


async def test_while_this_node_lets_a_peer_wait_it_is_not_silent() -> None:
    async with (
        running(node(0), read_timeout=2.0, stranger_messages=1) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        one.recorder.release.clear()
        peer.send(frontier_request(1), frontier_request(2))
        await eventually(lambda: one.recorder.began == 1)
        # nothing is read after the second message until the first is handled: here longer than the limit
        await eventually(lambda: one.network.counters.received.messages.total() == 4)
        async with running(node(2), tracked=(one.address,), ping_interval=0.1) as two:
            await eventually(lambda: two.network.counters.received.messages["pong"] >= 30)
        assert one.ended["NothingRead"] == 0

        one.recorder.release.set()

        await eventually(lambda: one.recorder.began == 2)


async def test_a_peer_that_takes_nothing_is_not_kept() -> None:
    large = Message(
        ancestors=Ancestors(chain_id=bytes(32), request_id=1, containers=[_noise(300_000)])
    )
    async with (
        running(node(0), Validators.of(node(99)), read_timeout=2.0, send_queue=2 << 20) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        await eventually(one.network.connected)
        peer.stop_reading()

        sent = 0
        while one.network.send(peer.node_id, large):
            sent += 1

        assert sent < 40  # the operating system's buffer, and the queue
        life = next(iter(one.network._running.connection_tasks._tasks.values()))  # type: ignore[union-attr]
        assert life.unsent < (2 << 20) + len(framing.encode(large))
        assert one.network.totals().send_failures == 1
        while one.ended["NothingTaken"] == 0:
            peer.send(Message(ping=Ping()))  # the peer is not silent
            await asyncio.sleep(0.05)
        assert one.network.totals().send_failures > 1  # the messages in the queue


async def test_slow_reader_receives_everything_in_order() -> None:
    validators = Validators.of(node(99))
    async with running(node(0), validators) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        await eventually(one.network.connected)
        peer.stop_reading()
        life = next(iter(one.network._running.connection_tasks._tasks.values()))  # type: ignore[union-attr]
        sent = 0
        while life.blocked_since is None or len(life._queue) < 5:
            containers = [_noise(200_000 + sent)]
            ancestors = Ancestors(chain_id=bytes(32), request_id=sent, containers=containers)
            assert one.network.send(peer.node_id, Message(ancestors=ancestors))
            sent += 1

        peer.go_on_reading()

        for number in range(sent):
            came = (await peer.receive_kind("ancestors")).ancestors
            assert (came.request_id, len(came.containers[0])) == (number, 200_000 + number)
        assert life.unsent == 0
        assert one.network.totals().send_failures == 0


async def test_queued_messages_per_peer_are_limited() -> None:
    async with (
        running(node(0), Validators.of(node(99)), send_queue_messages=7) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        await eventually(one.network.connected)
        peer.stop_reading()
        life = next(iter(one.network._running.connection_tasks._tasks.values()))  # type: ignore[union-attr]
        large = Message(ancestors=Ancestors(chain_id=bytes(32), containers=[_noise(300_000)]))
        while life.blocked_since is None:
            one.network.send(peer.node_id, large)

        sent = [one.network.send(peer.node_id, frontier_request()) for _ in range(9)]

        assert sent == [True] * 7 + [False] * 2


def _noise(size: int) -> bytes:
    """Return incompressible bytes."""
    return random.Random(1).randbytes(size)

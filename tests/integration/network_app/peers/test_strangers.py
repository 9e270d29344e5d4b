"""Limits for unknown peers, which affect other unknown peers but not validators."""

import asyncio
import random
from contextlib import AsyncExitStack

import pytest

from network_app.peers import unknown_peers
from network_app.peers.errors import PeerReason, TimedOut
from network_app.peers.incoming import MAX_EARLY
from network_app.wire import framing
from network_app.wire.p2p_pb2 import Ancestors, Message, PeerList, Ping
from tests.builders.nodes import node
from tests.builders.peers import (
    Running,
    Stranger,
    Validators,
    dial,
    eventually,
    frontier_request,
    running,
    stranger,
)
from tests.builders.wire import compress

pytestmark = pytest.mark.sqlite_only

BOMB = compress(b"\x72\x80\x89\x7a" + b"\x0a\x00" * 1_000_000)
"""A list of a million empty addresses, compressed to some 200 bytes."""
UNKNOWN = bytes.fromhex("aa3f00")
"""A message of a later protocol version."""


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


async def assert_answers(peer: Stranger) -> None:
    """Assert that all earlier messages were read, and that the connection is open."""
    peer.send(Message(ping=Ping()))
    await peer.receive_kind("pong")


# --- reading ---


@pytest.mark.parametrize("early", [True, False])
async def test_peer_that_sends_compression_bombs_is_disconnected(early: bool) -> None:  # noqa: FBT001
    async with running(node(0)) as one, stranger(one.address) as peer:
        if not early:
            await peer.finish_handshake()
        assert len(BOMB) < 300
        for _ in range(7):
            peer.writer.write(framed(BOMB))
        await assert_answers(peer)
        assert one.network.counters.received.messages["unreadable"] == 7

        peer.writer.write(framed(BOMB))

        assert await peer.ended()
        await eventually(lambda: one.ended["TooManyUnreadable"] == 1)


async def test_before_the_handshake_a_frame_is_small() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        peer.writer.write((65_537).to_bytes(4, "big"))

        assert await peer.ended()
        await eventually(lambda: one.ended["FrameTooLarge"] == 1)


async def test_unsupported_honest_messages_are_ignored() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        for number in range(14):
            peer.send(frontier_request(number))  # before the handshake
            peer.writer.write(framed(UNKNOWN))
        await peer.finish_handshake()
        for _ in range(20):
            peer.writer.write(framed(UNKNOWN))
        peer.send(frontier_request(77))

        await eventually(lambda: one.recorder.messages == [(peer.node_id, frontier_request(77))])


@pytest.mark.parametrize("payload", [b"", UNKNOWN], ids=["empty", "unknown"])
async def test_peer_that_floods_before_its_handshake_is_disconnected(payload: bytes) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        peer.writer.write(framed(payload) * 1000)

        assert await peer.ended()
        await eventually(lambda: one.ended["TooManyEarly"] == 1)
        assert one.network.counters.received.messages["unreadable"] == MAX_EARLY


async def test_announced_unsent_bytes_do_not_delay_others() -> None:
    async with AsyncExitStack() as opened, running(node(0)) as one:
        honest = await connected(opened, one, 99)
        for number in range(6):
            peer = await connected(opened, one, 80 + number)
            peer.writer.write(framing.MAX_FRAME.to_bytes(4, "big"))
        await eventually(lambda: one.pool.waiting == 4)  # two more use all of the strangers' share

        reader = one.network.roster.get(honest.node_id)
        assert reader is not None
        assert reader._throttle.take(0, asyncio.get_running_loop().time()) == 0
        honest.send(frontier_request(77))
        await eventually(lambda: one.recorder.messages == [(honest.node_id, frontier_request(77))])


async def test_unsolicited_address_lists_are_rate_limited() -> None:
    async with (
        running(node(0), stranger_rate=1 << 20, peer_burst=1 << 20) as one,
        stranger(one.address) as peer,
        stranger(one.address, node(98)) as other,
    ):
        await peer.finish_handshake()
        for _ in range(1000):
            peer.send(Message(peer_list=PeerList()))
        await other.finish_handshake()
        await assert_answers(other)

        assert one.network.counters.received.messages["peer_list"] < 100


# --- processing ---


async def test_messages_in_progress_are_fewer_for_unknown_peers() -> None:
    async with (
        running(node(0), Validators.of(node(1)), stranger_messages=2) as one,
        stranger(one.address) as peer,
        stranger(one.address, node(1)) as validator,
    ):
        one.recorder.release.clear()
        for sender in (peer, validator):
            await sender.finish_handshake()
            sender.send(*[frontier_request(number) for number in range(10)])
        await eventually(lambda: one.recorder.began == 12)

        one.recorder.release.set()

        await eventually(lambda: one.recorder.began == 20)
        await eventually(lambda: one.in_work == 0)


async def test_disconnected_waiting_peer_releases_its_share() -> None:
    async with (
        running(node(0), stranger_messages=1) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        one.recorder.release.clear()
        peer.send(frontier_request(1), frontier_request(2))
        await eventually(lambda: one.network.counters.received.messages.total() == 4)

        turned_out = one.network.roster.get(peer.node_id)
        assert turned_out is not None
        turned_out.close(TimedOut(PeerReason.NOTHING_TAKEN, seconds=30.0))

        one.recorder.release.set()
        await eventually(lambda: one.ended["NothingTaken"] == 1)
        assert one.recorder.began == 1
        assert one.in_work == 0


# --- sending ---


def large(number: int) -> Message:
    noise = random.Random(number).randbytes(1_900_000)
    return Message(ancestors=Ancestors(chain_id=bytes(32), request_id=number, containers=[noise]))


def unsent(one: Running) -> int:
    return sum(peer.outbox.unsent for peer in one.network.roster)


async def test_unsent_bytes_to_unknown_peers_are_limited_in_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unknown_peers, "PATIENCE", 2.0)
    most = 5 << 20
    validators = Validators.of(node(1))
    async with (
        AsyncExitStack() as opened,
        running(node(0), validators, strangers_send_queue=most) as one,
        stranger(one.address, node(1)) as validator,
        stranger(one.address, node(80)) as honest,
    ):
        for reading in (validator, honest):
            await reading.finish_handshake()
        for number in range(8):
            peer = await opened.enter_async_context(stranger(one.address, node(90 + number)))
            await peer.finish_handshake()
            peer.stop_reading()
        await eventually(lambda: len(one.network.connected()) == 10)
        greedy = [node(90 + number).identity.node_id for number in range(8)]

        for number in range(10):
            for node_id in greedy:
                one.network.send(node_id, large(number))
        assert (3 << 20) < unsent(one) <= most
        assert one.network.send(validator.node_id, large(77))
        assert (await validator.receive_kind("ancestors")).ancestors.request_id == 77

        # peers that do not read are disconnected to make room
        await eventually(lambda: one.network.send(honest.node_id, large(78)))
        assert (await honest.receive_kind("ancestors")).ancestors.request_id == 78
        assert one.ended["NothingTaken"] > 0


# --- admission ---


async def test_silent_connections_do_not_block_others() -> None:
    async with running(node(0), max_half_open=8) as one:
        opened = [await asyncio.open_connection(*one.address) for _ in range(8)]
        await eventually(lambda: one.network._listener.half_open == 8)

        async with stranger(one.address) as peer:
            await peer.finish_handshake()
            await eventually(one.network.connected)
            assert one.ended["TooManyHalfOpen"] == 1
        for _, writer in opened:
            writer.transport.abort()


async def connected(opened: AsyncExitStack, one: Running, number: int) -> Stranger:
    peer = await opened.enter_async_context(stranger(one.address, node(number)))
    await peer.finish_handshake()
    await eventually(lambda: peer.node_id in one.network.connected())
    return peer


async def test_unknown_and_silent_peers_do_not_block_a_validator() -> None:
    validators = Validators.of(node(1))
    async with (
        AsyncExitStack() as opened,
        running(node(0), validators, max_inbound=2, max_half_open=3) as one,
    ):
        for number in (97, 98):
            await connected(opened, one, number)
        silent = [await asyncio.open_connection(*one.address) for _ in range(3)]
        await eventually(lambda: one.network._listener.half_open == 3)

        await connected(opened, one, 1)

        assert one.ended["TooManyInbound"] == 0
        for _, writer in silent:
            writer.transport.abort()


async def test_slot_of_a_disconnected_peer_is_free_during_its_last_message() -> None:
    async with AsyncExitStack() as opened, running(node(0)) as one:
        peer = await connected(opened, one, 97)
        one.recorder.release.clear()
        peer.send(frontier_request())
        await eventually(lambda: one.recorder.began == 1)
        assert one.network._listener.seated == len(one.crowd) == 1

        peer.writer.transport.abort()

        await eventually(lambda: one.network._listener.seated == 0)
        assert one.network._listener.inside == 1
        assert len(one.crowd) == 0
        one.recorder.release.set()


async def test_validators_and_bootstrappers_bypass_the_unknown_peer_limit() -> None:
    validators = Validators.of(node(1), node(2), node(3))
    async with AsyncExitStack() as opened, running(node(0), validators, max_inbound=2) as one:
        for number in (97, 98, 1, 2, 3):
            await connected(opened, one, number)
        async with stranger(one.address, node(96)) as third:
            assert await third.ended()
        assert one.ended["TooManyInbound"] == 1
        async with running(node(4)) as other:
            dial(one, other)
            await eventually(lambda: one.knows(other))

        assert one.ended["MadeRoom"] == 0
        assert len(one.network.connected()) >= 5


async def test_idle_unknown_peer_is_closed_at_the_limit() -> None:
    async with (
        AsyncExitStack() as opened,
        running(node(0), max_inbound=2, idle_time=0.5) as one,
    ):
        busy, idle = await connected(opened, one, 97), await connected(opened, one, 98)
        for number in range(60):
            busy.send(frontier_request(number))
            await assert_answers(idle)  # pings do not count as activity
            await asyncio.sleep(0.01)
            busy.send(frontier_request(number))
        await eventually(lambda: len(one.recorder.messages) == 120)

        newcomer = await connected(opened, one, 96)

        assert await idle.ended()
        assert one.ended["MadeRoom"] == 1
        assert set(one.network.connected()) == {busy.node_id, newcomer.node_id}


async def test_unknown_peers_per_prefix_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("network_app.peers.peer.prefix_of", lambda _host: "192.0.2.0/24")
    validators = Validators.of(node(1))
    async with (
        AsyncExitStack() as opened,
        running(node(0), validators, inbound_per_prefix=2) as one,
    ):
        for number in (97, 98, 1):
            await connected(opened, one, number)
        async with stranger(one.address, node(96)) as third:
            assert await third.ended()
        assert one.ended["TooManyInbound"] == 1

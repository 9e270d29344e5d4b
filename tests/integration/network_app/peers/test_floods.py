"""Floods from one or many peers: memory stays within its limits, and other peers are served."""

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from network_app.handshake.claims import claimed_ip_port
from network_app.wire import framing
from network_app.wire.p2p_pb2 import (
    Ancestors,
    ClaimedIpPort,
    GetPeerList,
    Message,
    PeerList,
    Ping,
)
from primitives.identity import node_id_of
from tests.builders.nodes import Node, node
from tests.builders.peers import (
    Running,
    Validators,
    eventually,
    frontier_request,
    running,
    stranger,
)

pytestmark = pytest.mark.sqlite_only

MIB = 1 << 20


@pytest.fixture
def traced() -> Iterator[None]:
    """Measure the memory of Python objects."""
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def peak() -> int:
    return tracemalloc.get_traced_memory()[1]


async def assert_serves(one: Running) -> None:
    """Assert that an honest peer can still connect and be served."""
    async with stranger(one.address, node(98)) as honest:
        await honest.finish_handshake()
        honest.send(frontier_request(77))
        await eventually(
            lambda: (honest.node_id, frontier_request(77)) in one.recorder.messages
        )  # fmt: skip


async def test_connections_without_tls_are_few_and_short() -> None:
    async with running(
        node(0), max_half_open=16, inbound_per_second=10_000, handshake_timeout=3.0
    ) as one:
        opened = []
        for _ in range(10):  # the operating system's backlog does not hold more at a time
            opened += await asyncio.gather(
                *[asyncio.open_connection(*one.address) for _ in range(50)]
            )
        listener = one.network._listener
        assert listener.half_open <= 16
        await eventually(lambda: one.ended["TooManyHalfOpen"] >= 484 - one.ended["TlsTooSlow"])
        assert listener.inside <= 16

        await assert_serves(one)  # they do not keep others out

        await eventually(lambda: one.ended.total() >= 500 and listener.half_open == 0)
        assert set(one.ended) <= {"TooManyHalfOpen", "TlsTooSlow", "ConnectionLost"}
        assert one.ended["TlsTooSlow"] < 250  # some arrive after others have been closed
        for _, writer in opened:
            writer.transport.abort()


async def test_inbound_connections_per_second_are_limited() -> None:
    async with running(node(0), inbound_per_second=20, max_half_open=1000) as one:
        opened = await asyncio.gather(
            *[asyncio.open_connection(*one.address) for _ in range(200)]
        )  # fmt: skip
        await eventually(lambda: one.ended["TooManyArrivals"] >= 100)
        for _, writer in opened:
            writer.transport.abort()

        async def got_in() -> bool:
            try:
                await assert_serves(one)
            except (OSError, asyncio.IncompleteReadError):
                return False
            return True

        while not await got_in():
            await asyncio.sleep(0.05)


@pytest.mark.timeout(300)  # each connection uses a certificate, and memory is traced
async def test_five_hundred_nodes_that_connect_find_as_many_places_as_there_are(
    traced: None,
) -> None:
    # A connected peer stays connected, however long the other peers take to connect.
    patient = {"handshake_timeout": 600.0, "read_timeout": 600.0, "idle_time": 6000.0}
    async with running(
        node(0), max_inbound=30, max_half_open=100, inbound_per_second=10_000, **patient
    ) as one:
        kept = AsyncExitStack()
        for number in range(500):
            await _try_to_connect(kept, one, node(100 + number % 50))
        turned_away = ("TooManyInbound", "AlreadyConnected", "TooManyHalfOpen")
        await eventually(
            lambda: sum(one.ended[reason] for reason in turned_away) >= 400, str(one.ended)
        )

        assert len(one.network.roster) <= 30
        assert one.network._listener.inside <= 130
        assert peak() < 32 * MIB
        await kept.aclose()
        await eventually(lambda: one.network._listener.inside == 0)
        assert len(one.network.roster) == 0
        await assert_serves(one)


async def _try_to_connect(kept: AsyncExitStack, one: Running, who: Node) -> None:
    """Connect and keep the connection, but close it if it is rejected, to save the test's memory."""
    attempt = AsyncExitStack()
    try:
        peer = await attempt.enter_async_context(stranger(one.address, who))
        peer.send(peer.handshake())
        await peer.receive()
    except (OSError, asyncio.IncompleteReadError):
        await attempt.aclose()
        return
    kept.push_async_exit(attempt)


async def test_ten_thousand_addresses_are_not_kept(traced: None) -> None:
    """Only addresses of validators are kept, and from one list at most as many as a response may have."""
    validators = Validators.of(*[node(number) for number in range(10, 30)])
    unhurried = {"peer_burst": 1 << 30, "strangers_rate": 1 << 30}
    async with running(node(0), validators, **unhurried) as one:
        async with stranger(one.address) as peer:
            await peer.finish_handshake()
            certificate = node(40).identity.certificate_der
            template = claimed_ip_port(certificate, node(40).claim())
            for batch in range(200):
                claims = []
                for number in range(50):
                    claim = ClaimedIpPort()
                    claim.CopyFrom(template)
                    claim.ip_port = number + 1
                    claim.timestamp += batch * 50 + number
                    claims.append(claim)
                peer.send(Message(peer_list=PeerList(claimed_ip_ports=claims)))
            peer.send(Message(ping=Ping()))
            await peer.receive_kind("pong")

            assert one.network.known_addresses() == 0
            assert len(one.network._dialer) == 0
            assert peak() < 64 * MIB
        await assert_serves(one)


async def test_addresses_of_validators_are_kept_as_many_as_fit() -> None:
    many = [node(number) for number in range(10, 40)]
    async with (
        running(node(0), Validators.of(*many), most_known_addresses=10) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        for start in (0, 10, 20):
            claims = [
                claimed_ip_port(who.identity.certificate_der, who.claim(port=1))
                for who in many[start : start + 10]
            ]
            peer.send(Message(peer_list=PeerList(claimed_ip_ports=claims)))
        peer.send(Message(ping=Ping()))
        await peer.receive_kind("pong")

        assert one.network.known_addresses() == 10
        await eventually(lambda: len(one.network._dialer) == 10)
        assert node_id_of(many[0].identity.certificate_der) in one.network._dialer._validators


async def test_messages_in_progress_are_limited(traced: None) -> None:
    async with (
        running(node(0), stranger_messages=50) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        one.recorder.release.clear()
        for number in range(2000):
            peer.send(frontier_request(number))
        await eventually(lambda: one.recorder.began == 50)
        await assert_waits_at(one, 50)

        one.recorder.release.set()

        await eventually(lambda: len(one.recorder.messages) == 2000)
        numbers = [message.get_accepted_frontier.request_id for _, message in one.recorder.messages]
        assert numbers == list(range(2000))


async def assert_waits_at(one: Running, began: int) -> None:
    """Assert that no further request is started while the event loop runs and others are served."""
    for _ in range(200):
        await asyncio.sleep(0)
    assert one.recorder.began == began


async def test_large_messages_of_many_wait_for_the_pool(traced: None) -> None:
    large = Message(ancestors=Ancestors(chain_id=bytes(32), containers=[bytes(MIB)] * 1))
    payload = large.SerializeToString()
    frame = len(payload).to_bytes(4, "big") + payload
    async with running(
        node(0),
        shared_pool=3 * MIB,
        shared_pool_of_one=2 * MIB,
        peer_burst=1 << 30,
        strangers_rate=1 << 30,
    ) as one:
        one.recorder.release.clear()
        connections = [stranger(one.address, node(90 + number)) for number in range(6)]
        peers = [await connection.__aenter__() for connection in connections]
        for peer in peers:
            await peer.finish_handshake()
        before = one.recorder.began

        async def pour(writer: asyncio.StreamWriter) -> None:
            for _ in range(10):
                writer.write(frame)
                await writer.drain()

        pouring = [asyncio.create_task(pour(peer.writer)) for peer in peers]
        await eventually(lambda: one.pool.waiting == 6)
        assert one.recorder.began - before <= 4
        assert one.in_work <= 4 * MIB + 6 * 65536

        one.recorder.release.set()

        await eventually(lambda: one.recorder.began - before == 60)
        await asyncio.gather(*pouring)
        await eventually(lambda: one.in_work == 0)
        for connection in connections:
            await connection.__aexit__(None, None, None)


async def test_small_messages_pass_a_full_byte_pool() -> None:
    large = Message(ancestors=Ancestors(chain_id=bytes(32), containers=[bytes(MIB)]))
    payload = large.SerializeToString()
    async with (
        running(node(0), shared_pool=MIB, shared_pool_of_one=MIB) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        one.recorder.release.clear()
        peer.writer.write(len(payload).to_bytes(4, "big") + payload)
        await eventually(lambda: one.recorder.began == 1)
        async with stranger(one.address, node(98)) as honest:
            await honest.finish_handshake()
            honest.send(frontier_request())
            await eventually(lambda: one.recorder.began == 2)


async def test_rate_limit_of_a_peer_does_not_affect_others() -> None:
    """Requests for addresses are expensive: a thousand of them are answered slowly, one after the other."""
    async with (
        running(node(0), Validators.of(node(50)), stranger_rate=MIB, peer_burst=MIB) as one,
        stranger(one.address) as greedy,
    ):
        await greedy.finish_handshake()
        asked = Message(get_peer_list=GetPeerList(known_peers={"filter": b"\1" + bytes(9)}))
        for _ in range(1000):
            greedy.send(asked)
        await assert_serves(one)
        assert one.network.counters.received.messages["get_peer_list"] < 500


async def test_a_frame_that_does_not_end_takes_no_more_than_a_frame(traced: None) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        before = peak()
        peer.writer.write(framing.MAX_FRAME.to_bytes(4, "big"))
        for _ in range(15):
            peer.writer.write(bytes(framing.MAX_FRAME // 16))
            await peer.writer.drain()
        await assert_serves(one)

        assert peak() - before < 16 * MIB
        assert one.network.counters.received.messages["unreadable"] == 0


async def test_frames_without_end_and_content_are_read_slowly(traced: None) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        before = peak()

        async def pour() -> None:
            while True:
                peer.writer.write(bytes(65536))
                await peer.writer.drain()

        pouring = asyncio.create_task(pour())
        await eventually(lambda: one.network.counters.received.messages["unreadable"] >= 1000)
        await assert_serves(one)
        pouring.cancel()

        assert one.network.counters.received.messages["unreadable"] < 50_000
        assert peak() - before < 16 * MIB

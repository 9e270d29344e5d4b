"""Nodes that find each other, over real sockets and real TLS."""

import asyncio
import socket
import time
from contextlib import suppress

import pytest

from network_app.peers.dialer import DialAddress
from network_app.peers.network import PeerNetwork
from network_app.wire.p2p_pb2 import Message, Pong
from tests.builders.nodes import node
from tests.builders.peers import (
    CONFIG,
    LOOPBACK,
    PATIENCE,
    Validators,
    dial,
    eventually,
    frontier_request,
    running,
    silent,
    stranger,
)
from tests.servers.ports import free_port

pytestmark = pytest.mark.sqlite_only


async def test_a_node_that_dials_another_is_connected_to_it() -> None:
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))

        assert one.recorder.events == [("connected", two.node_id)]
        assert two.network.tracked_peers() == {one.node_id}
        assert one.network.tracked_peers() == set()
        seen = one.network.connected()[two.node_id]
        assert seen.node_id == two.node_id
        assert seen.ip.startswith(f"{LOOPBACK}:")
        assert seen.public_ip == f"{LOOPBACK}:{two.network.port}"
        assert seen.version == "avalanchego/1.14.2"
        assert abs(seen.last_received - seen.connected_at) < PATIENCE
        assert abs(seen.last_sent - seen.connected_at) < PATIENCE
        assert not seen.outbound
        assert two.network.connected()[one.node_id].outbound
        assert two.network.connected()[one.node_id].ip == f"{LOOPBACK}:{one.network.port}"


async def test_messages_arrive_in_both_directions_in_order() -> None:
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))
        sent = [frontier_request(number) for number in range(100)]

        for message in sent:
            assert one.network.send(two.node_id, message)
            assert two.network.send(one.node_id, message)

        await eventually(lambda: len(one.recorder.messages) == len(two.recorder.messages) == 100)
        assert one.recorder.messages == [(two.node_id, message) for message in sent]
        assert two.recorder.messages == [(one.node_id, message) for message in sent]


async def test_messages_are_counted_by_kind() -> None:
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))
        one.network.send(two.node_id, frontier_request())
        await eventually(lambda: two.recorder.messages)

        for kind in ("handshake", "peer_list", "get_accepted_frontier"):
            sent, received = one.network.counters.sent, two.network.counters.received
            assert sent.messages[kind] == received.messages[kind] == 1
            assert sent.bytes[kind] == received.bytes[kind] > 0
        totals = two.network.totals()
        assert totals.messages_received == 3
        assert totals.times_connected == 1
        assert totals.send_failures == 0


async def test_message_without_connection_counts_as_failure() -> None:
    async with running(node(0)) as one:
        assert not one.network.send(node(1).identity.node_id, frontier_request())

        assert one.network.totals().send_failures == 1
        assert one.network.totals().send_fail_rate > 0


async def test_a_message_that_no_peer_would_read_is_a_failure_and_not_the_end() -> None:
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))
        too_large = frontier_request()
        too_large.get_accepted_frontier.chain_id = bytes(3 << 20)

        assert not one.network.send(two.node_id, too_large)
        assert one.network.send(two.node_id, frontier_request())
        await eventually(lambda: two.recorder.messages)


async def test_lost_peer_is_reported_and_dialled_again() -> None:
    port = free_port()  # no outgoing connection uses it in the meantime
    async with (
        running(node(1), port=port) as first,
        running(node(0), tracked=(first.address,)) as one,
    ):
        await eventually(lambda: one.knows(first))
        await first.network.stop()
        await eventually(lambda: one.ended["NotReached"] > 0)
        assert one.recorder.events[-1] == ("disconnected", first.node_id)
        assert not one.network.connected()

        async with running(node(1), port=port) as again:
            await eventually(lambda: one.knows(again))

        assert one.network.totals().times_connected == 2


async def test_another_node_at_a_tracked_address_is_taken_too() -> None:
    port = free_port()
    async with (
        running(node(1), port=port) as first,
        running(node(0), tracked=(first.address,)) as one,
    ):
        await eventually(lambda: one.knows(first))
        await first.network.stop()
        async with running(node(2), port=port) as other:
            await eventually(lambda: one.knows(other))
            assert one.network.tracked_peers() == {other.node_id}


async def test_node_does_not_connect_to_itself() -> None:
    port = free_port()
    async with running(node(0), port=port, tracked=((LOOPBACK, port),)) as same:
        await eventually(lambda: same.ended["SelfConnection"] == 2)

        await eventually(lambda: not same.network._dialer._tasks)  # it is not dialled again
        assert not same.recorder.events


async def test_one_connection_to_a_node_is_enough() -> None:
    async with running(node(0)) as one:
        by_name = ("localhost", one.network.port)
        async with running(node(1), tracked=(one.address, by_name)) as two:
            await eventually(lambda: two.ended["AlreadyConnected"] > 0)
            await eventually(lambda: two.knows(one) and one.knows(two))

            assert len(one.network.connected()) == len(two.network.connected()) == 1
            assert two.network.totals().times_connected == 1


async def test_two_nodes_dialling_each_other_keep_one_connection() -> None:
    async with running(node(0)) as one, running(node(1)) as two:
        dial(one, two)
        dial(two, one)
        await eventually(lambda: one.knows(two) and two.knows(one))
        await eventually(lambda: len(one.network._running.connection_tasks) == 1)  # type: ignore[union-attr]
        await eventually(lambda: len(two.network._running.connection_tasks) == 1)  # type: ignore[union-attr]

        one.network.send(two.node_id, frontier_request())
        two.network.send(one.node_id, frontier_request())
        await eventually(lambda: one.recorder.messages and two.recorder.messages)


async def test_a_mapping_of_peers_does_not_change_while_it_is_read() -> None:
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two))
        seen = one.network.connected()
        await two.network.stop()
        await eventually(lambda: not one.network.connected())

        assert list(seen) == [two.node_id]
        assert two.node_id in seen
        assert seen[two.node_id].node_id == two.node_id


async def test_stopped_network_has_no_peers() -> None:
    async with running(node(0)) as one:
        await one.network.stop()

        assert not one.network.connected()
        assert one.network.known_addresses() == 0
        assert one.network.node_id == node(0).identity.node_id


async def test_a_fault_of_the_handler_does_not_end_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))
        handle = one.recorder.handle

        async def stumble(*_: object) -> None:
            raise ZeroDivisionError

        one.recorder.handle = stumble  # type: ignore[method-assign]
        two.network.send(one.node_id, frontier_request())
        await eventually(lambda: "was not worked off" in caplog.text)
        one.recorder.handle = handle  # type: ignore[method-assign]
        two.network.send(one.node_id, frontier_request())
        await eventually(lambda: one.recorder.messages)


async def test_internal_error_closes_one_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(node(0)) as one:

        def stumble(_peer: object) -> None:
            raise ZeroDivisionError

        one.recorder.connected = stumble  # type: ignore[method-assign]
        async with stranger(one.address) as peer:
            await peer.finish_handshake()
            assert await peer.ended()
        await eventually(lambda: one.ended["ZeroDivisionError"] == 1)
        assert "ZeroDivisionError" in caplog.text
        assert one.recorder.events == [("disconnected", peer.node_id)]

        del one.recorder.connected
        async with stranger(one.address) as peer:
            await peer.finish_handshake()
            await eventually(one.network.connected)


async def test_simultaneous_connections_keep_that_of_the_smaller_node() -> None:
    """The other node also dials before its handshake on the first connection is complete."""
    smaller, larger = sorted((node(0), node(1)), key=lambda who: who.identity.node_id)
    for own, other, kept in ((smaller, larger, "dialled"), (larger, smaller, "accepted")):
        async with silent(other) as address, running(own, tracked=(address,)) as one:
            await eventually(lambda one=one: len(one.network.roster) == 1)  # type: ignore[misc]
            async with stranger(one.address, other) as second:
                if kept == "dialled":
                    assert await second.ended()
                    assert [peer.outbound for peer in one.network.roster] == [True]
                else:
                    await second.finish_handshake()
                    await eventually(one.network.connected)
                    assert [peer.outbound for peer in one.network.roster] == [False]
                assert one.ended["AlreadyConnected"] == 1


async def test_timed_out_dial_is_repeated() -> None:
    with socket.socket() as full:
        full.bind((LOOPBACK, 0))
        full.listen(0)
        filling = [socket.socket() for _ in range(4)]
        for one_more in filling:
            one_more.setblocking(False)
            one_more.connect_ex(full.getsockname())
        async with running(node(0), tracked=(full.getsockname(),), dial_timeout=0.05) as one:
            await eventually(lambda: one.ended["NotReached"] >= 2)
        for one_more in filling:
            one_more.close()


async def test_invalid_host_name_is_not_reached() -> None:
    async with running(node(0), tracked=((f"{'a' * 64}.invalid", 1),)) as one:
        await eventually(lambda: one.ended["NotReached"] >= 2)


async def test_dials_per_second_are_limited() -> None:
    nobody = tuple((LOOPBACK, 1) for _ in range(5))
    began = time.monotonic()
    async with running(node(0), tracked=nobody, dials_per_second=4) as one:
        await eventually(lambda: one.ended["NotReached"] >= 7)
        # Four without waiting, and three after a quarter of a second each.
        assert time.monotonic() - began >= 0.75


async def test_connection_during_stop_is_closed() -> None:
    async with running(node(0)) as one:
        reader, writer = await asyncio.open_connection(*one.address)
        listener = one.network._listener
        one.network._listener._arrived = lambda _stream: None  # the connection is never handled
        reader_too, writer_too = await asyncio.open_connection(*one.address)
        await eventually(lambda: listener.inside == 2)

        await one.network.stop()

        assert listener.inside == 0
        for side, other in ((reader, writer), (reader_too, writer_too)):
            with suppress(ConnectionError):
                assert await side.read() == b""
            other.transport.abort()


@pytest.mark.parametrize(
    ("listening", "dialled", "source"),
    [
        ("127.0.0.2", "127.0.0.1", ("127.0.0.2", 0)),
        ("192.0.2.1", "198.51.100.1", ("192.0.2.1", 0)),
        ("127.0.0.1", "198.51.100.1", None),
        ("0.0.0.0", "198.51.100.1", None),
        ("::", "::1", None),
        ("192.0.2.1", "2001:db8::1", None),
        ("192.0.2.1", "node.example", None),
        ("localhost", "127.0.0.1", None),
    ],
)
def test_dialling_uses_the_listening_address_if_routable(
    listening: str, dialled: str, source: tuple[str, int] | None
) -> None:
    network = PeerNetwork(
        node(0).identity, CONFIG, Validators(),
        listen=(listening, 0), advertised=(LOOPBACK, 0),
    )  # fmt: skip

    assert network._source(DialAddress(dialled, 9651)) == source


async def test_unsolicited_answers_are_ignored() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.send(Message(pong=Pong()), Message(pong=Pong()), frontier_request())

        await eventually(lambda: one.recorder.messages)
        assert [message for _, message in one.recorder.messages] == [frontier_request()]


async def test_a_stopped_node_leaves_no_task_and_no_socket() -> None:
    before = asyncio.all_tasks()
    async with (
        running(node(0), stranger_messages=5) as one,
        running(node(1), tracked=(one.address, (LOOPBACK, 1))) as two,
        stranger(one.address) as talking,
        stranger(one.address, node(98)) as silent,
    ):
        await eventually(lambda: one.knows(two))
        await talking.finish_handshake()
        one.recorder.release.clear()
        talking.send(*[frontier_request(number) for number in range(5)])
        await eventually(lambda: one.recorder.began == 5)
        lives = dict(one.network._running.connection_tasks._tasks)  # type: ignore[union-attr]

        await one.network.stop()
        await two.network.stop()

        assert one.recorder.cancelled == 5
        assert all(task.done() and stream.closed.is_set() for task, stream in lives.items())
        assert len(lives) == 3
        assert await talking.ended()
        assert await silent.ended()
    assert asyncio.all_tasks() == before

"""Parts of a reader process: its requests, the handover of connections, the page in shared memory."""

import asyncio
import errno
import os
import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from uvicorn import Config
from uvicorn.server import ServerState

from jsonrpc.dispatch.dispatcher import Dispatcher, DispatchLimits
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.registry import MethodRegistry
from nodeproject.apps import this_node
from nodeproject.heads.shared_memory import HeadPage
from nodeproject.processes.readers.handover import HandedOver, Handover, receive
from nodeproject.processes.readers.processes import wanted_readers
from nodeproject.processes.readers.protocol import (
    READS,
    BodyLengths,
    ReadingProtocol,
    only_reads,
)
from nodeproject.startup.checks import check_readers
from tests.builders.node_settings import updated

LONG = b"x" * 300_000
"""More than the kernel accepts in one call."""


@pytest.mark.parametrize(
    ("choices", "fork", "readers"),
    [
        ({"web_workers": 1}, None, 0),
        ({"web_workers": 3}, None, 2),
        ({"web_workers": 3}, object(), 0),
        ({"web_workers": 3, "rate_limit": 5}, None, 0),
        ({"web_workers": 3, "network_id": 5}, None, 0),  # which has a rate limit by default
        ({"web_workers": 3, "network_id": 5, "rate_limit": 0}, None, 2),
    ],
)
def test_there_are_readers_where_they_have_something_to_answer(
    choices: dict[str, Any], fork: object, readers: int
) -> None:
    node: Any = SimpleNamespace(
        settings=updated(settings.NODE, profile="embedded", **choices),
        evm_chain=SimpleNamespace(fork=fork),
    )

    assert wanted_readers(node) == readers


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"web_workers": 3}, ""),
        ({"web_workers": 1, "rate_limit": 5}, ""),
        ({"web_workers": 3, "rate_limit": 5}, "NODE_RATE_LIMIT=0"),
        ({"web_workers": 3, "server": "daphne"}, "NODE_SERVER=uvicorn"),
        ({"web_workers": 3, "fork_url": "http://127.0.0.1:1"}, "no fork"),
    ],
)
def test_an_operator_hears_where_none_are_started(
    choices: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "NODE", updated(settings.NODE, profile="embedded", **choices))

    assert [says in str(check_reader.hint) for check_reader in check_readers()] == (
        [True] if says else []
    )


def test_reads_are_methods_of_the_interface() -> None:
    known = this_node().doors.interfaces["C"].registry.methods

    assert set(known) >= READS
    assert not [name for name in READS if known[name].connection or known[name].client]


@pytest.mark.parametrize(
    ("body", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]}', True),
        (b'[{"method":"eth_chainId"},{"method":"eth_getLogs"}]', True),
        (b'{"method":"eth_sendRawTransaction"}', False),
        (b'{"method":"evm_mine"}', False),
        (b'{"method":"eth_newFilter"}', False),
        (b'[{"method":"eth_chainId"},{"method":"eth_subscribe"}]', False),
        (b'{"method":"eth_chainId","method":"evm_mine"}', False),
        (b"[]", False),
        (b"[1]", False),
        (b"{}", False),
        (b"{", False),
        (b'{"method":"eth_call","params":["' + b"0" * 70_000 + b'"]}', False),
    ],
)
def test_a_body_is_a_readers_where_all_its_calls_are_reads(body: bytes, answers: bool) -> None:  # noqa: FBT001
    dispatcher = Dispatcher(MethodRegistry(), limits=DispatchLimits())

    assert only_reads(dispatcher, Body(body)) is answers


PLAIN = b"POST /rpc HTTP/1.1\r\nHost: here"


@pytest.mark.parametrize(
    ("head", "length"),
    [
        (PLAIN + b"\r\nContent-Length: 12", 12),
        (PLAIN + b"\r\nContent-Length: 12\r\nX-Forwarded-For: 10.0.0.1", 12),
        (PLAIN + b"\r\nContent-Length: 12\r\nConnection: keep-alive", 12),
        (PLAIN + b"\r\nContent-Length: 12\r\nConnection: close", None),
        (PLAIN + b"\r\nContent-Length: 12\r\nContent-Length: 13", None),
        (PLAIN + b"\r\nContent-Length: 12\r\nExpect: 100-continue", None),
        (PLAIN + b"\r\nContent-Length: +12", None),
        (PLAIN + b"\r\nContent-Length: " + b"9" * 19, None),
        (PLAIN + b"\r\nTransfer-Encoding: chunked", None),
        (PLAIN, None),
        (b"POST /ext/P HTTP/1.1\r\nContent-Length: 12", None),
        (b"POST /rpc HTTP/1.0\r\nContent-Length: 12", None),
        (b"GET /rpc HTTP/1.1\r\nContent-Length: 12", None),
        (b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade", None),
    ],
)
def test_a_plain_head_to_the_interface_says_how_long_the_body_is(
    head: bytes, length: int | None
) -> None:
    assert BodyLengths(["/rpc"]).read(head) == length


def test_connections_go_over_with_all_that_was_received() -> None:
    with ExitStack() as ending:
        line, far = map(ending.enter_context, socket.socketpair())
        handover = Handover(far)
        clients = []
        for received in (b"POST", LONG, b""):
            client, given = map(ending.enter_context, socket.socketpair())
            handover.give(given, received)
            clients.append((client, received))
        coming = receive(line)
        for client, received in clients:
            found = next(coming)
            assert found.received == received
            with found.connection:
                found.connection.sendall(b"here")
            assert client.recv(10) == b"here"
            # No other process holds it any longer.
            assert client.recv(10) == b""
        handover.close()
        far.close()
        assert list(coming) == []


async def finish_as_unknown(give: Any, server: socket.socket) -> bytes:
    """Let native threads find no answer to a request, and return the request."""

    class Protocol(ReadingProtocol):
        lengths = BodyLengths(["/rpc"])
        dispatcher = Dispatcher(MethodRegistry())
        handover: Any = SimpleNamespace(give=give)

    config = Config(app=lambda _scope: None, log_config=None)  # type: ignore[arg-type, return-value]
    config.load()
    body = b'{"method":"evm_mine"}'
    data = PLAIN + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_connection(
        lambda: Protocol(config=config, server_state=ServerState(), app_state={}), sock=server
    )
    protocol._finish(data, None)
    return data


async def test_what_native_threads_did_not_find_may_be_the_writers() -> None:
    given: list[bytes] = []

    def give(connection: socket.socket, received: bytes) -> None:
        connection.close()
        given.append(received)

    client, server = socket.socketpair()
    with client:
        data = await finish_as_unknown(give, server)
    assert given == [data]


async def test_a_connection_is_closed_that_cannot_go_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_descriptor(_number: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "dup", no_descriptor)
    client, server = socket.socketpair()
    with client:
        await finish_as_unknown(pytest.fail, server)
        client.setblocking(False)
        assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
    assert "Too many open files" in caplog.text


def test_a_reader_that_ends_in_a_message_has_handed_nothing_over() -> None:
    with ExitStack() as ending:
        line, far = map(ending.enter_context, socket.socketpair())
        client, given = map(ending.enter_context, socket.socketpair())
        with given:
            socket.send_fds(far, [(100).to_bytes(4, "big")], [given.fileno()])
        far.sendall(b"only a part")
        far.close()

        assert list(receive(line)) == []
        assert client.recv(10) == b""


def test_too_many_connections_on_their_way_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodeproject.processes.readers.handover.MOST", 2)
    with ExitStack() as ending:
        line, far = map(ending.enter_context, socket.socketpair())
        far.settimeout(60)
        handover = Handover(far)
        clients = []
        for _ in range(5):
            client, given = map(ending.enter_context, socket.socketpair())
            handover.give(given, LONG * 10)  # no process reads it: the first one fills the socket
            line.recv(1, socket.MSG_PEEK)  # the first one is being sent by now, and two wait
            clients.append(client)

        assert [item for item in clients if _is_closed(item)] == clients[3:]
        taken: list[HandedOver] = []
        reading = threading.Thread(target=lambda: taken.extend(receive(line)))
        reading.start()
        handover.close(60)
        far.close()
        reading.join()
        assert len(taken) == 3
        for other in taken:
            other.connection.close()


def _is_closed(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False


def test_a_page_is_read_by_who_has_its_descriptor() -> None:
    writing = HeadPage()
    reading = HeadPage(os.dup(writing.descriptor))
    seen = []
    for tell in (
        lambda: None,
        lambda: writing.tell_head(7, True),
        lambda: writing.tell_head(8, False),
        writing.tell_change,
        writing.tell_pool,
    ):
        tell()
        seen.append((reading.version, reading.height, reading.changed, reading.pool))

    assert seen == [(0, 0, 0, 0), (1, 7, 0, 0), (2, 8, 0, 0), (3, 8, 1, 0), (3, 8, 1, 1)]

"""A connection of the direct endpoint while native threads look for the response to a request on it."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import pytest

from jsonrpc.http.fast_path import DirectProtocol
from jsonrpc.http.pooled import PooledRequests
from tests.integration.jsonrpc.guarded import ANSWER, PLAIN, until
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

FOUND = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfound"


class Elsewhere:
    """Native code that returns the responses a test provides, or none."""

    def __init__(self) -> None:
        self._heard, self._bell = socket.socketpair()
        self._heard.setblocking(False)
        self._found: list[tuple[int, bytes | None]] = []
        self.asked: list[int] = []
        """The numbers of the connections that wait."""
        self.is_quick = False
        """Whether requests are answered immediately from now on."""

    def keep_head(self, *_: object) -> None:
        """Ignore the request head."""

    def serve(self, _data: bytes, _defaults: object, connection: int) -> bytes:
        if self.is_quick:
            return FOUND
        self.asked.append(connection)
        return b""

    def fileno(self) -> int:
        return self._heard.fileno()

    def find(self, response: bytes | None = FOUND) -> None:
        """Provide the response to the oldest request."""
        self._found.append((self.asked.pop(0), response))
        self._bell.send(b"\0")

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Signal the responses provided in the `with` block together, at its end."""
        bell, self._bell = self._bell, SimpleNamespace(send=lambda _: None)  # type: ignore[assignment]
        try:
            yield
        finally:
            self._bell = bell
            self._bell.send(b"\0")

    def finished(self) -> list[tuple[int, bytes | None]]:
        self._heard.recv(16)
        found, self._found = self._found, []
        return found

    def close(self) -> None:
        self._heard.close()
        self._bell.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    made = Elsewhere()
    yield made
    made.close()


def test_each_connection_gets_its_response(serve, raw, elsewhere) -> None:
    served = serve(requests=elsewhere)
    connections = [raw(served.port) for _ in range(3)]
    for number, connection in enumerate(connections):
        connection.say(PLAIN)
        until(lambda count=number + 1: len(elsewhere.asked) == count)
    assert len(set(elsewhere.asked)) == 3
    elsewhere.asked.reverse()  # the last request is answered first
    for connection in reversed(connections):
        body = b"%05d" % id(connection)
        elsewhere.find(FOUND.replace(b"found", body[-5:]))
        assert connection.response()[2] == body[-5:]


def test_request_unknown_to_native_threads_is_answered_in_python(serve, raw, elsewhere) -> None:
    connection = raw(serve(requests=elsewhere).port)
    for response, expected in ((None, ANSWER), (FOUND, b"found"), (None, ANSWER)):
        connection.say(PLAIN)
        until(lambda: len(elsewhere.asked) == 1)
        elsewhere.find(response)
        assert connection.response()[2] == expected


def test_pipelined_requests_are_answered_in_order(serve, raw, elsewhere) -> None:
    connection = raw(serve(requests=elsewhere).port)
    connection.say(PLAIN)
    until(lambda: len(elsewhere.asked) == 1)
    elsewhere.is_quick = True
    connection.say(PLAIN)
    elsewhere.find(None)
    assert [connection.response()[2] for _ in range(2)] == [ANSWER, b"found"]


def test_idle_limit_does_not_close_a_waiting_connection(serve, raw, elsewhere, looked) -> None:
    connection = raw(serve(idle=0.05, requests=elsewhere).port)
    connection.say(PLAIN)
    until(lambda: len(looked) > 2)
    elsewhere.find()
    assert connection.response()[2] == b"found"
    assert connection.until_closed() == b""


@pytest.mark.parametrize("response", [FOUND, None])
def test_stopping_server_responds_and_closes(
    serve, raw, elsewhere, made, response: bytes | None
) -> None:
    connection = raw(serve(requests=elsewhere).port)
    connection.say(PLAIN)
    until(lambda: len(elsewhere.asked) == 1)
    connection.say(PLAIN)
    until(lambda: bool(made[0].flow.waiting))
    made[0].loop.call_soon_threadsafe(made[0].shutdown)
    until(lambda: not made[0].flow.waiting)
    elsewhere.find(response)
    _, head, body = connection.response()
    found = response is not None
    assert (body, b"connection: close" in head) == (b"found" if found else ANSWER, found)
    assert connection.until_closed() == b""


def test_nothing_is_written_to_a_disconnected_client(
    serve, raw, elsewhere, made, monkeypatch
) -> None:
    lost: list[DirectProtocol] = []
    written: list[DirectProtocol] = []
    connection_lost, write = DirectProtocol.connection_lost, DirectProtocol._write

    def noting(self: DirectProtocol, exc: Exception | None) -> None:
        connection_lost(self, exc)
        lost.append(self)

    def noting_response(self: DirectProtocol, response: bytes) -> None:
        written.append(self)
        write(self, response)

    monkeypatch.setattr(DirectProtocol, "connection_lost", noting)
    monkeypatch.setattr(DirectProtocol, "_write", noting_response)
    served = serve(requests=elsewhere)
    leaving, staying = raw(served.port), raw(served.port)
    leaving.say(PLAIN)
    until(lambda: len(elsewhere.asked) == 1)
    leaving.socket.close()
    until(lambda: len(lost) == 1)
    staying.say(PLAIN)
    until(lambda: len(elsewhere.asked) == 2)
    elsewhere.find()
    elsewhere.find()
    assert staying.response()[2] == b"found"
    assert written == [message for message in made if message not in lost]


def test_failure_on_one_connection_does_not_affect_others(
    serve, raw, elsewhere, made, caplog
) -> None:
    served = serve(requests=elsewhere)
    connections = [raw(served.port) for _ in range(3)]
    for number, connection in enumerate(connections):
        connection.say(PLAIN)
        until(lambda count=number + 1: len(elsewhere.asked) == count)

    def fail(*_: object) -> None:
        raise ValueError("failed")

    first, second, _ = made
    first._go_on_after_answer = fail
    second.transport = SimpleNamespace(is_closing=fail, abort=fail)
    with elsewhere.at_once():
        for _ in connections:
            elsewhere.find()
    assert connections[2].response()[2] == b"found"
    assert connections[0].response()[2] == b"found"
    assert connections[0].until_closed() == b""
    assert "the fast path failed" in caplog.text
    assert "a response could not be delivered to its connection" in caplog.text


def test_new_event_loop_gets_only_its_own_responses(elsewhere) -> None:
    pooled = PooledRequests(elsewhere)
    taken: list[tuple[int, bytes | None]] = []

    async def ask(count: int, found: int) -> None:
        loop = asyncio.get_running_loop()
        numbers = [pooled.number() for _ in range(count)]
        heard = asyncio.Event()

        def take(number: int, response: bytes | None) -> None:
            taken.append((number, response))
            heard.set()

        for number in numbers:
            elsewhere.serve(b"", None, number)
            pooled.wait(loop, number, partial(take, number))
        for _ in range(found):
            elsewhere.find()
        await asyncio.wait_for(heard.wait(), SECONDS)

    asyncio.run(ask(2, 1))
    asyncio.run(ask(1, 2))
    assert taken == [(1, FOUND), (3, FOUND)]


def test_connection_whose_response_cannot_be_written_is_closed(
    serve, raw, elsewhere, monkeypatch, caplog
) -> None:
    served = serve(requests=elsewhere)
    connection = raw(served.port)
    connection.say(PLAIN)
    until(lambda: len(elsewhere.asked) == 1)

    def fail(*_: object) -> None:
        raise ValueError("failed")

    with monkeypatch.context() as patched:
        patched.setattr(DirectProtocol, "_write", fail)
        elsewhere.find()
        assert connection.until_closed() == b""
    assert "the fast path failed" in caplog.text
    other = raw(served.port)
    other.say(PLAIN)
    until(lambda: len(elsewhere.asked) == 1)
    elsewhere.find()
    assert other.response()[2] == b"found"

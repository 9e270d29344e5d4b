"""A connection of the direct endpoint while a response on it has to wait for a thread."""

from typing import Any

import pytest

from jsonrpc.http.answering import Answering
from jsonrpc.http.fast_path import DirectProtocol
from jsonrpc.limits.connections import ConnectionLimits
from jsonrpc.limits.memory import MemoryLimits
from tests.integration.jsonrpc.guarded import ANSWER, PLAIN, Panic, until
from tests.integration.jsonrpc.serving import JSON
from tests.servers.raw import RawConnection

pytestmark = pytest.mark.sqlite_only

SLOW = b'{"jsonrpc":"2.0","id":7,"method":"slow"}'
SLOW_REQUEST = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: %d\r\n\r\n" % len(SLOW) + SLOW
SLOW_ANSWER = b'{"jsonrpc":"2.0","id":7,"result":"True"}'


def send_without_end(connection: RawConnection) -> None:
    while True:
        connection.socket.send(PLAIN * 1_000)


def test_pipelined_requests_are_answered_in_order(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: served.called == ["slow"])
    connection.say(PLAIN + SLOW_REQUEST + PLAIN)
    served.hold.set()
    answers = [connection.response()[2] for _ in range(4)]
    assert answers == [SLOW_ANSWER, ANSWER, SLOW_ANSWER, ANSWER]


def test_bytes_read_behind_a_slow_request_are_limited(serve, raw, made) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: served.called == ["slow"])
    connection.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        send_without_end(connection)
    assert len(made[0].flow.waiting) < 1_000_000
    connection.socket.setblocking(True)
    served.hold.set()
    assert connection.response()[2] == SLOW_ANSWER
    assert connection.response()[2] == ANSWER


def test_idle_limit_does_not_close_a_waiting_connection(serve, raw, looked) -> None:
    served = serve(idle=0.05)
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: len(looked) > 2)
    served.hold.set()
    assert connection.response()[2] == SLOW_ANSWER
    assert connection.until_closed() == b""


def test_waiting_connection_is_not_evicted(serve, raw) -> None:
    served = serve(connections=ConnectionLimits(maximum=1, of_address=1))
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: served.called == ["slow"])
    other = raw(served.port)
    other.say(PLAIN)
    assert other.response()[0] == 503
    served.hold.set()
    assert connection.response()[2] == SLOW_ANSWER
    third = raw(served.port)
    third.say(PLAIN)
    assert third.response()[2] == ANSWER
    assert connection.until_closed() == b""


def test_stopping_server_responds_and_reads_no_further_request(
    serve, raw, made: list[DirectProtocol]
) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: served.called == ["slow"])
    connection.say(PLAIN)
    until(lambda: bool(made[0].flow.waiting))
    made[0].loop.call_soon_threadsafe(made[0].shutdown)
    until(lambda: not made[0].flow.waiting)
    served.hold.set()
    _, head, answer = connection.response()
    assert (answer, b"connection: close" in head) == (SLOW_ANSWER, True)
    assert connection.until_closed() == b""


@pytest.mark.parametrize("error", [OSError, Panic])
def test_connection_with_a_failed_response_is_closed(
    serve, raw, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Any
) -> None:
    async def fail(*_: object, missed: bool) -> Any:
        raise error

    monkeypatch.setattr(Answering, "answer_http", fail)
    connection = raw(serve().port)
    connection.say(SLOW_REQUEST)
    assert connection.until_closed() == b""
    assert "the fast path failed" in caplog.text


def test_response_above_the_memory_limit_is_refused_and_closes(serve, raw) -> None:
    served = serve(memory=MemoryLimits(maximum=1_000_000, of_client=1_000_000))
    body = SLOW.replace(b"slow", b"much")
    connection = raw(served.port)
    connection.say(
        b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    status, head, answer = connection.response()
    assert (status, b"connection: close" in head) == (503, True)
    assert b'"id":null,"error"' in answer
    assert connection.until_closed() == b""
    assert served.memory.held == 0

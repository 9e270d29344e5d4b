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


def test_requests_behind_it_are_answered_after_it(serve, raw) -> None:
    served = serve()
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: served.called == ["slow"])
    connection.say(PLAIN + SLOW_REQUEST + PLAIN)
    served.hold.set()
    answers = [connection.response()[2] for _ in range(4)]
    assert answers == [SLOW_ANSWER, ANSWER, SLOW_ANSWER, ANSWER]


def test_only_so_much_is_taken_of_what_comes_behind_it(serve, raw, made) -> None:
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


def test_it_is_not_closed_for_being_silent(serve, raw, looked) -> None:
    served = serve(idle=0.05)
    connection = raw(served.port)
    connection.say(SLOW_REQUEST)
    until(lambda: len(looked) > 2)
    served.hold.set()
    assert connection.response()[2] == SLOW_ANSWER
    assert connection.until_closed() == b""


def test_it_does_not_make_room_for_others(serve, raw) -> None:
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


def test_a_server_that_ends_gives_the_answer_and_takes_nothing_behind_it(
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
def test_a_connection_whose_answer_fails_altogether_is_ended(
    serve, raw, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Any
) -> None:
    async def fail(*_: object, missed: bool) -> Any:
        raise error

    monkeypatch.setattr(Answering, "answer_http", fail)
    connection = raw(serve().port)
    connection.say(SLOW_REQUEST)
    assert connection.until_closed() == b""
    assert "the fast path failed" in caplog.text


def test_an_answer_for_which_there_is_no_room_is_refused_and_ends_the_connection(
    serve, raw
) -> None:
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

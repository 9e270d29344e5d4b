"""The event loop pauses for threads that need the interpreter, however fast requests arrive meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from jsonrpc.limits.interpreter import PAUSE_SECONDS
from tests.integration.jsonrpc.guarded import (
    ANSWER,
    PLAIN,
    SHORT,
    SHORT_ANSWERS,
    Served,
    open_socket,
    until,
)
from tests.integration.jsonrpc.test_answers_later import SLOW_ANSWER, SLOW_REQUEST

pytestmark = pytest.mark.sqlite_only

Ask = Callable[[], None]


@pytest.fixture(params=["HTTP", "WebSocket"])
def ask(request: pytest.FixtureRequest, raw) -> Iterator[Callable[[Served], Ask]]:
    """Return a function that repeatedly sends a request on one connection, which is answered from memory."""

    def over_http(served: Served) -> Ask:
        connection = raw(served.port)

        def once() -> None:
            connection.say(PLAIN)
            assert connection.response()[2] == ANSWER

        return once

    def over_websocket(served: Served) -> Ask:
        socket = stay.enter_context(open_socket(served))

        def once() -> None:
            socket.send(SHORT.decode())
            assert socket.recv() == SHORT_ANSWERS[SHORT][0].decode()

        return once

    with ExitStack() as stay:
        yield over_http if request.param == "HTTP" else over_websocket


def test_event_loop_pauses_while_a_threads_call_runs(serve, raw, ask) -> None:
    served = serve()
    once = ask(served)
    for _ in range(10):
        once()
    assert served.pauses == []

    waiting = raw(served.port)
    waiting.say(SLOW_REQUEST)
    until(lambda: served.called == ["slow"])
    until(lambda: once() or len(served.pauses) >= 2)
    assert set(served.pauses) == {PAUSE_SECONDS}

    served.hold.set()
    assert waiting.response()[2] == SLOW_ANSWER
    once()
    made = len(served.pauses)
    for _ in range(10):
        once()
    assert len(served.pauses) == made

"""Requests of clients that have disconnected: they are not started, and started ones are not continued."""

import socket
from contextlib import ExitStack

import pytest
from websockets.frames import Frame, Opcode

from jsonrpc.dispatch import workers
from tests.integration.jsonrpc.guarded import Served, until
from tests.integration.jsonrpc.serving import JSON
from tests.integration.jsonrpc.test_strangers_answers import OPEN
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only

CALL = b'{"jsonrpc":"2.0","id":7,"method":"%b"}'
BATCH = b"[" + CALL % b"note" + b"]"


def ask(served: Served, body: bytes, *, transport: str = "http", times: int = 1) -> socket.socket:
    """Send the same request several times on a new connection, without waiting for responses."""
    made = socket.create_connection(("127.0.0.1", served.port), SECONDS)
    if transport == "websocket":
        made.sendall(OPEN)
        while not made.recv(65_536).endswith(b"\r\n\r\n"):
            pass
        made.sendall(Frame(Opcode.TEXT, body).serialize(mask=True) * times)
    else:
        head = b"POST /rpc HTTP/1.1\r\n" + JSON + b"Content-Length: %d\r\n\r\n" % len(body)
        made.sendall((head + body) * times)
    return made


@pytest.mark.parametrize("body", [CALL % b"note", BATCH], ids=["a call", "a batch"])
@pytest.mark.parametrize(
    ("transport", "times", "waits"),
    [("http", 1, 1), ("http", 5, 1), ("websocket", 1, 1), ("websocket", 100, 64)],
)
def test_queued_request_of_a_disconnected_client_is_not_started(
    serve, body: bytes, transport: str, times: int, waits: int
) -> None:
    served = serve()
    with ExitStack() as stay:
        for _ in range(2):
            stay.enter_context(ask(served, CALL % b"slow"))
        until(lambda: len(served.called) == 2)
        with ExitStack() as leaving:
            for _ in range(3):
                leaving.enter_context(ask(served, body, transport=transport, times=times))
            until(lambda: served.workers.pending == 2 + 3 * waits)
        served.hold.set()
        until(lambda: served.workers.pending == 0)
        until(lambda: len(served.connections) == 2)
        assert served.called == ["slow"] * 2
        stay.enter_context(ask(served, body, transport=transport))
        until(lambda: served.called == ["slow", "slow", "note"])


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_batch_of_a_disconnected_client_is_not_continued(
    serve, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setattr(workers, "CHECK_SECONDS", 0.0)
    served = serve()
    batch = b"[" + CALL % b"slow" + b"," + CALL % b"note" + b"]"
    with ask(served, batch, transport=transport):
        until(lambda: served.called == ["slow"])
    served.hold.set()
    until(lambda: served.workers.pending == 0)
    assert served.called == ["slow"]
    with ask(served, batch, transport=transport):
        until(lambda: served.called == ["slow", "slow", "note"])

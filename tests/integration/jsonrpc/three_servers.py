"""Three servers of one application: with a direct endpoint, with one that never answers later, and without."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from jsonrpc.dispatch.inflight import Replies
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import Application
from jsonrpc.http.fast_path import DirectProtocol, GetPages
from jsonrpc.http.plain_heads import RequestHeads
from tests.integration.patience import SECONDS


class Connection(HttpToolsProtocol):
    """A connection that counts the bytes the server has received from it."""

    met: list["Connection"]
    """All connections of one server; each server's subclass sets its own list."""
    taken = 0

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.met.append(self)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.taken += len(data)

    def is_answered(self) -> bool:
        """Return whether no delayed response is pending."""
        return True

    def is_at_rest(self, sent: int) -> bool:
        """Return whether the server received all `sent` bytes, and answered every complete request."""
        if self.transport.is_closing():
            return True
        cycle = self.cycle
        answered = self.taken == sent and self.is_answered()
        return answered and (cycle is None or cycle.more_body or cycle.response_complete)


@dataclass
class Served:
    """Three servers of one application."""

    replies: Replies
    """The replies of all servers."""
    ports: dict[str, int]
    asgi: dict[str, int]
    """Number of requests that reached the application, by server."""
    protocols: dict[str, type[Connection]]


@contextmanager
def three_servers(
    application: Application,
    replies: Replies,
    heads: RequestHeads,
    pages: GetPages | None = None,
    answering: Answering | None = None,
) -> Iterator[Served]:
    """Serve an application three times; `heads` and `pages` are for both direct endpoints, `answering` for one."""

    class AtOnce(Connection, DirectProtocol):
        met = []

        @override
        def is_answered(self) -> bool:
            return not self._is_awaited

        @override
        def _take_waiting(self) -> bytes:
            waiting = super()._take_waiting()
            self.taken -= len(waiting)  # these bytes are received a second time
            return waiting

    class Direct(AtOnce):
        met = []

    class Plain(Connection):
        met = []

    AtOnce.heads, AtOnce.pages = heads, pages
    Direct.answering = answering
    protocols = {"direct": Direct, "at once": AtOnce, "plain": Plain}
    made = Served(replies, {}, dict.fromkeys(protocols, 0), protocols)
    running = []
    for name, protocol in protocols.items():

        async def counted(scope: Any, receive: Any, send: Any, name: str = name) -> None:
            made.asgi[name] += 1
            await application(scope, receive, send)

        listener = socket.create_server(("127.0.0.1", 0))
        made.ports[name] = listener.getsockname()[1]
        config = uvicorn.Config(
            counted, http=protocol, loop="uvloop", lifespan="off", log_level="critical",
            proxy_headers=False, timeout_keep_alive=int(SECONDS),
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        running.append((server, thread, listener))
    try:
        yield made
    finally:
        for server, thread, listener in running:
            server.should_exit = True
            thread.join(SECONDS)
            listener.close()


def request(body: bytes, *headers: bytes, line: bytes = b"POST /rpc HTTP/1.1") -> bytes:
    usual = (b"Host: localhost", b"Content-Type: application/json")
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join((line, *usual, length, *headers, b"", body))


def exchange(served: Served, name: str, *pieces: bytes) -> bytes:
    """Send pieces on one connection, each after the previous one is answered; return all responses."""
    met = served.protocols[name].met
    known, sent = len(met), 0
    with socket.create_connection(("127.0.0.1", served.ports[name]), SECONDS) as connection:
        for piece in pieces:
            connection.sendall(piece)
            sent += len(piece)
            deadline = time.monotonic() + SECONDS
            while len(met) == known or not met[known].is_at_rest(sent):
                assert time.monotonic() < deadline, "the server does not come to rest"
                time.sleep(0.001)
        connection.shutdown(socket.SHUT_WR)  # makes the server close the connection
        received = b""
        while part := connection.recv(65_536):
            received += part
    return re.sub(rb"date: [^\r]*\r\n", b"", received)

"""The direct door: what can be answered at once is answered where uvicorn receives the bytes.

A request that came whole, in one piece, on an idle connection, whose answer is in memory, needs no
ASGI. Its head is read here, strictly and once for all requests that share it; whatever is unusual
in any way goes on to uvicorn, unread and unchanged, and from there to the raw door. Both answer the
same bytes. Knows uvicorn 0.54's `HttpToolsProtocol`; look at it again when that moves.
"""

import asyncio
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, Protocol

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from jsonrpc.asgi import READ_BEFORE
from jsonrpc.calls import STOP
from jsonrpc.dispatch import MISS
from jsonrpc.envelope import Body
from jsonrpc.errors import Overloaded
from jsonrpc.gate import HttpConnection, Reply, RequestHead
from jsonrpc.http import Endpoint, WholeRequests
from jsonrpc.memory import SMALL, RequestMemory, Share
from jsonrpc.protocol import GuardedProtocol
from jsonrpc.turn import LoopTurn

MAX_HEAD: Final = 2048
"""Bytes of a head that is read here."""

_HEADS: Final = 4096
"""RequestHeads that are remembered: clients repeat theirs, but for the length of the body."""

_HEADER: Final = re.compile(rb"([A-Za-z0-9-]+): ?([\x21-\x7e]+(?: [\x21-\x7e]+)*)")
"""A header as clients write it; anything else is for a whole parser to judge."""

CHANGING: Final = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"connection"})
"""Headers that change what follows; a `connection` that is kept alive does not."""

_REFUSED: Final = CHANGING | {b"x-forwarded-for"}
"""These, and what may stand more than once."""

Headers = Sequence[tuple[bytes, bytes]]
"""Names and values."""

_log: Final = logging.getLogger("jsonrpc")

_END: Final = b"\r\n\r\n"


class Known:
    """What a head says, and with what answers to it begin.

    Args:
        text: It, as it came.
        endpoint: Which interface is asked.
        head: The request without its peer.
        length: Bytes of the body.
    """

    __slots__ = ("_defaults", "_start", "_text", "endpoint", "head", "length")

    def __init__(self, text: bytes, endpoint: Endpoint, head: RequestHead, length: int) -> None:
        self._text = text
        self.endpoint = endpoint
        self.head = head
        self.length = length
        self._defaults: Headers | None = None
        self._start = b""

    def start(self, defaults: Headers) -> bytes:
        """Return the beginning of an answer that is JSON, up to the number of its bytes.

        Args:
            defaults: The server's own headers: the same object as long as they are the same.
        """
        if self._defaults is not defaults:
            reply = self.endpoint.gate.accept(self.head, b"")
            self._start = _head_of(reply, defaults)
            self._defaults = defaults
            if self.endpoint.whole is not None:
                longest = self.endpoint.longest_plain(self.head)
                self.endpoint.whole.keep_head(
                    self._text, self.length, longest, self._start, defaults
                )
        return self._start


class RequestHeads:
    """Reads heads for the endpoints at their paths."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        # A limit of requests must be asked for each one, which can take time: not here.
        self._endpoints = {
            path.encode(): endpoint
            for path, endpoint in endpoints.items()
            if endpoint.throttle is None
        }
        self.read = lru_cache(maxsize=_HEADS)(self._read)

    def _read(self, text: bytes) -> Known | None:
        """Read a head without its empty line; None for anything that is not plain."""
        line, *lines = text.split(b"\r\n")
        method, _, rest = line.partition(b" ")
        path, _, version = rest.partition(b" ")
        endpoint = self._endpoints.get(path)
        if endpoint is None or method != b"POST" or version != b"HTTP/1.1":
            return None
        headers = read_headers(lines)
        if headers is None:
            return None
        length = headers.get(b"content-length", b"")
        head = RequestHead("POST", headers, has_query=False, peer="")
        if not length.isdigit() or endpoint.gate.screen(head) is not None:
            return None
        return Known(text, endpoint, head, int(length))


class Pages(Protocol):
    """Pages for GET that can be shown at once."""

    def get(self, head: bytes) -> Reply | None:
        """Return what a request gets, by its head without the empty line; None for any that is not plain."""


class DirectProtocol(GuardedProtocol):
    """uvicorn's protocol with the direct door before it. `heads` is set by a subclass."""

    heads: RequestHeads
    whole: WholeRequests | None = None
    """Is asked first, for requests whose heads were read here before."""
    pages: Pages | None = None
    """What is answered to GET here, if anything."""
    memory: RequestMemory | None = None
    """Counts long answers that are not read yet, if that is limited."""
    turn: LoopTurn | None = None
    """Hears of each connection."""
    _all: ClassVar[Collection[object] | None] = None
    """The server's own set of its connections, HTTP and WebSocket."""

    @classmethod
    def open_connections(cls) -> int | None:
        """Return how many HTTP connections this process has; None where none ever came to this door.

        May be called from any thread.
        """
        if cls._all is None:
            return None
        return sum(isinstance(one, DirectProtocol) for one in tuple(cls._all))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        DirectProtocol._all = self.connections
        self._http: HttpConnection | None = None
        self._before: Body | None = None
        """The body of the request that is handed on, as long as that takes."""
        self._answered_at = 0.0
        """When an answer was given at once, by the loop's clock."""
        self._unread: Share | None = None
        """What a long answer holds until it is read."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.turn is not None:
            self.turn.accepted()

    @override
    def data_received(self, data: bytes) -> None:
        if self.whole is not None and self._is_served(data, self.whole):
            return
        if data.startswith(b"POST ") and self._is_at_rest():
            end = data.find(_END, 0, MAX_HEAD)
            known = self.heads.read(data[:end]) if end > 0 else None
            if known is not None and len(data) == end + 4 + known.length:
                self._respond(data, known, Body(data[end + 4 :]))
                return
        elif data.startswith(b"GET ") and self._show(data):
            return
        self._pass_on(data)

    def _respond(self, data: bytes, known: Known, body: Body) -> None:
        """Answer a whole request, here if that can be done at once."""
        if not self._answer(known, body):
            self._pass_on(data, body)

    def _pass_on(self, data: bytes, body: Body | None = None) -> None:
        """Leave bytes to uvicorn; with them goes the body of a whole request that was read here."""
        self._before = body
        super().data_received(data)
        self._before = None

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._before is not None:
            self.scope["state"][READ_BEFORE] = self._before

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._was_read()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._was_read()

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Close what is at rest for too long; answers that were given at once did not move this timer."""
        left = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._wait_for_request(left)
        else:
            super().timeout_keep_alive_handler()

    def _is_served(self, data: bytes, whole: WholeRequests) -> bool:
        """Have a request answered without a look at it here; whether it was."""
        if not self._is_at_rest():
            return False
        try:
            response = whole.serve(data, self.server_state.default_headers)
        except STOP:
            raise
        except BaseException:
            # A native extension that panics raises no `Exception`.
            _log.exception("the direct door failed")
            return False
        if response is None:
            return False
        self._write(response)
        return True

    def _answer(self, known: Known, body: Body) -> bool:
        """Answer a body if that can be done at once; whether it was."""
        connection = self._http or self._know(known)
        endpoint = known.endpoint
        try:
            answer = endpoint.dispatcher.answer_hot(body, connection)
            if answer is MISS or endpoint.compresses_long(known.head, answer):
                return False
            if answer is None or endpoint.is_compressed(known.head, answer):
                reply = endpoint.reply(known.head, answer)
                start, content = _head_of(reply, self.server_state.default_headers), reply.body
            else:
                start, content = known.start(self.server_state.default_headers), answer
        except Exception:
            # The raw door meets it too, and has an answer even then.
            _log.exception("the direct door failed")
            return False
        if not self._has_room(len(content), connection):
            return False
        endpoint.replies.answered()
        self._write(b"".join((start, b"%d\r\n\r\n" % len(content), content)))
        return True

    def _show(self, data: bytes) -> bool:
        """Answer with a page; say whether that was possible at once."""
        whole = data.endswith(_END) and len(data) <= MAX_HEAD and data.count(_END) == 1
        if self.pages is None or not whole or not self._is_at_rest():
            return False
        reply = self.pages.get(data[: -len(_END)])
        if reply is None:
            return False
        start = _head_of(reply, self.server_state.default_headers)
        self._write(b"%b%d\r\n\r\n%b" % (start, len(reply.body), reply.body))
        return True

    def _has_room(self, size: int, connection: HttpConnection) -> bool:
        """Count an answer if it is long; False where it does not fit, which the raw door says in words."""
        if size <= SMALL or self.memory is None:
            return True
        share = Share(self.memory, lambda: connection.client)
        try:
            share.grow(size)
        except Overloaded:
            return False
        self._unread = share
        return True

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.give_back()
            self._unread = None

    def _know(self, known: Known) -> HttpConnection:
        """Return whose connection this is; heads are remembered for all connections alike.

        No head that is read here says for whom it was forwarded.
        """
        peer = self.client[0] if self.client else ""
        self._http = HttpConnection(known.endpoint.gate, known.head._replace(peer=peer))
        return self._http

    def _is_at_rest(self) -> bool:
        """Return whether nothing is being read, answered or waiting to be written."""
        cycle: RequestResponseCycle | None = self.cycle  # None until the first one
        return (
            not self._reading
            and (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _write(self, response: bytes) -> None:
        """Write a response, and wait for the next request: nothing lingers, and nothing waits behind it."""
        self.transport.write(response)
        if not self.flow.write_paused:
            self._was_read()
        self.server_state.total_requests += 1
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._wait_for_request(self.timeout_keep_alive)

    def _wait_for_request(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )


def _head_of(reply: Reply, defaults: Headers) -> bytes:
    """Return a reply's head as uvicorn writes the raw door's, up to the number of its bytes."""
    content = [STATUS_LINE[reply.status]]
    for name, value in (*defaults, *reply.headers):
        content += (name, b": ", value, b"\r\n")
    return b"".join((*content, b"content-length: "))


def read_headers(
    lines: Iterable[bytes], refused: Collection[bytes] = _REFUSED
) -> dict[bytes, bytes] | None:
    """Return headers by their names in lower case; None where one is not plain, is double, or is refused."""
    headers: dict[bytes, bytes] = {}
    for one in lines:
        match = _HEADER.fullmatch(one)
        if match is None:
            return None
        name = match[1].lower()
        if name in headers or (name in refused and not _is_keep_alive(name, match[2])):
            return None
        headers[name] = match[2]
    return headers


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"

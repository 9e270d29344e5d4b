"""Bytes over TLS over a socket, with back-pressure both ways (p2p.md 1, 2).

Reading decrypts only what is asked for; while nobody asks, the socket is not read. Writing is done
while the socket takes it, all frames of one turn of the loop together, and waits in a bounded queue while it
does not. What the bytes
mean is read in `peer`.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import cast

from OpenSSL import SSL
from typing_extensions import override

from network_app.config import NetworkConfig
from network_app.peers import tls
from network_app.peers.errors import ConnectionLost, HttpInsteadOfTls, PeerError
from primitives.identity import CertificateError

CHUNK = 64 * 1024
"""Bytes that are read from the socket, and encrypted, at once."""
RECORD = 16 * 1024
"""Bytes that TLS encrypts as one piece."""
OVERHEAD = 2048
"""More than TLS adds to a chunk."""
HIGH_WATER = 256 * 1024
"""Bytes that the socket's own queue may hold before frames wait here."""
PROGRESS = 16 * 1024
"""Bytes that a peer must take of what waits for it to be one that takes something."""
HTTP = b"HTTP/"
"""The first bytes of an HTTP response."""
MOST_ANSWERED = 64 * 1024
"""Bytes that TLS may answer to a peer that takes nothing; what it makes by itself is in no queue."""


class Stream(asyncio.BufferedProtocol):
    """One connection. `opened` is asked when the socket is there; TLS is made if it says yes."""

    def __init__(
        self,
        make_tls: Callable[[], SSL.Connection],
        config: NetworkConfig,
        buffer: bytearray,
        opened: Callable[["Stream"], bool] = lambda _stream: True,
    ) -> None:
        self._make_tls = make_tls
        self._tls: SSL.Connection
        self._config = config
        self._buffer = buffer
        """What the socket is read into: one for all, since its bytes are moved on at once."""
        self._opened = opened
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._first = b""
        """The first bytes that came, as many as `HTTP` has."""
        self._plain = bytearray()
        self._dry = False
        """Whether TLS has said that it needs more bytes, and got none since."""
        self._reader: asyncio.Future[None] | None = None
        self._resting = False
        """Whether the socket is not read now."""
        self._fresh = bytearray()
        """Frames of this turn of the loop, which are encrypted and sent together at its end."""
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._answered = 0
        """Bytes that TLS made by itself since the socket took what was sent."""
        self._lost = False
        self._reason: PeerError = ConnectionLost()
        """Why, as the reader is told."""
        self._blocked_since: float | None = None
        self._left = 0
        """Bytes that were in the socket's own queue then."""
        self.closed = asyncio.Event()
        """Set when the socket is gone."""
        self.host = ""
        self._port = 0

    @property
    def address(self) -> str:
        """IP:port of the other side, an IPv6 address in brackets."""
        return f"[{self.host}]:{self._port}" if ":" in self.host else f"{self.host}:{self._port}"

    # --- what the transport calls ---

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        plain = transport.get_extra_info("socket")
        if plain is not None:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host, self._port = (transport.get_extra_info("peername") or ("", 0))[:2]
        if self._opened(self):
            self._tls = self._make_tls()
        else:
            self._transport.abort()

    @override
    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        came = bytes(memoryview(self._buffer)[:nbytes])
        if len(self._first) < len(HTTP):
            self._first += came[: len(HTTP) - len(self._first)]
        self._tls.bio_write(came)
        self._dry = False
        if self._reader is None:
            self._rest()
        else:
            self._wake()

    @override
    def eof_received(self) -> None:
        # What waits to be sent to somebody who has left is not waited for.
        self.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._wake()
        self.closed.set()

    @override
    def pause_writing(self) -> None:
        self._blocked_since = self._loop.time()

    @override
    def resume_writing(self) -> None:
        self._blocked_since = None
        while self._queue and self._blocked_since is None:
            frame = self._queue.popleft()
            self._queued -= len(frame)
            self._encrypt(frame)

    # --- TLS ---

    async def secure(self) -> bytes:
        """Bring TLS up and return the DER of the other side's certificate.

        Raises:
            ConnectionLost: The other side went away.
            TlsFailed: It does not speak TLS 1.3, or refuses us.
            HttpInsteadOfTls: It is an HTTP server.
            CertificateError: Nodes have no such certificate.
        """
        while True:
            try:
                self._tls.do_handshake()
            except SSL.WantReadError:
                await self._more()
            except SSL.Error as error:
                self._flush()
                if self._first == HTTP:
                    raise HttpInsteadOfTls from None
                raise tls.failure(error) from None
            except CertificateError:
                self._flush()  # the alert tells the other side
                raise
            else:
                self._flush()
                return tls.peer_certificate(self._tls)

    # --- reading ---

    async def read(self, size: int) -> bytes:
        """Return the next `size` bytes.

        Raises:
            ConnectionLost: The other side went away before.
            TlsFailed: What came is not the TLS that was agreed on.
        """
        while (taken := self.take(size)) is None:
            await self._more()
        return taken

    def take(self, size: int) -> bytes | None:
        """Return the next `size` bytes if they have come. Raises as `read`."""
        while len(self._plain) < size:
            if not self._decrypt():
                return None
        taken = bytes(memoryview(self._plain)[:size])
        del self._plain[:size]
        return taken

    def _decrypt(self) -> bool:
        """Take one more piece from TLS; False if there is none."""
        if self._dry:
            return False
        try:
            self._plain += self._tls.recv(RECORD)
        except SSL.WantReadError:
            self._dry = True
            return False
        except SSL.ZeroReturnError:
            raise ConnectionLost from None
        except SSL.Error as error:
            raise tls.failure(error) from None
        return True

    async def _more(self) -> None:
        """Wait for bytes from the socket."""
        self._answer()
        if self._lost or self._transport is None:
            raise self._reason
        self._reader = self._loop.create_future()
        if self._resting and not self._transport.is_closing():
            self._resting = False
            self._transport.resume_reading()
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _rest(self) -> None:
        if self._transport is not None and not self._resting and not self._transport.is_closing():
            self._resting = True
            self._transport.pause_reading()

    # --- writing ---

    @property
    def unsent(self) -> int:
        """Bytes that wait for the socket, none once the connection is over."""
        if self._lost or self._transport is None:
            return 0
        return len(self._fresh) + self._queued + self._in_socket

    @property
    def blocked_since(self) -> float | None:
        """Since when the peer takes nothing (the loop's time), None while nothing waits here.

        Who takes something, however slowly, begins anew each time that this is looked at.
        """
        if self._blocked_since is not None and self._left - self._in_socket >= PROGRESS:
            self._blocked_since = self._loop.time()
            self._left = self._in_socket
        return self._blocked_since

    @property
    def _in_socket(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def has_room(self, size: int = 0) -> bool:
        """Say whether a frame of so many bytes would be sent or queued."""
        if self._lost or self._transport is None or self._transport.is_closing():
            return False
        return self._blocked_since is None or (
            len(self._queue) < self._config.send_queue_messages
            and self.unsent + size <= self._config.send_queue
        )

    def write(self, frame: bytes) -> bool:
        """Send a frame, or put it into the queue; False if there is no room or no connection."""
        if not self.has_room(len(frame)):
            return False
        if self._blocked_since is not None:
            self._queue.append(frame)
            self._queued += len(frame)
            return True
        is_first = not self._fresh
        self._fresh += frame
        if len(self._fresh) >= CHUNK:
            self._send_fresh()
        elif is_first:
            self._loop.call_soon(self._send_fresh)
        return True

    def _send_fresh(self) -> None:
        if self._fresh and not self._lost:
            frames, self._fresh = self._fresh, bytearray()
            self._encrypt(frames)

    def _encrypt(self, frame: bytes | bytearray) -> None:
        view = memoryview(frame)
        for start in range(0, len(frame), CHUNK):
            try:
                self._tls.sendall(view[start : start + CHUNK])
            except SSL.Error:
                self.abort()  # the reader is told, and says why
                return
            self._flush()
        self._left = self._in_socket

    def _answer(self) -> None:
        """Send what TLS itself has to say, while the peer takes it."""
        if self._blocked_since is None:
            self._answered = 0
        self._answered += self._flush()
        if self._answered > MOST_ANSWERED:
            self.abort()  # it makes TLS answer, and reads nothing

    def _flush(self) -> int:
        """Hand what TLS has made to the socket; return how many bytes that was."""
        total = 0
        while self._transport is not None and not self._transport.is_closing():
            try:
                made = self._tls.bio_read(CHUNK + OVERHEAD)
            except SSL.WantReadError:
                break
            self._transport.write(made)
            total += len(made)
            if len(made) < CHUNK + OVERHEAD:
                break  # that was all
        return total

    # --- the end ---

    def close(self) -> int:
        """End the connection; return how many frames were still waiting.

        What the socket has taken is sent if that can be done at once: nobody waits for a peer
        that does not read.
        """
        waiting = len(self._queue)
        self._queue.clear()
        self._queued = 0
        if self._transport is None or self._transport.is_closing():
            return waiting
        if self._blocked_since is None:
            self._send_fresh()
            self._say_goodbye()
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()
        return waiting

    def abort(self, reason: PeerError | None = None) -> None:
        """End the connection without a word; who reads from it is told why."""
        if reason is not None:
            self._reason = reason
        if self._transport is not None:
            self._transport.abort()

    def _say_goodbye(self) -> None:
        try:
            self._tls.shutdown()
        except SSL.Error:
            return  # TLS was not up
        self._flush()

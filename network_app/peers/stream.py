"""A byte stream over TLS over a socket, with back-pressure in both directions (p2p.md 1, 2).

A read decrypts only the bytes that are requested, and the socket is read only while a reader waits. Frames are
written immediately while the socket accepts them, all frames of one iteration of the loop together; otherwise they
wait in a bounded queue. `peer` interprets the bytes.
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
from network_app.peers.errors import PeerError, PeerReason
from primitives.identity import CertificateError

CHUNK = 64 * 1024
"""Bytes that are read from the socket, or encrypted, in one step."""
RECORD = 16 * 1024
"""Size of a TLS record."""
OVERHEAD = 2048
"""Upper bound on the bytes that TLS adds to a chunk."""
HIGH_WATER = 256 * 1024
"""Bytes that the socket's own queue may hold before frames are queued here."""
PROGRESS = 16 * 1024
"""Bytes that a peer must read of the queued ones to count as reading."""
HTTP = b"HTTP/"
"""The first bytes of an HTTP response."""
MAX_ANSWERED = 64 * 1024
"""Limit on TLS's own responses to a peer that does not read, in bytes. They bypass the queue."""


class Stream(asyncio.BufferedProtocol):
    """One connection. `opened` is called when the socket is open; TLS starts if it returns true."""

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
        """Read buffer of the socket. All connections share it, because its bytes are copied immediately."""
        self._opened = opened
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._first = b""
        """The first bytes received, as many as `HTTP` has."""
        self._plain = bytearray()
        self._dry = False
        """Whether TLS needs more bytes and has received none since it said so."""
        self._reader: asyncio.Future[None] | None = None
        self._resting = False
        """Whether reading from the socket is paused."""
        self._fresh = bytearray()
        """Frames of this iteration of the loop, which are encrypted and sent together at its end."""
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._answered = 0
        """Bytes of TLS's own responses since the socket last accepted all output."""
        self._lost = False
        self._reason: PeerError = PeerError(PeerReason.CONNECTION_LOST)
        """The reason why the connection ended, raised to the reader."""
        self._blocked_since: float | None = None
        self._left = 0
        """Bytes that were in the socket's own queue at that time."""
        self.closed = asyncio.Event()
        """Set when the socket is closed."""
        self.host = ""
        self._port = 0

    @property
    def address(self) -> str:
        """IP:port of the peer, an IPv6 address in brackets."""
        return f"[{self.host}]:{self._port}" if ":" in self.host else f"{self.host}:{self._port}"

    # --- callbacks of the transport ---

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
        # The peer has left, so its queued output is dropped.
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
        """Complete the TLS handshake and return the DER encoding of the peer's certificate.

        Raises:
            PeerError: The peer closed the connection, does not speak TLS 1.3, rejects this node, or is an HTTP server.
            CertificateError: The certificate is not a valid node certificate.
        """
        while True:
            try:
                self._tls.do_handshake()
            except SSL.WantReadError:
                await self._more()
            except SSL.Error as error:
                self._flush()
                if self._first == HTTP:
                    raise PeerError(PeerReason.HTTP_INSTEAD_OF_TLS) from None
                raise tls.failure(error) from None
            except CertificateError:
                self._flush()  # sends the TLS alert
                raise
            else:
                self._flush()
                return tls.peer_certificate(self._tls)

    # --- reading ---

    async def read(self, size: int) -> bytes:
        """Return the next `size` bytes.

        Raises:
            PeerError: The peer closed the connection before, or the bytes received violate the negotiated TLS.
        """
        while (taken := self.take(size)) is None:
            await self._more()
        return taken

    def take(self, size: int) -> bytes | None:
        """Return the next `size` bytes, or None if they have not arrived. Raises the errors of `read`."""
        while len(self._plain) < size:
            if not self._decrypt():
                return None
        taken = bytes(memoryview(self._plain)[:size])
        del self._plain[:size]
        return taken

    def _decrypt(self) -> bool:
        """Decrypt another record; return False if none is available."""
        if self._dry:
            return False
        try:
            self._plain += self._tls.recv(RECORD)
        except SSL.WantReadError:
            self._dry = True
            return False
        except SSL.ZeroReturnError:
            raise PeerError(PeerReason.CONNECTION_LOST) from None
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
        """Number of bytes to be sent, 0 after the end of the connection."""
        if self._lost or self._transport is None:
            return 0
        return len(self._fresh) + self._queued + self._in_socket

    @property
    def blocked_since(self) -> float | None:
        """When the peer stopped reading (the loop's time), None while nothing is queued here.

        If the peer has read something since the last access, however little, the time restarts.
        """
        if self._blocked_since is not None and self._left - self._in_socket >= PROGRESS:
            self._blocked_since = self._loop.time()
            self._left = self._in_socket
        return self._blocked_since

    @property
    def _in_socket(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def has_room(self, size: int = 0) -> bool:
        """Return whether a frame of the given size would be sent or queued."""
        if self._lost or self._transport is None or self._transport.is_closing():
            return False
        return self._blocked_since is None or (
            len(self._queue) < self._config.send_queue_messages
            and self.unsent + size <= self._config.send_queue
        )

    def write(self, frame: bytes) -> bool:
        """Send or queue a frame; return False if there is no space or no connection."""
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
                self.abort()  # the reader gets the error and reports it
                return
            self._flush()
        self._left = self._in_socket

    def _answer(self) -> None:
        """Send TLS's own responses, within a limit while the peer does not read."""
        if self._blocked_since is None:
            self._answered = 0
        self._answered += self._flush()
        if self._answered > MAX_ANSWERED:
            self.abort()  # the peer provokes TLS responses and reads nothing

    def _flush(self) -> int:
        """Write TLS's output to the socket; return the number of bytes."""
        total = 0
        while self._transport is not None and not self._transport.is_closing():
            try:
                made = self._tls.bio_read(CHUNK + OVERHEAD)
            except SSL.WantReadError:
                break
            self._transport.write(made)
            total += len(made)
            if len(made) < CHUNK + OVERHEAD:
                break  # no further output
        return total

    # --- the end ---

    def close(self) -> int:
        """End the connection; return how many frames were still queued.

        Output that the socket can send immediately is still sent. This node does not wait for a peer
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
        """Close the connection without TLS shutdown; its reader gets the reason as an exception."""
        if reason is not None:
            self._reason = reason
        if self._transport is not None:
            self._transport.abort()

    def _say_goodbye(self) -> None:
        try:
            self._tls.shutdown()
        except SSL.Error:
            return  # TLS was not established
        self._flush()

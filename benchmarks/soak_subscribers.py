"""Subscribers to new heads, in a separate process: notifications with times, and lost or repeated ones."""

import multiprocessing
import re
import select
import signal
import socket
import time
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from benchmarks.exchanges import exchange
from benchmarks.rpc import RpcFailed, body
from benchmarks.wire import UNKNOWN, Endpoint, WebSocket

READ = 1 << 16
POLL_SECONDS = 0.1
"""Seconds between checks whether the soak is over."""
SETTLING = 10.0
"""Seconds after the last block in which pending notifications may still arrive."""
_NUMBER = re.compile(rb'"number":\s*"0x([0-9a-f]+)"')
_CLOSE, _PING = 0x8, 0x9
_OPCODE = 0x0F
_PONG = b"\x8a"


@dataclass(slots=True)
class SubscriberCounts:
    """Notifications of one subscriber. It must get each number once, in order."""

    last: int
    """The number of the last head that it knows."""
    lost: int = 0
    doubled: int = 0
    """Repeated notifications, and those after a later one."""

    def hear(self, number: int) -> None:
        """Count a notification."""
        if number <= self.last:
            self.doubled += 1
            return
        self.lost += number - self.last - 1
        self.last = number

    def end(self, head: int) -> None:
        """Count the missing notifications up to the head."""
        self.lost += max(0, head - self.last)


@dataclass(slots=True)
class Notifications:
    """Notifications of all subscribers."""

    lost: int = 0
    doubled: int = 0
    closed: int = 0
    """Subscribers whose connection the server closed."""
    times: dict[int, "array[float]"] = field(default_factory=dict)
    """When each notification was read (perf_counter), by block number."""

    @property
    def count(self) -> int:
        """Number of notifications of all subscribers."""
        return sum(map(len, self.times.values()))


class Subscribers:
    """The subscribers' process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def finish(self, head: int) -> Notifications:
        """Wait until all subscribers know the head or the time is over; return their notifications."""
        self._connection.send(head)
        heard: Notifications = self._connection.recv()
        return heard


@contextmanager
def subscribed(endpoint: Endpoint, count: int, head: int) -> Iterator[Subscribers]:
    """Start subscribers that know a head; run the body when all are subscribed, then end them.

    Raises:
        RpcFailed: The server refuses some of them.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_listen, args=(theirs, endpoint, count, head), daemon=True)
    process.start()
    try:
        failure = ours.recv()
        if failure is not None:
            raise RpcFailed(failure)
        yield Subscribers(ours)
    finally:
        process.terminate()
        process.join()


class SubscriptionListener:
    """Reads all sockets as soon as data arrives."""

    def __init__(self, framing: WebSocket, sockets: Sequence[socket.socket], head: int) -> None:
        self._framing = framing
        self._sockets = {item.fileno(): item for item in sockets}
        self._received = {number: bytearray() for number in self._sockets}
        self._told = {number: SubscriberCounts(head) for number in self._sockets}
        self._times: defaultdict[int, array[float]] = defaultdict(lambda: array("d"))
        self._closed = 0
        self._poll = select.epoll()
        for number in self._sockets:
            self._poll.register(number, select.EPOLLIN)

    def listen(self, seconds: float) -> None:
        """Read the data that arrives within some seconds."""
        for number, _ in self._poll.poll(seconds):
            chunk = _read(self._sockets[number])
            now = time.perf_counter()
            if not chunk:
                self._close(number)
                continue
            received = self._received[number]
            received += chunk
            while (size := self._framing.size(received)) != UNKNOWN and len(received) >= size:
                self._take(number, bytes(received[:size]), now)
                del received[:size]

    def has_all(self, head: int) -> bool:
        """Return whether every connected subscriber has been notified of a head."""
        return all(self._told[number].last >= head for number in self._sockets)

    def heard(self, head: int) -> Notifications:
        """Return the notifications up to a head."""
        for other in self._told.values():
            other.end(head)
        lost, doubled = (sum(getattr(item, what) for item in self._told.values()) for what in ("lost", "doubled"))  # fmt: skip
        return Notifications(lost, doubled, self._closed, dict(self._times))

    def _take(self, number: int, frame: bytes, now: float) -> None:
        opcode = frame[0] & _OPCODE
        if opcode == _PING:
            payload = self._framing.body(frame)
            self._sockets[number].sendall(
                _PONG + bytes((0x80 | len(payload),)) + bytes(4) + payload
            )
        elif opcode == _CLOSE:
            self._close(number)
        elif found := _NUMBER.search(frame):
            block = int(found.group(1), 16)
            self._told[number].hear(block)
            self._times[block].append(now)

    def _close(self, number: int) -> None:
        if connection := self._sockets.pop(number, None):
            self._poll.unregister(number)
            connection.close()
            self._closed += 1


def _read(connection: socket.socket) -> bytes:
    """Return the available data, or nothing if the connection ended for any reason."""
    try:
        return connection.recv(READ)
    except ConnectionError:
        return b""


def _listen(connection: Connection, endpoint: Endpoint, count: int, head: int) -> None:
    # Ctrl-C reaches this process too, which `subscribed` ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    framing = WebSocket(endpoint)
    sockets = [framing.connect() for _ in range(count)]
    for item in sockets:
        answer = exchange(framing, item, body("eth_subscribe", "newHeads"))
        if b'"result"' not in answer:
            connection.send(answer.decode(errors="replace"))
            return
    listener = SubscriptionListener(framing, sockets, head)
    connection.send(None)
    while not connection.poll():
        listener.listen(POLL_SECONDS)
    last = connection.recv()
    deadline = time.perf_counter() + SETTLING
    while not listener.has_all(last) and time.perf_counter() < deadline:
        listener.listen(POLL_SECONDS)
    listener.listen(POLL_SECONDS)  # repeated notifications arrive after that
    connection.send(listener.heard(last))

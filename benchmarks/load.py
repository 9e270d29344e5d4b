"""Loads that need to know what they sent: ordered streams of transactions, and single exchanges.

Plain repetition at full speed is in `generator`. An answer that holds an error counts as failed, so
a fast refusal is never taken for speed.
"""

import gc
import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.wire import UNKNOWN, Framing

READ = 1 << 16
"""Bytes taken from a socket at once."""

PATIENCE = 30.0
"""Seconds after which a server that answers nothing is given up."""


class Stalled(Exception):
    """A server left requests unanswered for longer than PATIENCE, or closed the connection."""


@dataclass(slots=True)
class Sent:
    """What became of the streams."""

    started: float = 0.0
    """When the first request was sent, by `time.perf_counter`."""
    ended: float = 0.0
    """When the last answer was there."""
    answered: list[int] = field(default_factory=list)
    """How many bodies of each stream were sent and answered."""
    failures: list[bytes] = field(default_factory=list)
    """The answers that hold an error."""


@dataclass(slots=True)
class _Lane:
    """One connection: what it has to send, and the answer that is coming in."""

    connection: socket.socket
    frames: Iterator[bytes]
    answered: int = 0
    received: bytearray = field(default_factory=bytearray)


def send_streams(framing: Framing, streams: Sequence[Sequence[bytes]], seconds: float) -> Sent:
    """Send each stream in order on a connection of its own, the next body after the last answer.

    Stops after the given time, or when everything is sent, and waits for what is under way.

    Raises:
        Stalled: Nothing was answered for PATIENCE, or a connection was closed.
    """
    lanes = [_Lane(framing.connect(), map(framing.frame, stream)) for stream in streams]
    try:
        with _collector_at_rest():
            return _loop(framing, lanes, seconds)
    finally:
        for lane in lanes:
            lane.connection.close()


def exchange(framing: Framing, connection: socket.socket, body: bytes) -> bytes:
    """Send one body on an idle connection and return the answer's body.

    Raises:
        Stalled: The connection ended.
    """
    connection.sendall(framing.frame(body))
    return receive(framing, connection)


def receive(framing: Framing, connection: socket.socket) -> bytes:
    """Return the body of the next message; nothing may follow it yet.

    Raises:
        Stalled: The connection ended.
    """
    received = bytearray()
    while True:
        chunk = connection.recv(READ)
        if not chunk:
            raise Stalled("the server closed the connection")
        received += chunk
        size = framing.size(received)
        if size != UNKNOWN and len(received) >= size:
            return framing.body(bytes(received))


def wait_for_all(framing: Framing, connections: Sequence[socket.socket], patience: float) -> bool:
    """Take one whole message from each connection; False when not all came in time.

    Raises:
        Stalled: A connection ended.
    """
    waiting = {connection.fileno(): (connection, bytearray()) for connection in connections}
    deadline = time.perf_counter() + patience
    with select.epoll() as poll:
        for descriptor in waiting:
            poll.register(descriptor, select.EPOLLIN)
        while waiting and (left := deadline - time.perf_counter()) > 0:
            for descriptor, _ in poll.poll(left):
                connection, received = waiting[descriptor]
                chunk = connection.recv(READ)
                if not chunk:
                    raise Stalled("the server closed the connection")
                received += chunk
                size = framing.size(received)
                if size != UNKNOWN and len(received) >= size:
                    poll.unregister(descriptor)
                    del waiting[descriptor]
    return not waiting


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep Python's garbage collector from pausing the load while the clock runs."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _loop(framing: Framing, lanes: Sequence[_Lane], seconds: float) -> Sent:
    sent = Sent(started=time.perf_counter())
    deadline = sent.started + seconds
    busy = {lane.connection.fileno(): lane for lane in lanes if _send_next(lane)}
    with select.epoll() as poll:
        for descriptor in busy:
            poll.register(descriptor, select.EPOLLIN)
        while busy:
            ready = poll.poll(PATIENCE)
            if not ready:
                raise Stalled(f"no answer within {PATIENCE:.0f} s")
            for descriptor, _ in ready:
                lane = busy[descriptor]
                if not _take(framing, lane, sent):
                    continue
                if time.perf_counter() > deadline or not _send_next(lane):
                    poll.unregister(descriptor)
                    del busy[descriptor]
    sent.ended = time.perf_counter()
    sent.answered = [lane.answered for lane in lanes]
    return sent


def _send_next(lane: _Lane) -> bool:
    frame = next(lane.frames, None)
    if frame is None:
        return False
    lane.connection.sendall(frame)
    return True


def _take(framing: Framing, lane: _Lane, sent: Sent) -> bool:
    """Read what has come; True when the answer is whole."""
    chunk = lane.connection.recv(READ)
    if not chunk:
        raise Stalled("the server closed the connection")
    lane.received += chunk
    size = framing.size(lane.received)
    if size == UNKNOWN or len(lane.received) < size:
        return False
    if b'"error"' in lane.received:
        sent.failures.append(framing.body(bytes(lane.received)))
    lane.received.clear()
    lane.answered += 1
    return True

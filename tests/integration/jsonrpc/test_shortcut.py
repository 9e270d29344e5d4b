"""Messages known to the shortcut are answered where they arrive, however they are fragmented."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection
from websockets.utils import apply_mask

from jsonrpc.limits.memory import MemoryLimits
from jsonrpc.websocket.session import Session
from tests.integration.jsonrpc.guarded import (
    ANSWER,
    BROKEN,
    CALL,
    HEAVY,
    HUGE,
    LONG,
    PLAIN,
    SHORT,
    SHORT_ANSWERS,
    Panic,
    Serve,
    Served,
    open_socket,
)
from tests.integration.jsonrpc.serving import JSON
from tests.integration.patience import SECONDS
from tests.servers.raw import RawConnection

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Messages that reached the application."""
    seen: list[bytes] = []
    handle = Session._handle

    async def noticing(self, head, body):
        seen.append(body.text)
        await handle(self, head, body)

    monkeypatch.setattr(Session, "_handle", noticing)
    return seen


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()


@pytest.fixture
def ws(served: Served) -> Iterator[ClientConnection]:
    with open_socket(served) as opened:
        # After the first response the session has begun, and messages are answered where they arrive.
        opened.send(CALL.decode())
        assert opened.recv(timeout=SECONDS) == ANSWER.decode()
        yield opened


def frame(text: bytes) -> bytes:
    return Frame(Opcode.TEXT, text).serialize(mask=True)


def answers(ws: ClientConnection, number: int) -> list[bytes]:
    return [str(ws.recv(timeout=SECONDS)).encode() for _ in range(number)]


@pytest.mark.parametrize("body", [SHORT, LONG])
def test_whole_message_is_answered_on_arrival(ws, handled, body) -> None:
    ws.send(body.decode())
    assert answers(ws, 1) == [SHORT_ANSWERS[body][0]]
    assert handled == []


def test_messages_unknown_to_the_shortcut_reach_the_methods(ws, handled, served) -> None:
    served.asked_first.clear()
    for body in (CALL, SHORT, CALL):
        ws.send(body.decode())
        ws.recv(timeout=SECONDS)
    assert handled == [CALL, CALL]
    assert served.asked_first == [CALL, SHORT, CALL], "each was asked for once"


def test_whole_and_fragmented_messages_are_answered_in_order(ws) -> None:
    whole = frame(SHORT) + frame(LONG) + frame(CALL) + frame(SHORT)
    expected = [b'"short"', b'"long"', ANSWER, b'"short"']
    ws.socket.sendall(whole)
    assert answers(ws, 4) == expected
    for place in range(0, len(whole), 50):
        ws.socket.sendall(whole[place : place + 50])
    assert answers(ws, 4) == expected


def test_fragmented_message_is_one_message(ws) -> None:
    first = Frame(Opcode.TEXT, SHORT[:9], fin=False).serialize(mask=True)
    ws.socket.sendall(first + Frame(Opcode.CONT, SHORT[9:]).serialize(mask=True))
    assert answers(ws, 1) == [b'"short"']


def test_malformed_frame_closes_the_socket(ws) -> None:
    ws.socket.sendall(Frame(Opcode.TEXT, SHORT).serialize(mask=False))
    with pytest.raises(Exception, match="1002"):
        ws.recv(timeout=SECONDS)


def test_long_response_counts_until_it_is_read(ws, served) -> None:
    ws.send(HUGE.decode())
    assert answers(ws, 1) == [SHORT_ANSWERS[HUGE][0]]
    ws.send(CALL.decode())
    assert answers(ws, 1) == [ANSWER]
    assert served.memory.held == 0


def test_response_above_the_memory_limit_is_refused_with_its_id(serve: Serve) -> None:
    with open_socket(serve(memory=MemoryLimits(300_000, 300_000))) as ws:
        for body in (CALL, HUGE):
            ws.send(body.decode())
        refused = json.loads(answers(ws, 2)[1])
    assert (refused["id"], refused["error"]["message"]) == (1, "server is busy")


def test_slow_call_moves_to_a_thread_and_is_not_retried(ws, handled, served) -> None:
    served.asked_first.clear()
    ws.send(HEAVY.decode())
    assert answers(ws, 1) == [ANSWER.replace(b"7", b"1")]
    assert (handled, served.asked_first) == ([HEAVY], [HEAVY])


def test_failing_shortcut_leaves_messages_to_the_methods(ws, handled, served) -> None:
    ws.send(BROKEN.decode())
    assert (answers(ws, 1), handled) == ([ANSWER], [BROKEN])
    with RawConnection(served.port) as http:
        length = b"Content-Length: %d\r\n\r\n" % len(BROKEN)
        http.say(b"POST /rpc HTTP/1.1\r\n" + JSON + length + BROKEN)
        assert http.response()[2] == ANSWER


def test_frame_bytes_inside_a_payload_are_not_parsed(ws, served) -> None:
    inner = Frame(Opcode.TEXT, SHORT).serialize(mask=True)
    outer = Frame(Opcode.TEXT, b" " * len(inner)).serialize(mask=True)
    head = outer[: len(outer) - len(inner)]
    served.asked_first.clear()
    ws.socket.sendall(head)
    with RawConnection(served.port) as http:
        for _ in range(
            2
        ):  # the second is answered in a later turn of the loop than the head was parsed in
            http.say(PLAIN)
            assert http.response()[2] == ANSWER
    ws.socket.sendall(inner)
    assert b'"error"' in answers(ws, 1)[0]
    assert SHORT not in served.asked_first


def test_extended_length_must_be_minimal(ws, served) -> None:
    served.asked_first.clear()
    ws.socket.sendall(b"\x81\xff" + bytes(8) + bytes(123))
    with pytest.raises(ConnectionClosed):
        ws.recv(timeout=SECONDS)
    assert served.asked_first == []


class Frames:
    """A shortcut that answers one known frame, at most three at a time, and fails for other frames."""

    MOST = 3

    def __init__(self) -> None:
        self.asked: list[list[bytes]] = []
        """The messages that were looked at, by call."""
        self.same_turn = False
        """Whether it was called twice in one turn of the event loop."""
        self._called = False

    def serve(self, data: bytes) -> tuple[bytes, int] | None:
        self.same_turn |= self._called
        self._called = True
        asyncio.get_running_loop().call_soon(setattr, self, "_called", False)
        self.asked.append([])
        done = 0
        answered = b""
        while len(self.asked[-1]) < self.MOST:
            head = data[done : done + 2]
            size = 6 + head[1] - 0x80 if len(head) == 2 else 0
            if not 6 < size < 130 or len(data) < done + size or head[0] != 0x81:
                break
            message = apply_mask(data[done + 6 : done + size], data[done + 2 : done + 6])
            self.asked[-1].append(message)
            if message == BROKEN:
                raise Panic
            if message != SHORT:
                break
            answered += Frame(Opcode.TEXT, b'"by frame"').serialize(mask=False)
            done += size
        return (answered, done) if done else None


@pytest.fixture
def frames() -> Frames:
    return Frames()


@pytest.fixture
def framed(serve: Serve, frames: Frames) -> Iterator[ClientConnection]:
    """A socket whose messages are answered by their frames."""
    with open_socket(serve(frames=frames)) as opened:
        # The first message may arrive before the session has begun.
        opened.send(CALL.decode())
        assert opened.recv(timeout=SECONDS) == ANSWER.decode()
        frames.asked.clear()
        yield opened


def test_known_frame_is_answered_and_others_reach_the_shortcut(serve, handled, frames) -> None:
    served = serve(frames=frames)
    expected = {SHORT: b'"by frame"', CALL: ANSWER, HEAVY: ANSWER.replace(b"7", b"1")}
    with open_socket(served) as ws:
        for body in (CALL, SHORT, HEAVY, SHORT):
            ws.send(body.decode())
            assert answers(ws, 1) == [expected[body]]
    # The first message may have arrived before the session had begun.
    assert frames.asked[-3:] == [[SHORT], [HEAVY], [SHORT]]
    assert served.asked_first == handled == [CALL, HEAVY]


def test_frame_that_fails_in_the_extension_reaches_the_methods(serve, caplog) -> None:
    with open_socket(serve(frames=Frames())) as ws:
        for body, answer in ((CALL, ANSWER), (BROKEN, ANSWER), (SHORT, b'"by frame"')):
            ws.send(body.decode())
            assert answers(ws, 1) == [answer]
    assert "a frame could not be answered" in caplog.text


def test_frames_that_arrive_together_are_answered_together(framed, frames, handled) -> None:
    framed.socket.sendall(frame(SHORT) * 3)
    assert answers(framed, 3) == [b'"by frame"'] * 3
    assert (frames.asked, handled) == ([[SHORT] * 3], [])


def test_answers_keep_the_order_of_frames_that_arrive_together(framed, frames, handled) -> None:
    messages = [SHORT, SHORT, CALL, LONG, SHORT, CALL, CALL, SHORT, SHORT, SHORT, SHORT, LONG]
    framed.socket.sendall(b"".join(map(frame, messages)))
    own = {SHORT: b'"by frame"', LONG: b'"long"', CALL: ANSWER}
    assert answers(framed, len(messages)) == [own[message] for message in messages]
    assert handled == [CALL] * 3


def test_many_frames_of_one_connection_take_several_turns_of_the_event_loop(framed, frames) -> None:
    framed.socket.sendall(frame(SHORT) * 20)
    assert answers(framed, 20) == [b'"by frame"'] * 20
    assert len(frames.asked) >= 7
    assert not frames.same_turn


@pytest.mark.parametrize("cut", [1, 3, 5, 20])
def test_frame_whose_end_arrives_later_is_answered_after_those_before(framed, cut) -> None:
    data = frame(SHORT) * 2 + frame(CALL)
    framed.socket.sendall(data[: -len(frame(CALL)) + cut])
    assert answers(framed, 2) == [b'"by frame"'] * 2
    framed.socket.sendall(data[-len(frame(CALL)) + cut :] + frame(LONG))
    assert answers(framed, 2) == [ANSWER, b'"long"']


def test_close_frame_after_messages_is_answered_after_them(framed) -> None:
    close = Frame(Opcode.CLOSE, (1000).to_bytes(2, "big")).serialize(mask=True)
    framed.socket.sendall(frame(SHORT) * 5 + close + frame(SHORT))
    assert answers(framed, 5) == [b'"by frame"'] * 5
    with pytest.raises(ConnectionClosed) as closed:
        framed.recv(timeout=SECONDS)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1000

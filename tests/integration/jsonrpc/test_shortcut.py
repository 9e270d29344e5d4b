"""Messages that the shortcut answers are answered where they arrive, in whatever pieces they come."""

from collections.abc import Iterator

import pytest
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection

from jsonrpc.session import Session
from tests.integration.jsonrpc.guarded import (
    ANSWER,
    CALL,
    HEAVY,
    HUGE,
    LONG,
    SHORT,
    SHORT_ANSWERS,
    Serve,
    Served,
    open_socket,
)
from tests.integration.patience import SECONDS


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Messages that came to the application."""
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
        # The first answer says that the session has begun, after which messages are answered where they arrive.
        opened.send(CALL.decode())
        assert opened.recv(timeout=SECONDS) == ANSWER.decode()
        yield opened


def frame(text: bytes) -> bytes:
    return Frame(Opcode.TEXT, text).serialize(mask=True)


def answers(ws: ClientConnection, number: int) -> list[bytes]:
    return [str(ws.recv(timeout=SECONDS)).encode() for _ in range(number)]


@pytest.mark.parametrize("body", [SHORT, LONG])
def test_a_message_that_came_whole_is_answered_where_it_arrives(ws, handled, body) -> None:
    ws.send(body.decode())
    assert answers(ws, 1) == [SHORT_ANSWERS[body][0]]
    assert handled == []


def test_what_the_shortcut_does_not_know_goes_on_to_the_methods(ws, handled, served) -> None:
    served.asked_first.clear()
    for body in (CALL, SHORT, CALL):
        ws.send(body.decode())
        ws.recv(timeout=SECONDS)
    assert handled == [CALL, CALL]
    # Each of them is asked for where it arrives, and the dispatcher asks once more for what it is given.
    assert served.asked_first == [CALL, CALL, SHORT, CALL, CALL]


def test_messages_in_one_piece_and_in_many_are_answered_in_their_order(ws) -> None:
    whole = frame(SHORT) + frame(LONG) + frame(CALL) + frame(SHORT)
    expected = [b'"short"', b'"long"', ANSWER, b'"short"']
    ws.socket.sendall(whole)
    assert answers(ws, 4) == expected
    for place in range(0, len(whole), 50):
        ws.socket.sendall(whole[place : place + 50])
    assert answers(ws, 4) == expected


def test_a_message_in_frames_is_one_message(ws) -> None:
    first = Frame(Opcode.TEXT, SHORT[:9], fin=False).serialize(mask=True)
    ws.socket.sendall(first + Frame(Opcode.CONT, SHORT[9:]).serialize(mask=True))
    assert answers(ws, 1) == [b'"short"']


def test_what_is_no_frame_of_a_client_ends_the_socket(ws) -> None:
    ws.socket.sendall(Frame(Opcode.TEXT, SHORT).serialize(mask=False))
    with pytest.raises(Exception, match="1002"):
        ws.recv(timeout=SECONDS)


def test_a_long_answer_is_counted_until_it_is_read(ws, served) -> None:
    ws.send(HUGE.decode())
    assert answers(ws, 1) == [SHORT_ANSWERS[HUGE][0]]
    ws.send(CALL.decode())
    assert answers(ws, 1) == [ANSWER]
    assert served.memory.held == 0


def test_what_takes_too_long_goes_to_a_thread(ws, handled) -> None:
    ws.send(HEAVY.decode())
    (answer,) = answers(ws, 1)
    assert (handled, b'"error"' in answer or b'"0x10"' in answer) == ([HEAVY], True)

"""The results of a soak: missed and repeated notifications, lost transactions, and failure."""

import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.soak_subscribers import SubscriberCounts, SubscriptionListener
from benchmarks.soak_verdict import (
    SentTransactions,
    SoakResult,
    figures,
    markdown,
    passes,
    percentile,
)
from benchmarks.wire import Endpoint, WebSocket

FRAMING = WebSocket(Endpoint("127.0.0.1", 1, "/", "/"))

GOOD = SoakResult(
    seconds=600.0,
    sent=[
        SentTransactions("C-Chain", 2, Counter({"0xa": 1, "0xb": 1})),
        SentTransactions("P-Chain", 1, Counter({"1": 1})),
    ],
    subscribers=2,
    blocks=2,
    lost=0,
    doubled=0,
    delays=[0.01] * 99 + [0.3],
    reads=[0.001],
    pages=[0.02],
    errors=Counter(),
    memory_early=100,
    memory_late=104,
)


def sent(**found: int) -> SentTransactions:
    return SentTransactions("C-Chain", 2, Counter(found))


@pytest.mark.parametrize(
    ("heard", "lost", "doubled"),
    [
        ([8, 9, 10], 0, 0),
        ([8, 10], 1, 0),
        ([8, 9], 1, 0),
        ([], 3, 0),
        ([8, 9, 9, 10], 0, 1),
        ([8, 10, 9], 1, 1),
        ([7, 8, 9, 10], 0, 1),
    ],
)
def test_lost_and_repeated_notifications_are_counted(
    heard: list[int], lost: int, doubled: int
) -> None:
    told = SubscriberCounts(7)
    for number in heard:
        told.hear(number)
    told.end(10)

    assert (told.lost, told.doubled) == (lost, doubled)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's and the subscriber's end of a connection."""
    theirs, ours = socket.socketpair()
    yield theirs, ours
    theirs.close()
    ours.close()


def frame(opcode: int, payload: bytes) -> bytes:
    return bytes((0x80 | opcode, len(payload))) + payload


def head(number: int) -> bytes:
    return frame(1, b'{"params":{"result":{"number":"%#x"}}}' % number)


def test_listener_splits_frames_and_answers_pings(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    theirs, ours = pair
    listener = SubscriptionListener(FRAMING, [ours], 7)
    third = head(10)
    theirs.sendall(head(8) + frame(9, b"hi") + head(9) + third[:5])
    listener.listen(1.0)
    assert theirs.recv(99) == b"\x8a\x82\0\0\0\0hi"
    assert not listener.has_all(10)
    theirs.sendall(third[5:])
    listener.listen(1.0)

    heard = listener.heard(10)

    assert listener.has_all(10)
    assert (heard.lost, heard.doubled, heard.closed, heard.count) == (0, 0, 0, 3)
    assert list(heard.times) == [8, 9, 10]


@pytest.mark.parametrize("said", [frame(8, b""), b""])
def test_a_subscriber_that_was_thrown_out_is_reported_of(
    pair: tuple[socket.socket, socket.socket], said: bytes
) -> None:
    theirs, ours = pair
    listener = SubscriptionListener(FRAMING, [ours], 7)
    theirs.sendall(said)
    theirs.close()
    listener.listen(1.0)

    heard = listener.heard(9)

    assert (heard.lost, heard.closed) == (2, 1)


def test_a_soak_without_a_fault_passes() -> None:
    assert passes(GOOD)
    assert "✗" not in markdown(GOOD, ["a machine"])


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"sent": [SentTransactions("C-Chain", 0, Counter())]}, "C-Chain: transactions"),
        ({"sent": [sent(a=1)]}, "C-Chain: lost"),
        ({"sent": [sent(a=1, b=2)]}, "C-Chain: doubled"),
        ({"sent": [replace(sent(a=1, b=1), strangers=1)]}, "C-Chain: doubled"),
        ({"lost": 1}, "Notifications: lost"),
        ({"doubled": 1}, "Notifications: doubled"),
        ({"delays": [0.01] * 98 + [0.25] * 2}, "Notification, p99, ms"),
        ({"delays": []}, "Notification, p99, ms"),
        ({"errors": Counter({"Visitor: 500 /blocks": 1})}, "Errors"),
        ({"memory_late": 105}, "Growth of memory"),
    ],
)
def test_each_bar_is_missed_alone(changes: dict[str, Any], title: str) -> None:
    missed = replace(GOOD, **changes)

    assert not passes(missed)
    assert [figure.title for figure in figures(missed) if not figure.passed] == [title]


def test_percentile_of_ordered_values() -> None:
    ordered = [float(number) for number in range(1, 101)]
    assert (percentile(ordered, 0.5), percentile(ordered, 0.99)) == (50.0, 99.0)
    assert percentile([3.0], 0.99) == 3.0

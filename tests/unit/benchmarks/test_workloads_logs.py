"""The rows about a thousand logs require each of them and accept no others."""

import json
import socket
from typing import Any

import pytest

from benchmarks.exchanges import Stalled, receive_many
from benchmarks.rpc import WrongAnswer
from benchmarks.wire import Endpoint, WebSocket
from benchmarks.workloads_aged import LOGS, time_old_logs
from benchmarks.workloads_ws import NOTIFIED, check_logs

WS = WebSocket(Endpoint("127.0.0.1", 1, "/", "/"))
HASH = "0x" + "11" * 32


def frame(text: bytes) -> bytes:
    """Return a message as servers send it: without a mask."""
    size = len(text)
    head = bytes((0x81, size)) if size < 126 else b"\x81\x7e" + size.to_bytes(2, "big")
    return head + text


def told(*, count: int = NOTIFIED, of: str = HASH) -> list[dict[str, str]]:
    return [{"logIndex": hex(index), "transactionHash": of} for index in range(count)]


def test_messages_are_split_from_one_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wanted = [b"a", b"b" * 300, b"", b"d"]
        theirs.sendall(b"".join(map(frame, wanted)))
        assert receive_many(WS, ours, 4, 60.0) == wanted
        theirs.sendall(frame(b"e") + frame(b"f" * 200)[:-1])
        assert receive_many(WS, ours, 2, 0.05) == [b"e"]


def test_connection_closed_too_early_is_reported() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(frame(b"a"))
        theirs.close()
        with pytest.raises(Stalled):
            receive_many(WS, ours, 2, 60.0)


def test_the_logs_of_a_transaction_pass() -> None:
    check_logs(told(), HASH)


@pytest.mark.parametrize(
    ("logs", "words"),
    [
        (told()[:-1], "999 logs"),
        ([told()[0], *told()[:-1]], "numbers"),
        (told()[::-1], "numbers"),
        (told(of="0x" + "22" * 32), "in place of"),
    ],
)
def test_other_logs_do_not(logs: list[dict[str, str]], words: str) -> None:
    with pytest.raises(WrongAnswer, match=words):
        check_logs(logs, HASH)


class Chain:
    """A chain that returns `count` logs of the requested block, or of another one."""

    def __init__(self, count: int = LOGS, shift: int = 0) -> None:
        self.count = count
        self.shift = shift
        self.asked: list[str] = []

    def ask_raw(self, request: bytes) -> bytes:
        height = json.loads(request)["params"][0]["fromBlock"]
        self.asked.append(height)
        log = {"blockNumber": hex(int(height, 16) + self.shift)}
        return json.dumps({"result": [log] * self.count}).encode()


QUESTIONS: list[dict[str, Any]] = [{"fromBlock": hex(n), "toBlock": hex(n)} for n in range(5)]


def test_old_blocks_are_requested_once() -> None:
    chain = Chain()
    found = time_old_logs(chain, QUESTIONS)  # type: ignore[arg-type]

    assert chain.asked == [question["fromBlock"] for question in QUESTIONS]
    assert found.p50 is not None
    assert found.value == found.p50 * 1e3 > 0


@pytest.mark.parametrize("fault", [{"count": LOGS - 1}, {"count": 0}, {"shift": 1}])
def test_logs_that_are_not_all_or_of_another_block_have_no_figure(fault: dict[str, int]) -> None:
    with pytest.raises(WrongAnswer, match="logs of"):
        time_old_logs(Chain(**fault), QUESTIONS)  # type: ignore[arg-type]

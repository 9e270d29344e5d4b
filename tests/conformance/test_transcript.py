"""The check of answers against the document, tested with answers that contain one error each."""

import gzip
import json
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from tests.conformance.openrpc import DoesNotConform
from tests.conformance.transcript import Dialogue, Transcript
from tests.servers.overheard import Overheard

HASH = "0x" + "ab" * 32
LOG = {"address": "0x" + "ab" * 20, "topics": [HASH], "data": "0x", "transactionHash": HASH}
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


class Connection:
    """A connection whose both ends are written by the test."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.ear = Overheard(Dialogue(self.transcript))

    def upgrade(self) -> None:
        self.ear.sent(b"GET /ws HTTP/1.1\r\nHost: a\r\n" + UPGRADE)
        self.ear.answered(b"HTTP/1.1 101 Switching Protocols\r\n" + UPGRADE)

    def ask(self, method: str, *params: Any, socket: bool = False) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        self.ear.sent(frame(body, mask=True) if socket else b"POST / HTTP/1.1\r\n" + framed(body))

    def answer(self, *, socket: bool = False, **fields: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, **fields}).encode()
        self.ear.answered(frame(body) if socket else b"HTTP/1.1 200 OK\r\n" + framed(body))

    def tell(self, subscription: str, result: Any) -> None:
        params = {"subscription": subscription, "result": result}
        message = {"jsonrpc": "2.0", "method": "eth_subscription", "params": params}
        self.ear.answered(frame(json.dumps(message).encode()))


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def frame(body: bytes, *, mask: bool = False) -> bytes:
    return Frame(Opcode.TEXT, body).serialize(mask=mask)


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.mark.parametrize("socket", [False, True])
def test_answers_are_held_against_the_schema_of_their_method(
    connection: Connection, *, socket: bool
) -> None:
    if socket:
        connection.upgrade()
    connection.ask("eth_blockNumber", socket=socket)
    connection.answer(result="0x1", socket=socket)
    connection.transcript.check()
    connection.ask("eth_blockNumber", socket=socket)
    connection.answer(result="0x01", socket=socket)
    with pytest.raises(DoesNotConform, match="eth_blockNumber: at /: '0x01' does not match"):
        connection.transcript.check()
    assert connection.transcript.count == 2


def test_transcript_accepts_bytes_in_any_pieces(connection: Connection) -> None:
    whole = Connection()
    sent, answered = bytearray(), bytearray()
    whole.ear.sent, whole.ear.answered = sent.extend, answered.extend  # type: ignore[method-assign]
    whole.upgrade()
    whole.ask("eth_blockNumber", socket=True)
    whole.answer(result="later", socket=True)
    for place in range(len(sent)):
        connection.ear.sent(bytes(sent[place : place + 1]))
    for place in range(len(answered)):
        connection.ear.answered(bytes(answered[place : place + 1]))
    with pytest.raises(DoesNotConform, match="eth_blockNumber: at /: 'later'"):
        connection.transcript.check()


def test_transcript_reads_compressed_bodies(connection: Connection) -> None:
    connection.ask("eth_blockNumber")
    body = gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":"0x01"}')
    connection.ear.answered(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n" + framed(body))
    connection.ask("eth_blockNumber")
    connection.answer(result="0x02")
    with pytest.raises(DoesNotConform) as raised:
        connection.transcript.check()
    assert "'0x01'" in str(raised.value)
    assert "'0x02'" in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("logs", LOG, {**LOG, "topics": ["0x1"]}),
        ("logs", LOG, HASH),
        ("newPendingTransactions", HASH, "0x12"),
        ("newPendingTransactions", HASH, {"hash": HASH}),
        ("oldHeads", None, HASH),
    ],
)
def test_notifications_are_checked_by_subscription_kind(
    connection: Connection, kind: str, good: Any, bad: Any
) -> None:
    connection.upgrade()
    connection.ask("eth_subscribe", kind, socket=True)
    connection.answer(result="0x5", socket=True)
    if good:
        connection.tell("0x5", good)
    connection.transcript.check()
    connection.tell("0x5", bad)
    with pytest.raises(DoesNotConform):
        connection.transcript.check()


def test_a_head_is_a_block_without_its_body(connection: Connection) -> None:
    connection.upgrade()
    connection.ask("eth_subscribe", "newHeads", socket=True)
    connection.answer(result="0x5", socket=True)
    hashes = ("hash", "parentHash", "sha3Uncles", "stateRoot", "transactionsRoot", "receiptsRoot")
    numbers = ("number", "gasLimit", "gasUsed", "timestamp")
    head = {
        **dict.fromkeys((*hashes, "mixHash"), HASH),
        **dict.fromkeys(numbers, "0x0"),
        "miner": "0x" + "ab" * 20,
        "logsBloom": "0x" + "00" * 256,
        "extraData": "0x",
        "nonce": "0x" + "00" * 8,
    }
    connection.tell("0x5", head)
    connection.transcript.check()
    connection.tell("0x5", {**head, "number": 5})
    with pytest.raises(DoesNotConform, match="newHeads: at /number: 5 is not of type 'string'"):
        connection.transcript.check()


@pytest.mark.parametrize(
    "fields",
    [
        {"result": "0x1", "error": {"code": 1, "message": "a"}},
        {"result": "0x1", "jsonrpc": "1.0"},
        {"error": {"code": "1", "message": "a"}},
        {"error": {"code": 1, "message": "a", "name": "b"}},
        {"error": "a"},
        {"result": "0x1", "id": 2},
    ],
)
def test_an_answer_has_the_frame_of_its_protocol(
    connection: Connection, fields: dict[str, Any]
) -> None:
    connection.ask("eth_blockNumber")
    connection.answer(**fields)
    with pytest.raises(DoesNotConform):
        connection.transcript.check()


def test_an_error_is_an_answer_to_everything(connection: Connection) -> None:
    connection.ask("eth_blockNumber")
    connection.answer(error={"code": 3, "message": "a", "data": "0x"})
    connection.ear.sent(b"POST / HTTP/1.1\r\n" + framed(b"{"))
    connection.answer(id=None, error={"code": -32700, "message": "parse error"})
    connection.transcript.check()
    assert connection.transcript.count == 2


def test_unreadable_input_is_a_fault(connection: Connection) -> None:
    connection.ear.answered(b"HTTP/1.1 200 OK\r\n" + framed(b"<html>"))
    with pytest.raises(DoesNotConform, match="not understood: JSONDecodeError"):
        connection.transcript.check()

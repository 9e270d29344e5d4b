"""Abusive clients at a running node's HTTP and WebSocket endpoints: their cost is limited, and others are served.

The asserted ceilings are generous, but far below the cost of the same attacks without limits.
"""

import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.servers.node import RunningNode
from tests.servers.raw import RawConnection

MIB = 1024 * 1024
RPC = "/ext/bc/C/rpc"
CALL = b'{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}'
HOST = b"Host: localhost\r\nContent-Type: application/json\r\n"
ANSWERED = b'"result":"0xa868"'
BESIDE_SECONDS = 5.0
"""Most seconds that an answer may take during an attack, on a busy machine."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node for these tests alone, because they measure the resources of its process."""
    with RunningNode(tmp_path_factory.mktemp("endpoints")) as running:
        yield running.start()


def memory_peak(node: RunningNode) -> int:
    status = Path(f"/proc/{node.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def open_files(node: RunningNode) -> list[str]:
    directory = Path(f"/proc/{node.pid}/fd")
    found = []
    for entry in directory.iterdir():
        try:
            found.append(os.readlink(entry))
        except FileNotFoundError:  # the file was closed in the meantime
            continue
    return found


def spooled(node: RunningNode) -> list[str]:
    """Return open files that have been unlinked, as used for spooled bodies."""
    return [name for name in open_files(node) if "(deleted)" in name]


def post(path: str, *headers: bytes) -> bytes:
    lines = (b"POST %b HTTP/1.1" % path.encode(), b"Host: localhost", *headers, b"", b"")
    return b"\r\n".join(lines)


def call(port: int, source: str = "127.0.0.1") -> float:
    """Send a call over a new connection; return the duration of the answer in seconds."""
    began = time.monotonic()
    with RawConnection(port, source) as connection:
        connection.say(post(RPC, b"Content-Type: application/json", b"Content-Length: 59") + CALL)
        status, _, body = connection.response()
    assert (status, ANSWERED in body) == (200, True)
    return time.monotonic() - began


@contextmanager
def asking_beside(port: int) -> Iterator[list[float]]:
    """Send calls while the body runs; check that each was answered and that none took too long."""
    took: list[float] = []
    failed: list[Exception] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                took.append(call(port))
            except Exception as error:
                failed.append(error)
                return
            over.wait(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()
    assert not failed
    assert took
    assert max(took) < BESIDE_SECONDS


def pour(connection: RawConnection, piece: bytes, size: int) -> int:
    """Send `size` bytes, or as many as the node accepts; return the number that was accepted."""
    sent = 0
    connection.socket.settimeout(20)
    try:
        while sent < size:
            sent += connection.socket.send(piece)
    except OSError:
        pass
    return sent


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize(
    ("path", "status"),
    [("/admin/login/", 413), ("/no/such/path", 404), ("/static/x", 404), ("/ext/docs/paths", 413),
     ("/ext/nothing", 404), (RPC, 413)],
)  # fmt: skip
def test_a_body_of_300_megabytes_is_not_taken(node, path: str, status: int, chunked) -> None:
    size = 300 * MIB
    kind = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
    piece = bytes(65_536)
    piece = b"10000\r\n" + piece + b"\r\n" if chunked else piece
    before = memory_peak(node)
    with asking_beside(node.port), RawConnection(node.port) as connection:
        connection.say(post(path, b"Content-Type: application/json", kind))
        taken = pour(connection, piece, size)
        assert spooled(node) == []
        received = connection.until_closed()
    assert taken < 30 * MIB
    assert memory_peak(node) - before < 60 * MIB
    if received:  # a client that keeps sending may lose the answer
        assert received.startswith(b"HTTP/1.1 %d " % status)
        assert b"connection: close" in received


@pytest.mark.parametrize("path", ["/no/such/path", "/static/x", "/ext/nothing"])
def test_response_does_not_wait_for_an_unread_body(node, path: str) -> None:
    with RawConnection(node.port) as connection:
        connection.say(post(path, b"Content-Length: 10"))
        status, head, _ = connection.response()
        assert (status, b"connection: close" in head) == (404, True)
        assert connection.until_closed() == b""


@pytest.fixture(scope="module")
def daphne(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node that runs on Daphne."""
    directory = tmp_path_factory.mktemp("daphne")
    with RunningNode(directory, env={"NODE_SERVER": "daphne"}) as running:
        yield running.start()


def test_slow_clients_are_closed_in_time_and_delay_no_other(
    node: RunningNode, daphne: RunningNode
) -> None:
    """Heads, line ends and bodies sent byte by byte to each endpoint, and to Daphne, which has the same timeouts."""
    openings = {
        "nothing but line ends": b"\r\n",
        "a head": b"POST /ext/bc/C/rpc HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        "a WebSocket's head": b"GET /ext/bc/C/ws HTTP/1.1\r\nUpgrade: websocket\r\nX-A: ",
        "a body": post(RPC, b"Content-Type: application/json", b"Content-Length: 5000"),
        "a login": post("/admin/login/", b"Content-Length: 5000"),
        "a chunked login": post("/admin/login/", b"Transfer-Encoding: chunked") + b"1000\r\n",
    }
    began = time.monotonic()
    ended: dict[str, float] = {}
    answers: dict[str, bytes] = {}

    def trickle(name: str, opening: bytes) -> None:
        with RawConnection(node.port) as connection:
            connection.say(opening)
            connection.socket.settimeout(0.5)
            received = b""
            while time.monotonic() - began < 90:
                try:
                    connection.say(b"\r\n" if "line" in name else b"a")
                    part = connection.socket.recv(65_536)
                except TimeoutError:
                    continue
                except OSError:
                    break
                if not part:
                    break
                received += part
        ended[name] = time.monotonic() - began
        answers[name] = received

    with ThreadPoolExecutor(1) as beside, asking_beside(node.port):
        given_up = beside.submit(assert_daphne_gives_up_what_is_slow, daphne)
        in_threads(*[partial(trickle, *entry) for entry in openings.items()])
    given_up.result()
    for name, seconds in ended.items():
        limit = 10 if "head" in name or "line" in name else 30
        assert limit * 0.9 < seconds < limit + 20, (name, seconds)
        assert not answers[name] or answers[name].startswith(b"HTTP/1.1 408 "), name


def assert_daphne_gives_up_what_is_slow(daphne: RunningNode) -> None:
    form = post("/admin/login/", b"Content-Length: 5000") + b"a"
    head = b"POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nX-A: "
    with RawConnection(daphne.port) as slow_form, RawConnection(daphne.port) as slow_head:
        slow_form.say(form)
        slow_head.say(head)
        assert slow_head.until_closed().startswith(b"HTTP/1.1 408 ")
        call(daphne.port)
        assert slow_form.until_closed().startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("path", ["/admin/login/", "/no/such/path", "/static/x", RPC])
def test_daphne_takes_no_body_of_300_megabytes(daphne, path: str, chunked) -> None:
    size = 300 * MIB
    kind = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
    piece = b"10000\r\n" + bytes(65_536) + b"\r\n" if chunked else bytes(65_536)
    before = memory_peak(daphne)
    with asking_beside(daphne.port), RawConnection(daphne.port) as connection:
        connection.say(post(path, b"Content-Type: application/json", kind))
        taken = pour(connection, piece, size)
        assert spooled(daphne) == []
    assert taken < 30 * MIB
    assert memory_peak(daphne) - before < 60 * MIB


BOMBS = {
    "numbers": b"[" + b"1," * 2_400_000 + b"1]",
    "objects": b"[" + b"{}," * 1_500_000 + b"{}]",
    "lists in one call": b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":['
    + b"[]," * 1_500_000
    + b"[]]}",
    "strings in one call": b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":['
    + b'"",' * 1_500_000
    + b'""]}',
}


@pytest.mark.parametrize("name", BOMBS)
def test_four_batches_at_once_of_millions_of_values_need_no_memory(node, name: str) -> None:
    body = BOMBS[name]
    before = memory_peak(node)
    answers: list[bytes] = []

    def ask() -> None:
        with RawConnection(node.port) as connection:
            head = post(RPC, b"Content-Type: application/json", b"Content-Length: %d" % len(body))
            connection.say(head + body)
            answers.append(connection.response()[2])

    began = time.monotonic()
    with asking_beside(node.port):
        in_threads(*[ask] * 4)
    assert len(answers) == 4
    words = (b"batch too large", b"more than 100000 values")
    assert all(any(word in answer for word in words) for answer in answers), answers
    assert all(len(answer) < 500 for answer in answers)
    assert memory_peak(node) - before < 120 * MIB
    assert time.monotonic() - began < 30


def test_four_websocket_messages_of_12_megabytes_need_no_memory(node: RunningNode) -> None:
    message = "[" + "1," * 6_000_000 + "1]"
    before = memory_peak(node)
    answers: list[str] = []

    def ask() -> None:
        with connect(node.ws_url, max_size=None, open_timeout=60, compression=None) as ws:
            try:
                ws.send(message)
                answers.append(str(ws.recv(timeout=60)))
            except ConnectionClosed as closed:
                answers.append(str(closed))

    with asking_beside(node.port):
        in_threads(*[ask] * 4)
    assert len(answers) == 4
    words = ("batch too large", "server is busy")
    assert all(any(word in answer for word in words) for answer in answers), answers
    assert sum("batch too large" in answer for answer in answers) >= 2
    assert memory_peak(node) - before < 200 * MIB


def test_partial_bodies_are_limited_in_total(node: RunningNode) -> None:
    """Sixty partial bodies of 4 MB use up one client's share; further bodies are rejected with 503."""
    before = memory_peak(node)
    head = post(RPC, b"Content-Type: application/json", b"Content-Length: 5000000")
    with ExitStack() as stay, asking_beside(node.port):
        lines = [stay.enter_context(RawConnection(node.port)) for _ in range(60)]
        for line in lines:
            line.socket.settimeout(20)
            try:
                line.say(head + b" " * 4_000_000)
            except OSError:
                continue
        refused = 0
        for line in lines:
            line.socket.settimeout(1)
            try:
                refused += line.socket.recv(4096).startswith(b"HTTP/1.1 503 ")
            except OSError:
                continue
    assert refused > 30
    assert memory_peak(node) - before < 200 * MIB


def test_a_megabyte_of_hex_and_a_long_list_are_read(node: RunningNode) -> None:
    addresses = [f"0x{number:040x}" for number in range(1000)]  # the most that a node accepts
    slots = {f"0x{number:064x}": f"0x{number:064x}" for number in range(10_000)}
    with node.client() as client:
        assert client.call("eth_getLogs", {"address": addresses}) == []
        override = {addresses[1]: {"stateDiff": slots}}
        assert client.call("eth_call", {"to": addresses[1]}, "latest", override) == "0x"
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction",
                "params": ["0x02" + "ab" * 500_000]}  # fmt: skip
        answer = json.loads(client.post(json.dumps(body).encode()).body)
    assert "values" not in answer["error"]["message"]
    assert answer["error"]["code"] != -32700


def test_a_head_of_150_megabytes_is_not_taken(node: RunningNode) -> None:
    for opening in (b"POST %b HTTP/1.1\r\nX-A: " % RPC.encode(), b"GET /", b"\r\n",
                    b"GET /ext/bc/C/ws HTTP/1.1\r\nUpgrade: websocket\r\nX-A: "):  # fmt: skip
        before = memory_peak(node)
        with asking_beside(node.port), RawConnection(node.port) as connection:
            connection.say(opening)
            piece = b"\r\n" * 32_768 if opening == b"\r\n" else b"a" * 65_536
            taken = pour(connection, piece, 150 * MIB)
            received = connection.until_closed()
        assert taken < 30 * MIB
        assert not received or received.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
        assert memory_peak(node) - before < 40 * MIB


def test_the_jdks_client_is_served_and_a_body_is_no_request(node: RunningNode) -> None:
    head = (
        b"POST /ext/bc/C/rpc HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b"Content-Length: 59\r\nHost: 127.0.0.1:9650\r\n"
        b"HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\nUpgrade: h2c\r\n"
        b"User-Agent: Java-http-client/17.0.15\r\nContent-Type: application/json\r\n\r\n"
    )
    smuggled = b"GET /ext/health/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n".ljust(59)
    with RawConnection(node.port) as connection:
        for pieces in ((head + CALL,), (head, CALL), (head + CALL[:9], CALL[9:])):
            for piece in pieces:
                connection.say(piece)
                time.sleep(0.05)  # so that each piece is sent in its own packet
            status, _, body = connection.response()
            assert (status, ANSWERED in body) == (200, True)
        connection.say(head)
        time.sleep(0.05)
        connection.say(smuggled)
        assert b"-32700" in connection.response()[2]


@pytest.mark.parametrize("host", [b"[::1].evil.example", b"127.0.0.1:9650@evil.example"])
def test_host_that_only_starts_like_an_address_is_refused(node: RunningNode, host) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" + (
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    )
    body = b"Content-Type: application/json\r\nContent-Length: 59\r\n"
    for line, headers, text in (
        (b"POST /ext/bc/C/rpc", body, CALL), (b"POST /ext/P", body, CALL),
        (b"GET /admin/login/", b"", b""), (b"GET /ext/health", b"", b""),
        (b"GET /ext/bc/C/ws", upgrade, b""),
    ):  # fmt: skip
        with RawConnection(node.port) as connection:
            connection.say(
                line + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + headers + b"\r\n" + text
            )
            assert connection.response()[0] == 403, line


def in_threads(*jobs: Callable[[], None]) -> None:
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def idle_socket(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 20)


def test_idle_sockets_of_one_address_block_no_other(tmp_path: Path) -> None:
    """1,100 connections at the usual limit of 1,024 file descriptors, which the node cannot raise here."""
    command = ("prlimit", "--nofile=1024:1024", sys.executable, "manage.py", "runnode")
    with ExitStack() as stay:
        node = stay.enter_context(RunningNode(tmp_path, command=command))
        node.start()
        before = len(node.log().splitlines())
        sockets = []
        with asking_beside(node.port) as took:
            for _ in range(1100):
                sockets.append(stay.enter_context(idle_socket(node.port)))
                if len(sockets) % 100 == 0:
                    call(node.port, "127.0.0.2")
                    call(node.port)
        assert len(took) > 3
        assert call(node.port, "127.0.0.2") < BESIDE_SECONDS
        connected = [name for name in open_files(node) if name.startswith("socket:")]
        assert 300 < len(connected) < 800
        lines = node.log().splitlines()[before:]
        assert 1 <= sum("127.0.0.1 has" in line for line in lines) <= 2
        assert len(lines) < 20


def test_descriptors_are_raised_to_the_hard_limit(tmp_path: Path) -> None:
    command = ("prlimit", "--nofile=256:4096", sys.executable, "manage.py", "runnode")
    with RunningNode(tmp_path, command=command) as node:
        node.start()
        limits = Path(f"/proc/{node.pid}/limits").read_text()
        assert re.search(r"Max open files\s+4096\s+4096", limits)

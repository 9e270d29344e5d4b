"""The load generator and its rate-limited senders, against a server that records requests in order."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from typing_extensions import override

from benchmarks.generator import GeneratorFailed, Pace, closed_loop, loaded, send_streams
from benchmarks.rpc import RpcFailed, WrongAnswer
from benchmarks.wire import Endpoint, Http
from benchmarks.workloads_busy import streaming

pytestmark = pytest.mark.sqlite_only

NAMES = ["a", "b", "refuse"]


class Server(ThreadingHTTPServer):
    """Echoes each request body; the bodies "refuse" and "close" cause those failures."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: dict[Any, list[str]] = {}
        self.busy = threading.Event()
        """Set when each of two connections has sent more than ten requests."""
        self.left = threading.Event()

    @property
    def http(self) -> Http:
        return Http(Endpoint("127.0.0.1", self.server_address[1], "/rpc", "/ws"))

    def orders(self) -> list[list[str]]:
        """Return the requests of each connection, sorted by the first."""
        return sorted(self.bodies.values())


class Handler(BaseHTTPRequestHandler):
    """The handler of one connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        named = json.loads(body)
        if isinstance(named, dict):
            named = named["params"][0]
        seen = self.server.bodies.setdefault(self.client_address, [])
        seen.append(named)
        if sum(len(order) > 10 for order in list(self.server.bodies.values())) == 2:
            self.server.busy.set()
        if named == "close":
            self.close_connection = True
            return
        answer = {"error": named} if named == "refuse" else {"result": named}
        told = json.dumps(answer).encode()
        self.send_response(503 if named == "away" else 200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    @override
    def finish(self) -> None:
        super().finish()
        self.server.left.set()

    @override
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def stream(*names: str) -> list[bytes]:
    return [json.dumps(name).encode() for name in names]


def test_streams_are_sent_in_order_on_separate_connections(server: Server) -> None:
    sent = send_streams(server.http, [stream("a", "b", "c"), stream(), stream("d", "e")], 60)

    assert server.orders() == [["a", "b", "c"], ["d", "e"]]
    assert sent.answered == [3, 0, 2]
    assert sent.failures == []
    assert sent.started < sent.ended


def test_refusals_are_counted(server: Server) -> None:
    sent = send_streams(server.http, [stream("a", "refuse", "b"), stream("away")], 60)

    assert sent.answered == [3, 1]
    assert sorted(sent.failures) == [b'{"error": "refuse"}', b'{"result": "away"}']


def test_streams_end_after_their_duration(server: Server) -> None:
    sent = send_streams(server.http, [stream("a", "b")], 0.0)

    assert sent.answered == [1]
    assert server.orders() == [["a"]]


def test_closed_connection_fails_the_load(server: Server) -> None:
    with pytest.raises(GeneratorFailed, match=r"^the server closed the connection$"):
        send_streams(server.http, [stream("a", "close", "b")], 60)


def test_a_loop_repeats_all_bodies_on_every_connection(server: Server) -> None:
    speed = closed_loop(server.http, stream(*NAMES), 3, Pace(0.0, 0.5, 2))

    assert speed.answers <= sum(map(len, server.bodies.values()))
    assert 0 < speed.failed < speed.answers
    orders = server.orders()
    assert {order[0] for order in orders} == set(NAMES)
    for order in orders:
        start = NAMES.index(order[0])
        assert order == [NAMES[(start + turn) % 3] for turn in range(len(order))]


def test_a_loop_may_have_several_requests_in_flight_on_a_connection(server: Server) -> None:
    speed = closed_loop(server.http, stream(*NAMES), 2, Pace(0.0, 0.3, 1), in_flight=4)

    assert 0 < speed.failed < speed.answers
    assert speed.p50 <= speed.p99 <= speed.worst
    for order in server.orders():
        start = NAMES.index(order[0])
        assert order == [NAMES[(start + turn) % 3] for turn in range(len(order))]


def test_background_load_ends_with_the_measured_load(server: Server) -> None:
    with loaded(server.http, stream("a"), 2):
        assert server.busy.wait(60)
    assert set(map(len, server.bodies.values())) != {0}
    assert len(server.bodies) == 2


def test_paced_senders_send_in_order_until_the_measured_load_ends(server: Server) -> None:
    raws = [[f"{sender}{number}" for number in range(1_000)] for sender in "ab"]
    with streaming(server.http, raws, 500.0) as sent:
        assert server.busy.wait(60)

    assert sent.rate > 0
    assert sum(sent.sent) > 10
    for order, own, count in zip(server.orders(), raws, sent.sent, strict=True):
        assert order == own[:count]


def test_sender_without_remaining_transactions_has_no_result(server: Server) -> None:
    with (
        pytest.raises(WrongAnswer, match="2 transactions of a sender were not enough"),
        streaming(server.http, [["a", "b"]], 1_000.0),
    ):
        assert server.left.wait(60)


def test_refused_transaction_fails_the_load(server: Server) -> None:
    with (
        pytest.raises(RpcFailed, match="eth_sendRawTransaction"),
        streaming(server.http, [["refuse"] * 20], 1_000.0),
    ):
        assert server.left.wait(60)

"""Calls that are as expensive as allowed, sent by abusive clients: other clients do not have to wait for them.

The asserted ceilings are generous, for busy machines. Before calls were limited by gas, each of these calls
blocked the whole node for its full duration, a batch of MODEXP for half a minute.
"""

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from statistics import median
from typing import Any, Final

import pytest
from websockets.sync.client import connect

from tests.builders.bytecode import assemble, words
from tests.servers.node import RunningNode

LIMIT: Final = 1.0
"""Time limit of a call on this node in seconds (NODE_RPC_CALL_TIMEOUT)."""
NOISE: Final = 4.0
"""Seconds that a busy machine may add to any duration."""
USUAL: Final = 1.0
"""Most seconds for the median of the answers from memory during an attack; on an idle machine they take 0.02."""
WORST: Final = 2.0
"""Most seconds for the slowest answer, multiplied by (1 + the neighbour's slowest answer in seconds). The neighbour
is queried alternately with the node, and its delays are caused by the machine alone."""
ENOUGH: Final = 20
"""Number of answers that are timed during each attack."""
PATIENCE: Final = 60.0
"""Seconds within which these answers must arrive."""
CONNECTIONS: Final = 8
CROWD: Final = 250
"""Number of connections that send small batches at the same time."""
MEGABYTE: Final = 1 << 20
GAS_CAP: Final = 2_000_000_000

HASHES: Final = b"\x5b" + assemble(f"{MEGABYTE} 0 KECCAK256 POP 0 JUMP")
LOGS: Final = b"\x5b" + assemble("16000 0 LOG0 0 JUMP")
CREATIONS: Final = b"\x5b" + assemble("49152 0 0 CREATE POP 0 JUMP")
STRAIGHT: Final = b"\x7f" + b"\xff" * 32 + b"\x80\x80\x0a\x50" * 10_000
MODEXP: Final = words(2048, 64, 2048) + b"\xff" * (2048 + 64 + 2048)
ONE_MODEXP: Final = assemble(
    2048, "0 MSTORE 64 32 MSTORE", 2048, "64 MSTORE",
    (1 << 256) - 1, "DUP1 DUP1 DUP1 96 MSTORE 2144 MSTORE 2176 MSTORE 2208 MSTORE 7 4224 MSTORE",
    "0 0 4256 0 5 GAS STATICCALL",
)  # fmt: skip
"""Init code that runs MODEXP on 2,048-byte operands, which it writes to memory itself."""


def precompile(number: int) -> str:
    return "0x" + number.to_bytes(20, "big").hex()


def call(data: bytes, to: int | None = None, method: str = "eth_call", gas: int = 0) -> Any:
    given = {"data": "0x" + data.hex(), "gas": hex(gas or 50_000_000)}
    if to is not None:
        given["to"] = precompile(to)
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": [given, "latest"]}


METHODS: Final = ("eth_call", "eth_estimateGas", "eth_createAccessList")
ATTACKS: Final[dict[str, Any]] = {
    "a batch of MODEXP": [call(ONE_MODEXP)] * 128,
    "MODEXP": call(MODEXP, 5),
    "pairings": call(bytes(192 * 300), 8),
    "pairings on BLS12-381": call(bytes(384 * 300), 15),
    "Blake2f": call((20_000_000).to_bytes(4, "big") + bytes(208) + b"\x01", 9),
    "code without jumps": call(STRAIGHT),
    "logs": call(LOGS),
    "creations": call(CREATIONS),
    **{f"hashes of a megabyte by {method}": call(HASHES, method=method) for method in METHODS},
}
CROWDED: Final[dict[str, Any]] = {
    "configurations": [{"jsonrpc": "2.0", "id": 1, "method": "eth_config"}] * 128,
    "what is no call": [{"method": 1}] * 4000,
}


NEIGHBOUR: Final = """
import http.server

class Nothing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass

with http.server.HTTPServer(("127.0.0.1", 0), Nothing) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
"""
"""A server that does no work."""


@pytest.fixture(scope="module")
def neighbour() -> Iterator[int]:
    """The port of an idle server in a separate process."""
    command = [sys.executable, "-c", NEIGHBOUR]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.kill()


@contextmanager
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    env = {
        "NODE_NETWORK": "false",
        "NODE_RPC_CALL_TIMEOUT": str(LIMIT),
        "NODE_RPC_GAS_CAP": str(GAS_CAP),
    }
    running = RunningNode(tmp_path_factory.mktemp("calls"), env=env)
    running.start()
    yield running
    running.kill()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node for these tests alone, because it is still working on requests when a test ends."""
    with started(tmp_path_factory) as running:
        yield running


@pytest.fixture
def unasked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node whose threads have no work left from abusive clients of other tests."""
    with started(tmp_path_factory) as running:
        yield running


@contextmanager
def asked_beside(node: RunningNode, neighbour: int) -> Iterator[dict[str, list[float]]]:
    """Query node and neighbour alternately while the body runs; yield the duration of each answer in seconds."""
    taken: dict[str, list[float]] = {"eth_blockNumber": [], "liveness": [], "neighbour": []}
    done = threading.Event()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []})
    json_type = {"content-type": "application/json"}

    def ask() -> None:
        with ExitStack() as end:
            asking, beside = (
                end.enter_context(
                    closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60))
                )
                for port in (node.port, neighbour)
            )
            while not done.is_set():
                timed("eth_blockNumber", asking, "POST", "/ext/bc/C/rpc", body, json_type)
                timed("neighbour", beside, "GET", "/")
                timed("liveness", asking, "GET", "/ext/health/liveness")
                timed("neighbour", beside, "GET", "/")
                time.sleep(0.01)

    def timed(name: str, connection: http.client.HTTPConnection, *request: Any) -> None:
        began = time.monotonic()
        connection.request(*request)
        answer = connection.getresponse()
        assert answer.status == 200
        answer.read()
        taken[name].append(time.monotonic() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield taken
    finally:
        done.set()
        thread.join()


def wait_for_answers(taken: dict[str, list[float]]) -> None:
    """Continue an attack until enough other requests have been answered."""
    until = time.monotonic() + PATIENCE
    while min(map(len, taken.values())) < ENOUGH and time.monotonic() < until:
        time.sleep(0.05)


def verify_answers(taken: dict[str, list[float]]) -> None:
    """Check that other requests were answered during the attack."""
    waited = max(taken.pop("neighbour"), default=0.0)
    for name, answers in taken.items():
        assert len(answers) >= ENOUGH, name
        assert median(answers) < USUAL + waited, name
        assert max(answers) < WORST * (1 + waited), (name, waited)


def post(node: RunningNode, asked: Any) -> tuple[dict[str, Any], float]:
    """Return an answer, and how long it took in seconds."""
    headers = {"content-type": "application/json"}
    began = time.monotonic()
    with closing(http.client.HTTPConnection("127.0.0.1", node.port, timeout=90)) as posting:
        posting.request("POST", "/ext/bc/C/rpc", json.dumps(asked), headers)
        answer = json.loads(posting.getresponse().read())
    return answer, time.monotonic() - began


@contextmanager
def posted_again_and_again(
    node: RunningNode, asked: Any, count: int = CONNECTIONS
) -> Iterator[None]:
    """Post one body on many connections, again after each answer; disconnect when the body of the `with` ends."""
    body = json.dumps(asked).encode()
    head = b"POST /ext/bc/C/rpc HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    request = head + b"content-length: %d\r\n\r\n" % len(body) + body
    done = threading.Event()

    def attack(connection: socket.socket) -> None:
        with suppress(OSError):
            while not done.is_set():
                connection.sendall(request)
                connection.recv(1 << 20)

    with ExitStack() as end:
        connections = [
            end.enter_context(socket.create_connection(("127.0.0.1", node.port)))
            for _ in range(count)
        ]
        threads = [threading.Thread(target=attack, args=(item,)) for item in connections]
        for thread in threads:
            thread.start()
        yield
        done.set()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def test_overlong_call_ends_at_the_time_limit(unasked: RunningNode) -> None:
    for method in METHODS:
        answer, seconds = post(unasked, call(HASHES, method=method, gas=GAS_CAP))
        words_of_geth = f"execution aborted (timeout = {LIMIT:g}s)"
        assert answer["error"] == {"code": -32000, "message": words_of_geth}
        assert seconds < LIMIT * 1.1 + NOISE


@pytest.mark.parametrize("asked", ATTACKS.values(), ids=ATTACKS)
def test_heavy_calls_do_not_delay_others(node: RunningNode, neighbour: int, asked: Any) -> None:
    with asked_beside(node, neighbour) as taken, posted_again_and_again(node, asked):
        wait_for_answers(taken)
    verify_answers(taken)


@pytest.mark.parametrize("asked", CROWDED.values(), ids=CROWDED)
def test_many_batches_do_not_delay_others(node: RunningNode, neighbour: int, asked: Any) -> None:
    with asked_beside(node, neighbour) as taken, posted_again_and_again(node, asked, CROWD):
        wait_for_answers(taken)
    verify_answers(taken)


def test_heavy_calls_over_websocket_do_not_delay_others(node: RunningNode, neighbour: int) -> None:
    with asked_beside(node, neighbour) as taken, ExitStack() as end:
        sockets = [end.enter_context(connect(node.ws_url)) for _ in range(CONNECTIONS)]
        for item in sockets:
            item.send(json.dumps(ATTACKS["a batch of MODEXP"]))
            item.send(json.dumps(call(HASHES)))
        wait_for_answers(taken)
    verify_answers(taken)

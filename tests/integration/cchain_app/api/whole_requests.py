"""The direct endpoint with and without whole-request handling, and requests to both."""

import asyncio
import json
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from cchain_app.api.shortcut import whole_requests
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.http.fast_path import DirectProtocol
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.pooled import PooledRequests
from jsonrpc.http.replies import Endpoint, by_path
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.api.hot_requests import SENDER_TEXT, one

REVERTER = bytecode.assemble("7 0 MSTORE 32 0 REVERT")
CONTRACTS = (bytecode.COUNTER, REVERTER, bytecode.TELLER)
COUNTER_TEXT, REVERTER_TEXT, TELLER_TEXT = (
    encode_data(bytecode.created(SENDER, nonce)) for nonce in range(len(CONTRACTS))
)

PLAIN = (b"Host: localhost", b"Content-Type: application/json")
HEADS = [
    PLAIN,
    (*PLAIN, b"Accept-Encoding: gzip"),
    (*PLAIN, b"Origin: http://page.example"),
    (*PLAIN, b"Connection: keep-alive", b"X-Unknown: a b"),
]
OTHER_HEADS = [
    (b"Host: evil.example", b"Content-Type: application/json"),
    (b"Host: localhost", b"Content-Type: text/plain"),
    (*PLAIN, b"Connection: close"),
]


class Transport:
    """A transport that keeps the bytes written to a client."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self._has_come = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._has_come.set()

    async def until(self, count: int) -> None:
        """Wait until `count` responses were written."""
        while len(self.written) < count:
            self._has_come.clear()
            await self._has_come.wait()

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name in {"peername", "sockname"} else None

    def is_closing(self) -> bool:
        return False

    def nothing(self, *_: Any) -> None:
        """Ignore calls that the tests do not check."""

    close = abort = pause_reading = resume_reading = set_write_buffer_limits = nothing

    def get_write_buffer_size(self) -> int:
        return 0


class Served:
    """A direct endpoint with or without whole-request handling, and its counted calls."""

    def __init__(self, *, whole: bool) -> None:
        self.counted: list[tuple[str, int]] = []
        self.by_whole = 0
        self.written: list[list[bytes]] = []
        """The bytes written to each connection, set at the end."""
        limits = DispatchLimits(batch=200)
        dispatcher = hot_dispatcher(
            limits=limits, observer=self._observe, shortcut=this_node().evm_rpc.shortcut
        )

        def told(names: str | dict[str, int], seconds: float) -> None:
            self.by_whole += 1
            dispatcher.record_calls(names, seconds)
            endpoint.replies.answered()

        node = this_node()
        made = (
            whole_requests(node.evm_chain, node.transaction_logs["C"], told, limits)
            if whole
            else None
        )
        self.endpoint = endpoint = Endpoint(["/rpc"], dispatcher, requests=made)
        self.pooled = None if made is None else PooledRequests(made)
        self.state = ServerState()
        self.tick()

    def _observe(self, method: str, seconds: float, code: int = 0, count: int = 1) -> None:
        assert seconds >= 0
        self.counted += [(method, code)] * count

    def tick(self) -> None:
        """Change the server's default headers, as uvicorn does each second."""
        date = b"Thu, 26 Nov 2026 20:00:%02d GMT" % (len(self.counted) % 60)
        self.state.default_headers = [(b"date", date), (b"server", b"uvicorn")]

    def connect(self) -> tuple[DirectProtocol, Transport]:
        """Return a connection; requests that the direct endpoint passes on are answered `past`."""

        class Protocol(DirectProtocol):
            heads = RequestHeads(by_path([self.endpoint]))
            whole = self.endpoint.whole
            pooled = self.pooled

            def _read(self, rest: memoryview) -> None:
                self.transport.write(b"past")

        config = Config(app=lambda _scope: None, log_config=None)  # type: ignore[arg-type, return-value]
        config.load()
        protocol = Protocol(config=config, server_state=self.state, app_state={})
        transport = Transport()
        protocol.connection_made(transport)  # type: ignore[arg-type]
        return protocol, transport


def served_on(chain: Any) -> tuple[Served, Served]:
    """Deploy the contracts; return the endpoint without and with whole-request handling."""
    for code in CONTRACTS:
        chain.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    made = Served(whole=False), Served(whole=True)
    for served in made:
        for body in bodies():
            served.endpoint.dispatcher.answer(body)  # fills the cache
        served.counted.clear()
    return made


async def receive(protocol: DirectProtocol, data: bytes) -> None:
    """Deliver a request in its own turn of the event loop, with a full time budget."""
    protocol.data_received(data)
    await asyncio.sleep(0)


def request(head: tuple[bytes, ...], body: bytes, line: bytes = b"POST /rpc HTTP/1.1") -> bytes:
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join((line, *head, length, b"", body))


def calls() -> list[bytes]:
    """Return bodies of calls that are answered from memory."""
    call = one("eth_call", {"to": COUNTER_TEXT}, "latest")
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    estimate = one("eth_estimateGas", {"to": COUNTER_TEXT, "from": SENDER_TEXT})
    asked = (call, {**call, "id": "a"}, [call, balance, {**call, "id": 2}], estimate)
    return [json.dumps(each).encode() for each in asked]


def other_calls() -> list[bytes]:
    """Return bodies of calls that need the dispatcher."""
    to = ({"to": REVERTER_TEXT}, {"to": TELLER_TEXT, "data": "0x12"}, {"to": COUNTER_TEXT, "x": 1})
    methods = ("eth_call", "eth_estimateGas")
    return [json.dumps(one(method, each, "latest")).encode() for method in methods for each in to]


def bodies() -> list[bytes]:
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    return [
        *calls(),
        *other_calls(),
        *(json.dumps(one(name)).encode() for name in ("eth_blockNumber", "eth_chainId", "eth_x")),
        json.dumps(balance).encode(),
        json.dumps([{**balance, "id": n} for n in range(100)]).encode(),
        json.dumps([balance] * 201).encode(),
        b"{",
        b"",
    ]


def responses(served: Served, asked: list[bytes], head: tuple[bytes, ...] = PLAIN) -> list[bytes]:
    """Return the responses of one connection to the bodies, each sent again with a known request head."""

    async def ask() -> list[bytes]:
        protocol, transport = served.connect()
        for body in asked:
            for _ in range(2):
                await receive(protocol, request(head, body))
        protocol.connection_lost(None)
        return transport.written

    return asyncio.run(ask())

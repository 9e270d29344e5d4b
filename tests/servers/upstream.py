"""The remote node of a fork on loopback, with a chain defined by the test; it counts its calls."""

import contextlib
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from primitives.hashing import keccak256

GWEI = 10**9
Failure = Callable[[str], tuple[int, dict[str, str], Any] | None]
"""Returns the status, headers and body with which a method fails, or None if it succeeds."""


def hash_of(number: int) -> str:
    """Return the hash of the block at a height."""
    return "0x" + keccak256(number.to_bytes(8, "big")).hex()


def transaction_hash(number: int) -> str:
    """Return the hash of the only transaction of the block at a height."""
    return "0x" + keccak256(b"tx" + number.to_bytes(8, "big")).hex()


class RemoteChain:
    """The chain of the remote node: the same state at each height, unless `past` has another."""

    def __init__(self, head: int = 20) -> None:
        self.head = head
        self.chain_id = 777
        self.base_fee = 8 * GWEI
        self.time = 1_700_000_000
        self.accounts: dict[str, tuple[int, int, str]] = {}
        """Balance, nonce and code by address, in lower case."""
        self.slots: dict[tuple[str, int], int] = {}
        self.has_account_info = False
        self.changed: dict[int, dict[str, Any]] = {}
        """Replaced fields of blocks by height."""
        self.transactions: dict[int | None, list[dict[str, Any]]] = {}
        """Transactions by height; other blocks have one with only a hash. None: the pending ones."""

    def block(self, number: int, *, full: bool = False) -> dict[str, Any] | None:
        """Return a block with transaction hashes or, if its transactions are known, with those."""
        if not 0 <= number <= self.head:
            return None
        zero = "0x" + "00" * 32
        known = self.transactions.get(number)
        hashes = [transaction_hash(number)] if known is None else [item["hash"] for item in known]
        return {
            "number": hex(number), "hash": hash_of(number), "parentHash": hash_of(number - 1 if number else 0),
            "timestamp": hex(self.time + number), "gasLimit": hex(30_000_000), "gasUsed": hex(15_000_000),
            "baseFeePerGas": hex(self.base_fee), "miner": "0x" + "22" * 20, "stateRoot": zero,
            "transactionsRoot": zero, "receiptsRoot": zero, "logsBloom": "0x" + "00" * 256,
            "difficulty": "0x0", "extraData": "0x", "mixHash": zero, "nonce": "0x" + "00" * 8,
            "sha3Uncles": zero, "size": "0x220", "uncles": [],
            "transactions": known if full and known is not None else hashes,
            "somethingElse": {"of": "another client"},
            **self.changed.get(number, {}),
        }  # fmt: skip

    def answer(self, method: str, params: list[Any]) -> Any:
        """Return a method's result. Raises LookupError for an unknown method."""
        return self._answers[method](*params)

    @property
    def _answers(self) -> dict[str, Callable[..., Any]]:
        info = {"eth_getAccountInfo": lambda address, _: self._account(address)}
        return (info if self.has_account_info else {}) | {
            "eth_chainId": lambda: hex(self.chain_id),
            "eth_blockNumber": lambda: hex(self.head),
            "eth_getBlockByNumber": lambda number, full: self.block(int(number, 16), full=full),
            "eth_getBlockByHash": lambda wanted, _: self.block(self._height(hash_of, wanted)),
            "eth_getTransactionByHash": self._transaction,
            "eth_getTransactionReceipt": self._transaction,
            "eth_getLogs": lambda wanted: [
                {"address": "0x" + "33" * 20, "blockNumber": wanted["toBlock"], "data": "0x"}
            ],
            "eth_getStorageAt": lambda address, slot, _: (
                f"0x{self.slots.get((address.lower(), int(slot, 16)), 0):064x}"
            ),
            "eth_getBalance": lambda address, _: self._account(address)["balance"],
            "eth_getTransactionCount": lambda address, _: self._account(address)["nonce"],
            "eth_getCode": lambda address, _: self._account(address)["code"],
        }

    def _height(self, name: Callable[[int], str], wanted: str) -> int:
        return next((index for index in range(self.head + 1) if name(index) == wanted), -1)

    def _transaction(self, wanted: str) -> Any:
        for number, listed in self.transactions.items():
            for item in listed:
                if item["hash"] == wanted:
                    return {**item, "blockNumber": None if number is None else hex(number)}
        height = self._height(transaction_hash, wanted)
        return None if height < 0 else {"hash": wanted, "blockNumber": hex(height)}

    def _account(self, address: str) -> dict[str, str]:
        balance, nonce, code = self.accounts.get(address.lower(), (0, 0, "0x"))
        return {"balance": hex(balance), "nonce": hex(nonce), "code": code}


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """Connections that wait to be accepted: a fork sends several requests at the same time."""


class UpstreamServer:
    """A server of a remote chain over HTTP, in a thread.

    Args:
        chain: The chain that it serves.
    """

    def __init__(self, chain: RemoteChain) -> None:
        self.chain = chain
        self.asked: list[tuple[str, list[Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.fails: Failure = lambda _: None
        self._connections: set[socket.socket] = set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                server._connections.add(self.connection)

            def handle(self) -> None:
                # A client may close before it has read everything.
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.headers.append(dict(self.headers))
                status, headers, answer = server._answer(body)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the server, with a secret after the host."""
        return f"http://127.0.0.1:{self._server.server_port}/v2/s3cr3tk3y"

    @property
    def counts(self) -> Counter[str]:
        """The number of calls of each method."""
        return Counter(method for method, _ in self.asked)

    def stop(self) -> None:
        """Stop responding."""
        self._server.shutdown()
        for connection in self._connections:
            with contextlib.suppress(OSError):  # it has already ended
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join()

    def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        method = body["method"]
        self.asked.append((method, body["params"]))
        failure = self.fails(method)
        if failure is not None:
            return failure
        try:
            result = self.chain.answer(method, body["params"])
        except LookupError:
            return 200, {}, error(-32601, f"no {method} here")
        return 200, {}, {"jsonrpc": "2.0", "id": body["id"], "result": result}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self.stop()


def error(code: int, message: str, data: Any = None) -> dict[str, Any]:
    """Return a response body with a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message, "data": data}}

"""A fake chain, a single number behind JSON-RPC, that offers fixtures a node and records requests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeChain:
    """A chain whose state is one number; its snapshots behave like those of a development node."""

    def __init__(self) -> None:
        self.number = 0
        self.calls: list[str] = []
        self._snapshots: dict[int, int] = {}
        self._last = 0
        self._methods: dict[str, Callable[..., Any]] = {
            "eth_chainId": lambda: "0x1",
            "evm_snapshot": self._snapshot,
            "evm_revert": self._revert,
            "test_add": self._add,
            "test_number": lambda: self.number,
        }

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the response to one request."""
        method = asked["method"]
        self.calls.append(method)
        if method not in self._methods:
            error = {"code": -32601, "message": f"the method {method} does not exist"}
            return {"jsonrpc": "2.0", "id": asked["id"], "error": error}
        return {
            "jsonrpc": "2.0",
            "id": asked["id"],
            "result": self._methods[method](*asked["params"]),
        }

    def _add(self, number: int) -> None:
        self.number += number

    def _snapshot(self) -> str:
        self._last += 1
        self._snapshots[self._last] = self.number
        return hex(self._last)

    def _revert(self, snapshot: str) -> bool:
        wanted = int(snapshot, 16)
        if wanted not in self._snapshots:
            return False
        self.number = self._snapshots[wanted]
        self._snapshots = {one: was for one, was in self._snapshots.items() if one < wanted}
        return True


@contextmanager
def serving(answer: Callable[[dict[str, Any]], tuple[int, bytes]]) -> Iterator[str]:
    """Serve each request with the HTTP status and body that `answer` returns; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            status, body = answer(json.loads(self.rfile.read(length)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # the name in the base class
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()

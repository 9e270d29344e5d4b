"""A JSON-RPC client of the barest kind: what goes over the wire, one connection, no retries.

Every result is held against the published schema of its method.
"""

import http.client
import itertools
import json
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tests.conformance.openrpc import assert_conforms

PATH = "/ext/bc/C/rpc"


class RpcUnreachable(Exception):
    """The node did not answer: it is away, or went away meanwhile."""


class RpcFault(Exception):
    """The node answered with an error object."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")


class Reply(NamedTuple):
    """An answer as it came: status, headers (lower case) and body."""

    status: int
    headers: dict[str, str]
    body: bytes


class RpcClient(AbstractContextManager["RpcClient"]):
    """One connection to a node; not for several threads."""

    def __init__(self, port: int, *, timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._ids = itertools.count(1)

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def socket(self) -> socket.socket:
        """The connection's, for bytes that are no request of a client; once it was used."""
        return self._connection.sock

    @property
    def local_port(self) -> int:
        """The port of this end, likewise."""
        port: int = self._connection.sock.getsockname()[1]
        return port

    def post(self, body: bytes) -> Reply:
        """Send a body and return whatever comes back.

        Raises:
            RpcUnreachable: Nothing came back.
        """
        try:
            self._connection.request("POST", PATH, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, headers, response.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise RpcUnreachable(repr(error)) from error

    def call(self, method: str, *params: Any) -> Any:
        """Call a method and return its result.

        Raises:
            RpcFault: The answer is an error.
            RpcUnreachable: There was no answer.
        """
        reply = json.loads(self.post(self._request(method, params)).body)
        if "error" in reply:
            raise RpcFault(reply["error"])
        assert_conforms(method, reply["result"])
        return reply["result"]

    def batch(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call (method, params…) all in one body; return results, an `RpcFault` where one failed."""
        requests = [self._request(method, params) for method, *params in calls]
        replies = json.loads(self.post(b"[" + b",".join(requests) + b"]").body)
        by_id = {reply["id"]: reply for reply in replies}
        ordered = [by_id[json.loads(request)["id"]] for request in requests]
        for (method, *_), reply in zip(calls, ordered, strict=True):
            if "result" in reply:
                assert_conforms(method, reply["result"])
        return [RpcFault(one["error"]) if "error" in one else one["result"] for one in ordered]

    def _request(self, method: str, params: Sequence[Any]) -> bytes:
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}
        return json.dumps(call).encode()

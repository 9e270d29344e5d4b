"""A minimal JSON-RPC client: plain bytes, one connection, no retries.

Every result is checked against the published schema of its method.
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
    """The node did not respond: it was unreachable, or stopped meanwhile."""


class RpcFault(Exception):
    """The node returned an error object."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")


class Reply(NamedTuple):
    """An HTTP response: status, headers (lower case) and body."""

    status: int
    headers: dict[str, str]
    body: bytes


class RpcClient(AbstractContextManager["RpcClient"]):
    """A connection to a node; not safe for use by several threads."""

    def __init__(self, port: int, *, host: str = "127.0.0.1", timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=timeout)
        self._ids = itertools.count(1)

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def socket(self) -> socket.socket:
        """The socket of the connection, to send invalid bytes; exists after the first request."""
        return self._connection.sock

    def post(self, body: bytes) -> Reply:
        """Send a body and return the response, whatever it is.

        Raises:
            RpcUnreachable: There was no response.
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
            RpcFault: The response is an error.
            RpcUnreachable: There was no response.
        """
        reply = json.loads(self.post(self._request(method, params)).body)
        if "error" in reply:
            raise RpcFault(reply["error"])
        assert_conforms(method, reply["result"])
        return reply["result"]

    def batch(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send calls (method, params…) as a batch; return results, an `RpcFault` for each failed call."""
        requests = [self._request(method, params) for method, *params in calls]
        replies = json.loads(self.post(b"[" + b",".join(requests) + b"]").body)
        by_id = {reply["id"]: reply for reply in replies}
        ordered = [by_id[json.loads(request)["id"]] for request in requests]
        for (method, *_), reply in zip(calls, ordered, strict=True):
            if "result" in reply:
                assert_conforms(method, reply["result"])
        return [RpcFault(item["error"]) if "error" in item else item["result"] for item in ordered]

    def _request(self, method: str, params: Sequence[Any]) -> bytes:
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}
        return json.dumps(call).encode()

"""A minimal JSON-RPC client for APIs with named params: /ext/bc/P and others."""

import http.client
import itertools
import json
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from platform_app.txs.codec import parse
from primitives import checksummed
from tests.builders.platform_random import burned
from tests.servers.client import RpcFault, RpcUnreachable

PLATFORM = "/ext/bc/P"
_PATHS = {
    "avax": "/ext/bc/C/avax",
    "avm": "/ext/bc/X",
    "platform": PLATFORM,
    "keystore": "/ext/keystore",
    "info": "/ext/info",
    "health": "/ext/health",
}
"""Paths by the part of the method's name before the dot."""

UNDECIDED = {"Processing", "Unknown"}


class PlatformClient(AbstractContextManager["PlatformClient"]):
    """A connection to a node; not thread-safe."""

    def __init__(self, port: int, *, timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._ids = itertools.count(1)

    def __exit__(self, *_exception: object) -> None:
        self._connection.close()

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the API that its prefix names, and return its result.

        Raises:
            RpcFault: The node answered with an error.
            RpcUnreachable: The node did not answer.
        """
        path = _PATHS[method.partition(".")[0]]
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        _, answer = self._post(path, json.dumps(body).encode())
        reply = json.loads(answer)
        if "error" in reply:
            raise RpcFault(reply["error"])
        return reply["result"]

    def issue(self, raw: str) -> str:
        """Issue a signed transaction, given as 0x text with its checksum, and return its ID.

        Raises the same errors as `call`.
        """
        issued: str = self.call("platform.issueTx", tx=raw)["txID"]
        return issued

    def status(self, tx_id: str) -> str:
        """Return the status of a transaction."""
        found: str = self.call("platform.getTxStatus", txID=tx_id)["status"]
        return found

    def wait(self, tx_ids: Iterable[str], seconds: float = 120.0) -> list[str]:
        """Wait until all these transactions are decided; return their final statuses."""
        waiting = list(tx_ids)
        deadline = time.monotonic() + seconds
        found = [self.status(pending) for pending in waiting]
        while any(status in UNDECIDED for status in found):
            assert time.monotonic() < deadline, f"{dict(zip(waiting, found, strict=True))}"
            time.sleep(0.02)
            found = [self.status(item) for item in waiting]
        return found

    def commit(self, raw: str) -> str:
        """Issue a transaction, wait until it is committed, and return its ID."""
        tx_id = self.issue(raw)
        assert self.wait([tx_id]) == ["Committed"]
        return tx_id

    def balance(self, address: str) -> int:
        """Return the total balance of an address, in the smallest unit."""
        return int(self.call("platform.getBalance", address=address)["balance"])

    def burned(self, *tx_ids: str) -> int:
        """Return what transactions burn, from their bytes: what was paid depends on the load at that moment."""
        found = (self.call("platform.getTx", txID=tx_id, encoding="hex")["tx"] for tx_id in tx_ids)
        return sum(burned(parse(checksummed.decode(raw))) for raw in found)

    def node_id(self) -> str:
        """Return the ID of the node, which is in the headers of all its answers."""
        node_id, _ = self._post(PLATFORM, b"{}")
        return node_id

    def _post(self, path: str, body: bytes) -> tuple[str, bytes]:
        """POST a body; return the node's ID and the body of the answer."""
        try:
            self._connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            return response.headers["node-id"], response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise RpcUnreachable(repr(error)) from error

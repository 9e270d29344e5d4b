"""go-ethereum in development mode, built by `make geth`: the remote node of a fork."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import urllib3

from tests.servers.ports import free_port
from tests.servers.process import ServerProcess

BINARY = Path(__file__).resolve().parents[2] / "build/bin/geth"
KEY = "0xb71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291"
"""Publicly known key of the account that holds all coins of a development chain."""

_INDEXING = "transaction indexing is in progress"


class Geth(AbstractContextManager["Geth"]):
    """A geth on its own port, started by the constructor; it builds a block when transactions are pending.

    Args:
        directory: Directory for its output.
    """

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._pool = urllib3.PoolManager()
        command = [
            str(BINARY), "--dev", "--http", "--http.port", str(self.port), "--http.api", "eth,net,web3,debug",
            "--ipcdisable", "--port", "0", "--nodiscover",
        ]  # fmt: skip
        self._process = ServerProcess(command, directory / "geth.log", cwd=directory)
        self._process.wait_until(self._answers, 60.0)

    def rpc(self, method: str, *params: Any) -> Any:
        """Call a method and return its result; None for receipts while the first index is built."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {"Content-Type": "application/json"}
        sent = self._pool.request("POST", self.url, body=body, headers=headers, retries=False)
        answer = json.loads(sent.data)
        if answer.get("error", {}).get("message") == _INDEXING:
            return None
        return answer["result"]

    def stop(self) -> None:
        """Stop the process."""
        self._process.kill()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        try:
            return bool(self.rpc("eth_chainId"))
        except urllib3.exceptions.HTTPError:
            return False

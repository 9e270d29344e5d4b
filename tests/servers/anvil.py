"""Anvil from its npm package: a node to compare with, or the remote node of a fork."""

import json
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import urllib3

from tests.servers.ports import free_port
from tests.servers.process import ServerError, ServerProcess

ROOT = Path(__file__).resolve().parents[2]
WHERE = ("tests/clients/node_modules", "benchmarks/node_modules")


def binary() -> str:
    """Return the path of Anvil's program.

    Raises:
        ServerError: It is not installed.
    """
    for place in WHERE:
        for found in (ROOT / place).glob("@foundry-rs/anvil-*/bin/anvil"):
            return str(found)
    found_elsewhere = shutil.which("anvil")
    if found_elsewhere is None:
        raise ServerError(f"Anvil is not installed: npm install @foundry-rs/anvil, in {WHERE}")
    return found_elsewhere


class Anvil(AbstractContextManager["Anvil"]):
    """An Anvil on its own port, started by the constructor.

    Args:
        directory: Directory for its output and for states of old blocks.
        options: Its flags.
    """

    def __init__(self, directory: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._pool = urllib3.PoolManager()
        # By default it would write states of old blocks to the home directory.
        states = ("--cache-path", str(directory / "states"))
        command = [binary(), "--silent", "--port", str(self.port), *states, *options]
        self._process = ServerProcess(command, directory / "anvil.log", cwd=directory)
        self._process.wait_until(self._answers, 60.0)

    def rpc(self, method: str, *params: Any) -> Any:
        """Call a method and return its result."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {"Content-Type": "application/json"}
        answer = self._pool.request("POST", self.url, body=body, headers=headers, retries=False)
        return json.loads(answer.data)["result"]

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

"""Web servers of a node on other machines: each has its own data directory with copies of the node's identity."""

import os
import shutil
import sys
from pathlib import Path

from tests.servers.client import RpcClient, RpcUnreachable
from tests.servers.machines import Machine
from tests.servers.node import ROOT, START_SECONDS, RunningNode
from tests.servers.ports import free_port
from tests.servers.process import ServerProcess

IDENTITY = ("staking", "secret_key", "cchain_genesis.json")
"""Files and directories that an operator copies to another machine (docs/production.md)."""
_LOOPBACK = "@127.0.0.1:"


class WebMachine:
    """The web server of a node of the production profile on another machine."""

    def __init__(self, node: RunningNode, machine: Machine, directory: Path, **env: str) -> None:
        """Prepare the machine.

        Args:
            node: The node, which has been initialised. Its servers listen at the machine's gateway.
            machine: Where the web server runs.
            directory: For its data and log.
            env: Settings (`NODE_…`) in addition to the node's.
        """
        self.machine = machine
        self.port = free_port()
        self.data = directory / "data"
        self._log = directory / "web.log"
        directory.mkdir(parents=True)
        gateway = f"@{machine.gateway}:"
        redis = f"redis://{machine.gateway}:{node.redis.port}/0"
        self._settings = {
            **node.settings,
            "NODE_DATABASE_URL": node.database_url.replace(_LOOPBACK, gateway),
            "NODE_REDIS_URL": redis,
            "NODE_DATA_DIR": str(self.data),
            "NODE_HTTP_HOST": machine.address,
            "NODE_HTTP_PORT": str(self.port),
            **env,
        }
        self._copy_identity(Path(node.settings["NODE_DATA_DIR"]))
        self.process: ServerProcess | None = None

    def _copy_identity(self, original: Path) -> None:
        self.data.mkdir(mode=0o700)
        for name in IDENTITY:
            if (original / name).is_dir():
                shutil.copytree(original / name, self.data / name)
            else:
                shutil.copy2(original / name, self.data / name)

    def start(self, *, wait: bool = True) -> None:
        """Start the web server; return when it responds, or immediately if `wait` is false."""
        inherited = {name: value for name, value in os.environ.items() if name[:5] != "NODE_"}
        inherited.pop("DJANGO_SETTINGS_MODULE", None)
        self.process = ServerProcess(
            [*self.machine.prefix, sys.executable, "manage.py", "runnode"],
            self._log,
            env={**inherited, **self._settings, "PYTHONUNBUFFERED": "1"},
            cwd=ROOT,
        )
        if wait:
            self.wait_until_answering()

    def wait_until_answering(self) -> None:
        """Return when the web server responds."""
        assert self.process is not None, "it was not started"
        self.process.wait_until(self._answers, START_SECONDS)

    def kill(self) -> None:
        """Kill the web server (SIGKILL)."""
        if self.process is not None:
            self.process.kill()

    def client(self) -> RpcClient:
        """Return a client with its own connection; close it, or use it in a `with`."""
        return RpcClient(self.port, host=self.machine.address)

    @property
    def address(self) -> str:
        """Address and port."""
        return f"{self.machine.address}:{self.port}"

    @property
    def ws_url(self) -> str:
        """The WebSocket URL of the C-Chain."""
        return f"ws://{self.address}/ext/bc/C/ws"

    def log(self) -> str:
        """Return all output of the web server."""
        return self._log.read_text(errors="replace")

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                client.call("eth_chainId")
        except RpcUnreachable:
            return False
        return True

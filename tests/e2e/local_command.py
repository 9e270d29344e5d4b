"""`manage.py local_network` as users run it, and the processes it starts."""

import os
import sys
from pathlib import Path

from tests.servers.node import ROOT
from tests.servers.process import ServerProcess

STARTED = 240.0
"""Seconds within which the nodes must be ready or the command must report that they are not."""


def command(
    directory: Path, first_port: int, log: str = "command.log", *, options: str, **settings: str
) -> ServerProcess:
    """Start the command with its data and its log in a directory."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NODE_")}
    return ServerProcess(
        [
            sys.executable, "manage.py", "local_network",
            "--first-port", str(first_port), *options.split(),
        ],
        directory / log,
        env={**env, **settings, "NODE_DATA_DIR": str(directory / "data"), "PYTHONUNBUFFERED": "1"},
        cwd=ROOT,
    )  # fmt: skip


def is_told(network: ServerProcess) -> bool:
    """Return whether the command has reported that all nodes are ready."""
    return "Ctrl-C ends them all" in network.log.read_text()


def node_processes(directory: Path) -> list[int]:
    """Return the IDs of the processes that use a directory's data."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            env = (place / "environ").read_bytes()
            line = (place / "cmdline").read_bytes()
        except OSError:
            continue  # the process has ended
        if str(directory).encode() in env and b"runnode" in line:
            found.append(int(place.name))
    return found

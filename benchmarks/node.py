"""Starts this node for a measurement: embedded profile, with its own data directory.

Management commands of the node (`seed_platform`, `seed_history`) fill such a directory before the
start. They run as separate processes, because the settings of a process name one data directory.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.server import Kind, StartFailed
from tests.servers.ports import free_port

ROOT = Path(__file__).resolve().parents[1]

DATA_DIR = "NODE_DATA_DIR"


def seed(subject: str, shape: Mapping[str, object], settings: Mapping[str, str]) -> str:
    """Run the seed command of a subject with some settings; return its output.

    Raises:
        StartFailed: The command failed; the message has the last lines of its output.
    """
    return run_command(
        f"seed_{subject}", *(f"--{name}={value}" for name, value in shape.items()), **settings
    )


def run_command(command: str, *options: str, **settings: str) -> str:
    """Run a management command of the node with some settings; return its output. Raises as `seed`."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), command, *options],
        cwd=ROOT,
        env={**os.environ, "NODE_PROFILE": "embedded", **settings},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        tail = done.stderr.splitlines()[-15:]
        raise StartFailed("\n".join([f"{command} failed", *tail]))
    return done.stdout


def _command(_port: int) -> Sequence[str]:
    return [sys.executable, str(ROOT / "manage.py"), "runnode"]


def _environment(port: int, scratch: Path) -> Mapping[str, str]:
    return {
        "NODE_PROFILE": "embedded",
        DATA_DIR: str(scratch / "data"),
        "NODE_HTTP_PORT": str(port),
        "NODE_STAKING_PORT": str(free_port()),
        # One workload needs a block of exactly a hundred transactions, which are queued behind a nonce gap.
        "NODE_POOL_ACCOUNT_QUEUE": "128",
    }


def _nothing_kept(port: int, scratch: Path) -> Mapping[str, str]:
    return {**_environment(port, scratch), "NODE_TRACE_CACHE": "0"}


NODE = Kind(
    name="node",
    title="Nunatak",
    command=_command,
    http_path="/ext/bc/C/rpc",
    ws_path="/ext/bc/C/ws",
    environment=_environment,
    directory=ROOT,
)

NODE_WITHOUT_KEPT_TRACES = replace(NODE, environment=_nothing_kept)
"""This node without cached traces: each request is traced again, as on the peers."""

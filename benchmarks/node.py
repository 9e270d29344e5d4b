"""How this node is started for a measurement: embedded profile, a data directory of its own.

What fills such a directory before the start is a management command of the node (`seed_platform`,
`seed_history`), a process of its own: the settings of a process name one data directory.
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
    """Fill a data directory by the command of that subject, with some settings; return what it prints.

    Raises:
        StartFailed: It failed; the last lines of its output are in the message.
    """
    return told_by(
        f"seed_{subject}", *(f"--{name}={value}" for name, value in shape.items()), **settings
    )


def told_by(command: str, *options: str, **settings: str) -> str:
    """Run one of the node's commands, with some settings; return what it prints. Raises as `seed`."""
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
        # One workload wants a block of exactly a hundred transactions: they wait behind a gap.
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
"""This node without the answers it keeps of traces: each request is traced anew, as at the peers."""

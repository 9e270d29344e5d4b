"""How this node is started for a measurement: embedded profile, a data directory of its own."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.server import Kind, free_port

ROOT = Path(__file__).resolve().parents[1]


def _command(_port: int) -> Sequence[str]:
    return [sys.executable, str(ROOT / "manage.py"), "runnode"]


def _environment(port: int, scratch: Path) -> Mapping[str, str]:
    return {
        "NODE_PROFILE": "embedded",
        "NODE_DATA_DIR": str(scratch / "data"),
        "NODE_HTTP_PORT": str(port),
        "NODE_STAKING_PORT": str(free_port()),
        # One workload wants a block of exactly a hundred transactions: they wait behind a gap.
        "NODE_POOL_ACCOUNT_QUEUE": "128",
    }


NODE = Kind(
    name="node",
    title="this node",
    command=_command,
    http_path="/ext/bc/C/rpc",
    ws_path="/ext/bc/C/ws",
    environment=_environment,
    directory=ROOT,
)

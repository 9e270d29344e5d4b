"""How this node is started in the production profile: PostgreSQL, Redis, two web workers, one of each other process.

All of them are one server of the table: its memory and processor time are those of all together.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.node import NODE


def _command(_port: int) -> Sequence[str]:
    return [sys.executable, "-m", "benchmarks.production_servers"]


def _environment(port: int, scratch: Path) -> Mapping[str, str]:
    return {**NODE.environment(port, scratch), "NODE_WEB_WORKERS": "2"}


PRODUCTION = replace(
    NODE,
    name="production",
    title="Nunatak in production",
    command=_command,
    environment=_environment,
    patience=180.0,
    grace=60.0,
)

"""Starts this node in the production profile: PostgreSQL, Redis, two web workers, one of each other process.

Together they are one server of the table, with the memory and processor time of all of them.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.node import NODE
from tests.servers.postgresql import PostgresqlMissing, programs


class ServersMissing(Exception):
    """The programs of PostgreSQL or Redis are not installed."""


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
    patience=300.0,
    grace=60.0,
)


def versions() -> str:
    """Return the versions of PostgreSQL and Redis.

    Raises:
        ServersMissing: One of them is not installed.
    """
    try:
        postgresql, redis = _version(str(programs() / "postgres")), _version("redis-server")
    except (PostgresqlMissing, OSError) as error:
        raise ServersMissing(f"--production needs PostgreSQL and Redis: {error}") from error
    return f"PostgreSQL {postgresql}, Redis {redis}"


def _version(program: str) -> str:
    printed = subprocess.run(
        [program, "--version"], check=True, capture_output=True, text=True
    ).stdout
    number = re.search(r"\d+(\.\d+)+", printed)
    return number[0] if number else printed.strip()

"""Five nodes of one network whose validators vote, as `make network` starts them, and their reported metrics."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.commits import HeadWatch
from benchmarks.node import DATA_DIR, NODE, ROOT
from benchmarks.rpc import Client, WrongAnswer, page
from benchmarks.server import Server
from benchmarks.wire import Endpoint, Http
from tests.servers.tables import give_tables

NODES = 5
READY = 120.0
"""Seconds within which all nodes must be ready."""
PATIENCE = 60.0
"""Seconds after which a block that has not reached all nodes counts as lost."""
POLL_SECONDS = 0.01
REPORTS = 2.2
"""Seconds after which a node's reported traffic is up to date; a node reports once a second."""
TRAFFIC = re.compile(
    r'^svc_network_(messages|bytes)_total\{direction="sent"\} (\S+)$', re.MULTILINE
)


class NetworkUsage(NamedTuple):
    """Traffic and processor time of all five nodes since their start."""

    at: float
    """Time of `time.perf_counter`."""
    messages: float
    bytes: float
    processor: float
    """Processor time in seconds."""


@dataclass(frozen=True, slots=True)
class Voters:
    """The nodes of a running network."""

    server: Server
    """The server that started the nodes; it answers as the first node."""
    directories: Sequence[Path]
    endpoints: Sequence[Endpoint]
    heads: Sequence[HeadWatch]

    def at(self, place: int, path: str) -> Endpoint:
        """Return the endpoint of a node for other methods."""
        return replace(self.endpoints[place % NODES], http_path=path)

    def head(self, chain: str) -> int:
        """Return the height of the highest block that any node has accepted."""
        return max(heads.read()[chain] for heads in self.heads)

    def await_height(self, chain: str, height: int) -> None:
        """Wait until all nodes have accepted a block of that height.

        Raises:
            WrongAnswer: A node has not accepted it in time.
        """
        deadline = time.perf_counter() + PATIENCE
        for place, heads in enumerate(self.heads):
            while heads.read()[chain] < height:
                if time.perf_counter() > deadline:
                    raise WrongAnswer(f"node {place + 1} is not at {height} after {PATIENCE:.0f} s")
                time.sleep(POLL_SECONDS)

    def await_ready(self) -> None:
        """Wait until all nodes vote.

        Raises:
            WrongAnswer: A node does not vote in time.
        """
        deadline = time.perf_counter() + READY
        for place, endpoint in enumerate(self.endpoints):
            while not _is_ready(endpoint):
                if time.perf_counter() > deadline:
                    raise WrongAnswer(f"node {place + 1} is not ready after {READY:.0f} s")
                time.sleep(0.2)

    def spent(self) -> NetworkUsage:
        """Return traffic and processor time of all nodes, after waiting until they have reported it."""
        time.sleep(REPORTS)
        totals: dict[str, float] = {"messages": 0.0, "bytes": 0.0}
        for endpoint in self.endpoints:
            for name, value in TRAFFIC.findall(page(endpoint, "/ext/metrics")):
                totals[name] += float(value)
        return NetworkUsage(
            time.perf_counter(), **totals, processor=self.server.processor_seconds()
        )


def found(server: Server) -> Voters:
    """Return the nodes that a server of the kind `VOTERS` has started."""
    network = Path(server.environment[DATA_DIR]) / "network"
    directories = [network / f"node{place + 1}" for place in range(NODES)]
    first = server.endpoint
    endpoints = [replace(first, port=first.port + 2 * place) for place in range(NODES)]
    return Voters(
        server, directories, endpoints, [HeadWatch(directory) for directory in directories]
    )


def _is_ready(endpoint: Endpoint) -> bool:
    try:
        return bool(json.loads(page(endpoint, "/ext/health/readiness"))["healthy"])
    except (OSError, ValueError):
        return False


def client_of(endpoint: Endpoint) -> Client:
    """Return a client of one of the nodes."""
    return Client(Http(endpoint), patience=PATIENCE)


def _command(port: int) -> Sequence[str]:
    python, manage, _ = NODE.command(port)
    return [python, manage, "local_network", f"--nodes={NODES}", f"--first-port={port}"]


def _environment(port: int, scratch: Path) -> Mapping[str, str]:
    data = scratch / "data"
    for place in range(NODES):
        give_tables(data / "network" / f"node{place + 1}")
    return {"NODE_PROFILE": "embedded", DATA_DIR: str(data), "NODE_CONSENSUS": "snowman"}


VOTERS = replace(
    NODE,
    title="five nodes",
    command=_command,
    environment=_environment,
    directory=ROOT,
    ports=2 * NODES,
    patience=READY,
    grace=40.0,
)

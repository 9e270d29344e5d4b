"""A server that has run before is started again: how long until it answers."""

import gzip
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.node import DATA_DIR, NODE
from benchmarks.rpc import Client, WrongAnswer
from benchmarks.scene import FUNDER, Scene
from benchmarks.server import Kind, running
from benchmarks.signing import account, sign
from benchmarks.wire import Http
from benchmarks.workload import Bar, Better, Measurement, Workload

BLOCKS = 100
"""Of the history, a transfer in each, and those that every row's preparation makes."""
STARTS = 5
"""Whose median counts; one before them does not."""
LOOK = 0.005
"""Seconds between two questions whether it answers."""
PROBE = "eth_blockNumber"

WITHOUT_FILES = ("hardhat", "ganache")
"""Peers that take no part: what Hardhat did is gone when it ends, and Ganache keeps a database only if told where."""


def prepare(scene: Scene) -> None:
    """Give the chain a short history."""
    sender = account("starting")
    scene.fund([sender])
    for nonce in range(BLOCKS):
        scene.client.mine(sign(sender, nonce, FUNDER.address, value=1))


def _start(scene: Scene) -> Measurement:
    """Seconds from the start of the process to the first answer, with what the server before it has left."""
    height = scene.client.height()
    kind = _again(scene)
    scene.server.end()
    times = [_timed_start(kind, height) for _ in range(1 + STARTS)]
    return Measurement(statistics.median(times[1:]), note=f"{height:,} blocks")


def _again(scene: Scene) -> Kind:
    """Return how the scene's server is started on what it has."""
    kind = replace(scene.server.kind, probe=PROBE, look=LOOK)
    if kind.name == NODE.name:
        return replace(kind, environment=_with_data(Path(scene.server.environment[DATA_DIR])))
    state = _dumped(scene)
    return replace(
        kind, command=lambda port: [*scene.server.kind.command(port), "--load-state", state]
    )


def _with_data(directory: Path) -> Callable[[int, Path], Mapping[str, str]]:
    def environment(port: int, scratch: Path) -> Mapping[str, str]:
        return {**NODE.environment(port, scratch), DATA_DIR: str(directory)}

    return environment


def _dumped(scene: Scene) -> str:
    """Return a file with Anvil's state, as it writes one itself at its end if told to."""
    state = gzip.decompress(bytes.fromhex(scene.client.call("anvil_dumpState")[2:]))
    file = (
        Path(scene.ending.enter_context(TemporaryDirectory(prefix="bench-state-"))) / "state.json"
    )
    file.write_bytes(state)
    return str(file)


def _timed_start(kind: Kind, height: int) -> float:
    """Start and end a server.

    Raises:
        StartFailed: It did not come up.
        WrongAnswer: It is at another height than the one before it.
    """
    begun = []
    with running(
        replace(kind, fill=lambda _environment: begun.append(time.perf_counter()))
    ) as server:
        seconds = time.perf_counter() - begun[0]
        with closing(Client(Http(server.endpoint))) as client:
            found = client.height()
    if found != height:
        raise WrongAnswer(f"it started at {found} in place of {height}")
    return seconds


START = Workload(
    "start", "start of a node that has run before", "s", _start, None, Bar(1.5), Better.LESS
)

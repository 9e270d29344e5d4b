"""Start of a server, with a new chain or one that it has stored before: time until it answers."""

import gzip
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.node import DATA_DIR, NODE
from benchmarks.rpc import Client, WrongAnswer
from benchmarks.scene import FUNDER, Scene
from benchmarks.server import Kind, running
from benchmarks.signing import account, sign
from benchmarks.wire import Http
from benchmarks.workload import Bar, Better, Measurement, Workload

BLOCKS = 100
"""Blocks of the history with a transfer in each, in addition to those of every row's preparation."""
STARTS = 5
"""Starts whose median counts, after one that does not."""
POLL_SECONDS = 0.005
"""Seconds between two requests until the server answers."""
PROBE = "eth_blockNumber"

_STARTS: Final = "starts"
_HEIGHT: Final = "height"
"""Names of the scene's facts."""

WITHOUT_FILES = ("hardhat", "ganache")
"""Peers that do not take part: Hardhat stores nothing, and Ganache stores its chain only with an option."""


def prepare(scene: Scene) -> None:
    """Give the chain a short history."""
    sender = account("starting")
    scene.fund([sender])
    for nonce in range(BLOCKS):
        scene.client.mine(sign(sender, nonce, FUNDER.address, value=1))


class Start(NamedTuple):
    """A start, from the creation of the process to its first answer."""

    seconds: float
    processor: float
    """Seconds of processor time."""


def _seconds(scene: Scene) -> Measurement:
    """Measure the seconds from the start of the process to the first answer, on the previous server's data."""
    return _median([start.seconds for start in _restarts(scene)], scene)


def _processor(scene: Scene) -> Measurement:
    """Measure the processor time of the same starts."""
    return _median([start.processor for start in _restarts(scene)], scene)


def _median(found: Sequence[float], scene: Scene) -> Measurement:
    return Measurement(statistics.median(found), note=f"{scene.facts[_HEIGHT]:,} blocks")


def _restarts(scene: Scene) -> Sequence[Start]:
    """Return the starts on the previous server's data, which are made once for both rows."""
    if _STARTS not in scene.facts:
        scene.facts[_HEIGHT] = height = scene.client.height()
        kind = _again(scene)
        scene.server.end()
        scene.facts[_STARTS] = _starts(kind, height)
    starts: Sequence[Start] = scene.facts[_STARTS]
    return starts


def _new(scene: Scene) -> Measurement:
    """Measure the processor time from the start of the process to the first answer, with a new chain each time."""
    scene.server.end()
    starts = _starts(replace(scene.server.kind, poll_seconds=POLL_SECONDS), 0)
    return Measurement(statistics.median(start.processor for start in starts))


def _starts(kind: Kind, height: int) -> Sequence[Start]:
    return [_timed_start(kind, height) for _ in range(1 + STARTS)][1:]


def _again(scene: Scene) -> Kind:
    """Return how the scene's server is started on its existing data."""
    kind = replace(scene.server.kind, probe=PROBE, poll_seconds=POLL_SECONDS)
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
    """Return a file with Anvil's state, in the form that Anvil writes at its end with an option."""
    state = gzip.decompress(bytes.fromhex(scene.client.call("anvil_dumpState")[2:]))
    file = (
        Path(scene.ending.enter_context(TemporaryDirectory(prefix="bench-state-"))) / "state.json"
    )
    file.write_bytes(state)
    return str(file)


def _timed_start(kind: Kind, height: int) -> Start:
    """Start and end a server; return how long it took until its first answer.

    Raises:
        StartFailed: The server did not start.
        WrongAnswer: Its height is not the previous server's.
    """
    begun = []
    with running(
        replace(kind, fill=lambda _environment: begun.append(time.perf_counter()))
    ) as server:
        start = Start(time.perf_counter() - begun[0], server.processor_seconds())
        with closing(Client(Http(server.endpoint))) as client:
            found = client.height()
    if found != height:
        raise WrongAnswer(f"it started at {found} in place of {height}")
    return start


START = Workload(
    "start", "start of a node that has run before", "s", _seconds, None, Bar(1.5), Better.LESS
)
START_PROCESSOR = Workload(
    "start-processor", "the same, processor time", "s", _processor, None, Bar(0.6), Better.LESS
)
NEW = Workload(
    "new", "start of a new chain, processor time", "s", _new, None, Bar(0.8), Better.LESS
)

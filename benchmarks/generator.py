"""Closed loops at full speed: builds generator.c with the machine's C compiler and runs it."""

import shutil
import statistics
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.wire import Framing

SOURCE = Path(__file__).with_name("generator.c")


class GeneratorFailed(Exception):
    """The generator could not be built, or a server left it without answers."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a closed loop is run."""

    warm_up: float
    """Seconds whose answers are not counted."""
    seconds: float
    repeats: int
    """Runs whose median rate counts."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What closed loops saw of one server."""

    rate: float
    """Answers a second, the median of the runs."""
    p50: float
    """Seconds from send to whole answer; the median run's."""
    p99: float
    failed: int
    """Answers that hold an error or have another status than 200, of all runs."""
    answers: int
    """Of all runs, with those of the warm-up."""


def closed_loop(framing: Framing, bodies: Sequence[bytes], connections: int, pace: Pace) -> Speed:
    """Repeat the bodies on every connection, one request under way on each.

    Raises:
        GeneratorFailed: The server closed a connection or did not answer for thirty seconds.
    """
    frames = [framing.frame(body) for body in bodies]
    given = b"".join(
        [
            _sized(framing.opening()),
            struct.pack("<I", len(frames)),
            *(_sized(frame) for frame in frames),
        ]
    )
    runs = [_run(framing, given, connections, pace) for _ in range(pace.repeats)]
    middle = statistics.median_low([run.rate for run in runs])
    typical = next(run for run in runs if run.rate == middle)
    return Speed(
        typical.rate,
        typical.p50,
        typical.p99,
        sum(run.failed for run in runs),
        sum(run.answers for run in runs),
    )


@cache
def program() -> Path:
    """Return the compiled generator, in a directory that ends with this process.

    Raises:
        GeneratorFailed: There is no C compiler, or it refuses the source.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise GeneratorFailed("a C compiler (cc) is needed for the load generator")
    target = Path(_directory().name) / "generator"
    built = subprocess.run(
        [compiler, "-O2", "-o", str(target), str(SOURCE)],
        check=False,
        capture_output=True,
        text=True,
    )
    if built.returncode:
        raise GeneratorFailed(built.stderr)
    return target


@cache
def _directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="benchmarks-")


def _sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def _run(framing: Framing, given: bytes, connections: int, pace: Pace) -> Speed:
    endpoint = framing.endpoint
    done = subprocess.run(
        [
            str(program()),
            endpoint.host,
            str(endpoint.port),
            framing.name,
            str(connections),
            str(pace.warm_up),
            str(pace.seconds),
        ],
        input=given,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise GeneratorFailed(done.stderr.decode().strip())
    answers, failed, seconds, p50, p99, early = done.stdout.split()
    return Speed(
        int(answers) / float(seconds),
        float(p50) / 1e6,
        float(p99) / 1e6,
        int(failed),
        int(answers) + int(early),
    )

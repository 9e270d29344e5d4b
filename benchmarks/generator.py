"""The load generator: builds generator.c with the machine's C compiler and runs it.

It runs closed loops at full speed, ordered streams of transactions, and background load during other
measurements. An answer with an error counts as failed, so that fast refusals never look like speed.
"""

import shutil
import statistics
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.wire import Framing

SOURCE = Path(__file__).with_name("generator.c")
FOR_EVER = 3600.0
"""Seconds after which a load ends if it was not stopped."""


class GeneratorFailed(Exception):
    """The generator could not be built, or a server did not answer for thirty seconds."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Duration and repetitions of a closed loop."""

    warm_up: float
    """Seconds at the start whose answers do not count."""
    seconds: float
    repeats: int
    """Number of runs; the median rate counts."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Results of closed loops on one server."""

    rate: float
    """Answers per second, the median of the runs."""
    p50: float
    """Seconds from sending to the complete answer, in the median run."""
    p99: float
    worst: float
    """The longest of all runs."""
    failed: int
    """Answers of all runs with an error or a status other than 200."""
    answers: int
    """Answers of all runs, including the warm-up."""


@dataclass(frozen=True, slots=True)
class StreamResults:
    """Results of streams."""

    started: float
    """When the first request was sent, by `time.perf_counter`."""
    ended: float
    """When the last answer was complete."""
    answered: list[int]
    """Number of bodies of each stream that were sent and answered."""
    failures: list[bytes]
    """The answers with an error or a status other than 200."""


def closed_loop(
    framing: Framing, bodies: Sequence[bytes], connections: int, pace: Pace, *, in_flight: int = 1
) -> Speed:
    """Repeat the bodies on every connection, with a number of requests in flight on each.

    Raises:
        GeneratorFailed: The server closed a connection or did not answer for thirty seconds.
    """
    given = _given(framing, [bodies])
    runs = [_run(framing, given, connections, in_flight, pace) for _ in range(pace.repeats)]
    middle = statistics.median_low([run.rate for run in runs])
    typical = next(run for run in runs if run.rate == middle)
    return Speed(
        typical.rate,
        typical.p50,
        typical.p99,
        max(run.worst for run in runs),
        sum(run.failed for run in runs),
        sum(run.answers for run in runs),
    )


def send_streams(
    framing: Framing, streams: Sequence[Sequence[bytes]], seconds: float
) -> StreamResults:
    """Send each stream in order on its own connection, each body after the previous answer.

    Stops after the given time or at the end of the streams, and waits for the requests in flight.

    Raises:
        GeneratorFailed: The server closed a connection or did not answer for thirty seconds.
    """
    done = subprocess.run(
        _command(framing, "once", seconds),
        input=_given(framing, streams),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise GeneratorFailed(done.stderr.decode().strip())
    head, _, refusals = done.stdout.partition(b"\n")
    started, ended, *answered = head.split()
    failures = []
    while refusals:
        (size,) = struct.unpack_from("<I", refusals)
        failures.append(framing.body(refusals[4 : 4 + size]))
        refusals = refusals[4 + size :]
    return StreamResults(float(started), float(ended), list(map(int, answered)), failures)


@contextmanager
def loaded(framing: Framing, bodies: Sequence[bytes], connections: int) -> Iterator[None]:
    """Repeat the bodies on every connection while the body runs, ignoring the answers."""
    command = _command(framing, "loop", connections, 1, 0.0, FOR_EVER)
    with tempfile.TemporaryFile() as given:
        given.write(_given(framing, [bodies]))
        given.seek(0)
        load = subprocess.Popen(
            command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    try:
        yield
    finally:
        load.kill()
        load.wait()


@cache
def program() -> Path:
    """Return the compiled generator, in a directory that is deleted with this process.

    Raises:
        GeneratorFailed: There is no C compiler, or it rejects the source.
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


def _given(framing: Framing, streams: Sequence[Sequence[bytes]]) -> bytes:
    """Return the input of the generator: see generator.c."""
    parts = [_sized(framing.opening()), struct.pack("<I", len(streams))]
    for bodies in streams:
        parts.append(struct.pack("<I", len(bodies)))
        parts += [_sized(framing.frame(body)) for body in bodies]
    return b"".join(parts)


def _command(framing: Framing, *options: object) -> list[str]:
    endpoint = framing.endpoint
    return [str(program()), endpoint.host, str(endpoint.port), framing.name, *map(str, options)]


def _run(framing: Framing, given: bytes, connections: int, in_flight: int, pace: Pace) -> Speed:
    done = subprocess.run(
        _command(framing, "loop", connections, in_flight, pace.warm_up, pace.seconds),
        input=given,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise GeneratorFailed(done.stderr.decode().strip())
    answers, failed, seconds, p50, p99, worst, early = done.stdout.split()
    return Speed(
        int(answers) / float(seconds),
        float(p50) / 1e6,
        float(p99) / 1e6,
        float(worst) / 1e6,
        int(failed),
        int(answers) + int(early),
    )

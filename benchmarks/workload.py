"""Workloads: a row of the table, its measurement, and the bars that it has to pass."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum

from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind, Server


@dataclass(frozen=True, slots=True)
class Measurement:
    """One cell of the table."""

    value: float
    """Value in the workload's unit."""
    p50: float | None = None
    """Latency in seconds, if single answers were timed."""
    p99: float | None = None
    processor: float | None = None
    """Seconds of the server's processor time for each answer."""
    note: str = ""
    """Remark that explains the number."""
    worst: float | None = None
    """The longest latency in seconds."""


class Better(Enum):
    """Which way a number should go."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar for this node's number: a number, or the best of the named peers."""

    number: float | None = None
    peers: tuple[str, ...] = ()
    times: float = 1.0
    """Factor by which to be better than the best of them."""
    row: str = ""
    """Name of the row with the peers' numbers; empty: the same row."""

    def threshold(self, better: Better, values: Mapping[str, float]) -> float | None:
        """Return the number to reach, or None if a required peer was not measured."""
        if self.number is not None:
            return self.number
        if any(peer not in values for peer in self.peers):
            return None
        best = max if better is Better.MORE else min
        found = best(values[peer] for peer in self.peers)
        return found * self.times if better is Better.MORE else found / self.times

    def passed(self, better: Better, values: Mapping[str, float], ours: float) -> bool | None:
        """Return whether our number passes, or None if there is nothing to compare it with."""
        threshold = self.threshold(better, values)
        if threshold is None:
            return None
        return ours >= threshold if better is Better.MORE else ours <= threshold


AS_EMBEDDED = Bar(peers=("node",), times=0.9)
"""For reads in the production profile: nine tenths of the embedded profile's rate."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of the table."""

    name: str
    """Name in `--only`."""
    title: str
    unit: str
    measure: Callable[[Scene], Measurement]
    first: Bar | None
    goal: Bar | None
    better: Better = Better.MORE
    production: Bar | None = None
    """Bar for this node in the production profile."""


@dataclass(frozen=True, slots=True)
class Group:
    """Workloads that share a server and its set-up."""

    name: str
    prepare: Callable[[Scene], None]
    workloads: tuple[Workload, ...]
    alone: Callable[[Scale], Kind] | None = None
    """How this node is started if no peer can take part, because the workload is not Ethereum's."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """How peers are started that need special options, by name."""

    left_out: tuple[str, ...] = ()
    """Servers that do not take part: peers without the feature, or the production profile."""

    @contextmanager
    def set_up(self, server: Server, scale: Scale) -> Iterator[Scene]:
        """Prepare a fresh server for the workloads."""
        with ExitStack() as ending:
            scene = Scene(server, scale, ending)
            if self.alone is None:
                scene.deploy()
            self.prepare(scene)
            yield scene

"""What a workload is: a row of the table, how it is measured, and the bars it has to pass."""

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
    """In the workload's unit."""
    p50: float | None = None
    """Latency in seconds, where single answers were timed."""
    p99: float | None = None
    processor: float | None = None
    """Seconds of processor time that the server took for an answer."""
    note: str = ""
    """What the number alone would hide."""


class Better(Enum):
    """Which way a number should go."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Bar:
    """What this node's number is compared with: a number, or the best of the peers that are named."""

    number: float | None = None
    peers: tuple[str, ...] = ()
    times: float = 1.0
    """So many times as good as the best of them."""
    row: str = ""
    """Of the peers' numbers in this row, by its name; empty: in the same one."""

    def threshold(self, better: Better, values: Mapping[str, float]) -> float | None:
        """Return the number to reach; None when a peer that it hangs on was not measured."""
        if self.number is not None:
            return self.number
        if any(peer not in values for peer in self.peers):
            return None
        best = max if better is Better.MORE else min
        found = best(values[peer] for peer in self.peers)
        return found * self.times if better is Better.MORE else found / self.times

    def passed(self, better: Better, values: Mapping[str, float], ours: float) -> bool | None:
        """Tell whether our number passes; None when there is nothing to compare it with."""
        threshold = self.threshold(better, values)
        if threshold is None:
            return None
        return ours >= threshold if better is Better.MORE else ours <= threshold


AS_EMBEDDED = Bar(peers=("node",), times=0.9)
"""For reads in the production profile: nine tenths of the embedded profile's."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One row of the table."""

    name: str
    """As in `--only`."""
    title: str
    unit: str
    measure: Callable[[Scene], Measurement]
    first: Bar | None
    goal: Bar | None
    better: Better = Better.MORE
    production: Bar | None = None
    """What this node has to reach in the production profile."""


@dataclass(frozen=True, slots=True)
class Group:
    """Workloads that share a server and what was prepared on it."""

    name: str
    prepare: Callable[[Scene], None]
    workloads: tuple[Workload, ...]
    alone: Callable[[Scale], Kind] | None = None
    """How this node is started where no peer can take part: what it does is not Ethereum's."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """How peers are started that need other options than elsewhere, by name."""

    left_out: tuple[str, ...] = ()
    """Servers that do not take part: peers that have nothing of the kind, or the production profile."""

    @contextmanager
    def set_up(self, server: Server, scale: Scale) -> Iterator[Scene]:
        """Give what the workloads find on a server that has just started."""
        with ExitStack() as ending:
            scene = Scene(server, scale, ending)
            if self.alone is None:
                scene.deploy()
            self.prepare(scene)
            yield scene

"""Measures which share of absent, silent and lying stake consensus tolerates: docs/network.md.

`python -m tests.simulation.shares` prints the table; it takes a while. Parameters are those of real nodes,
stakes are equal. Absent nodes are disconnected, which the others notice; silent ones are connected and never
respond; two-faced ones propose two blocks each time and confirm the preference of each peer.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import median
from typing import NamedTuple

from network_app.snowman.parameters import SnowParameters
from tests.builders.outer_blocks import Node
from tests.simulation.network import SimulatedNetwork, identities
from tests.simulation.node import HonestNode, SilentNode, TwoFaced

SETTINGS = ((4, 13), (5, 13), (5, 15), (10, 15), (20, 15))
"""Number of validators, and the value of both quorums out of the 20 that are sampled."""
RUNS = 20
PATIENCE = 60.0
"""Seconds of virtual time within which all nodes must accept a block."""


class Shown(NamedTuple):
    """The results of the runs with a number of faulty nodes."""

    decided: int
    """Runs in which all honest nodes accepted a block in time."""
    seconds: float | None
    """The median time of these runs; None if there are none."""
    forked: int
    """Runs in which two honest nodes accepted different blocks."""


@cache
def nodes(count: int) -> Sequence[Node]:
    """Return keys, which are cached."""
    return identities(count)


def shown(count: int, alpha: int, faulty: int, kind: type[HonestNode] | None) -> Shown:
    """Run networks whose last nodes are of a class, or absent (None)."""
    parameters = SnowParameters(alpha_preference=alpha, alpha_confidence=alpha)
    times: list[float] = []
    forked = 0
    for seed in range(RUNS):
        numbers = range(count - faulty, count)
        kinds = {} if kind is None else dict.fromkeys(numbers, kind)
        network = SimulatedNetwork(seed, nodes(count), kinds=kinds, parameters=parameters)
        if kind is None:
            for number in numbers:
                network.world.nodes[number].stop()
        present = network.honest[: count - faulty]
        network.issue()
        try:
            if network.reach(1, PATIENCE, present):
                times.append(network.bus.now)
        except AssertionError:
            forked += 1
    return Shown(len(times), median(times) if times else None, forked)


def rows(count: int, alpha: int, kind: type[HonestNode] | None) -> Iterable[str]:
    """Yield a row per number of faulty nodes, up to the first without decisions or with forks."""
    names = {None: "absent", SilentNode: "silent", TwoFaced: "two-faced"}
    for faulty in range(0, count - 1, max(1, count // 10)):
        found = shown(count, alpha, faulty, kind)
        time = "" if found.seconds is None else f"{found.seconds:.1f} s"
        yield (
            f"| {count} | {alpha} | {names[kind]} | {faulty} ({faulty / count:.0%}) "
            f"| {found.decided} of {RUNS} | {time} | {found.forked} |"
        )
        if not found.decided or found.forked:
            return


def main() -> None:
    """Print the table of the settings given by their numbers, or of all."""
    chosen = [SETTINGS[int(item)] for item in sys.argv[1:]] or SETTINGS
    print("| validators | quorums | the faulty are | how many | decided | median | forked |")
    print("|---|---|---|---|---|---|---|")
    for count, alpha in chosen:
        for kind in (None, SilentNode, TwoFaced):
            for line in rows(count, alpha, kind):
                print(line, flush=True)


if __name__ == "__main__":
    main()

"""Gain of a second process: reads of a node with two web workers against those of a node with one."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.node import NODE
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind, running
from benchmarks.workload import Bar, Measurement, Workload
from benchmarks.workloads_read import CONNECTIONS
from benchmarks.workloads_slots import sums

READ = 250
"""Slots that one call reads."""


def _environment(port: int, scratch: Path) -> Mapping[str, str]:
    return {**NODE.environment(port, scratch), "NODE_WEB_WORKERS": "2"}


def two_workers(_scale: Scale) -> Kind:
    """Return this node with a second, reading process."""
    return replace(NODE, environment=_environment, listeners=2)


def prepare(scene: Scene) -> None:
    """Deploy the contracts."""
    scene.deploy()


def _times_one(scene: Scene) -> Measurement:
    """Return the rate of calls relative to a node with one process, measured after it.

    The calls are so long that the load generator uses little of the cores, and so short that a node
    with one process does not spread them over both cores.
    """
    two = sums(scene, CONNECTIONS, READ).value
    with ExitStack() as ending:
        alone = Scene(ending.enter_context(running(NODE)), scene.scale, ending)
        prepare(alone)
        one = sums(alone, CONNECTIONS, READ).value
    return Measurement(two / one, note=f"{two:,.0f} and {one:,.0f} calls a second")


SECOND_WORKER = Workload(
    "second-worker",
    f"eth_call of {READ} slots, 16: two web workers ÷ one",
    "times",
    _times_one,
    None,
    Bar(1.6),
)

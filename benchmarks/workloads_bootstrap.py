"""A node with an empty data directory joins another one: speed of catching up on both chains."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.commits import CommitWatch, HeadWatch, watching
from benchmarks.network_nodes import (
    SeededBlocks,
    SeededTimings,
    data_directory,
    joiner,
    past,
    producer,
)
from benchmarks.node import DATA_DIR
from benchmarks.rpc import WrongAnswer
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind, Server, running
from benchmarks.signing import TRANSFER_GAS
from benchmarks.workload import Bar, Better, Measurement, Workload

PATIENCE = 120.0
"""Seconds after which a node that has not caught up fails."""
POLL_SECONDS = 0.02
INTERVAL = 2.0
"""Seconds between blocks if a chain builds them periodically, by default (NODE_BLOCK_INTERVAL)."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Result of a join."""

    past: SeededTimings
    watch: CommitWatch
    seconds: float
    """From the start of the process to the heads of both chains."""
    processor: float
    """Processor seconds of the joining node, for the whole join."""

    def rate(self, stretch: SeededBlocks) -> float:
        """Return blocks per second over all commits that contain only blocks of the stretch.

        If there is only one such commit, the one with the first blocks of the stretch and earlier blocks
        counts too. The time before a chain's first commit, for connecting and requesting the frontier,
        does not count.

        Raises:
            WrongAnswer: All blocks came in one commit.
        """
        growth = self.watch.growth[0, stretch.chain]
        reached = [height for height in growth.heights if 0 < height <= stretch.high]
        within = [item for item in reached if item >= stretch.low]
        heights = within if len(within) > 1 else reached[-2:]
        if len(heights) < 2:
            raise WrongAnswer(f"{stretch.chain}-Chain: all blocks came in one commit")
        low, high = heights[0], heights[-1]
        return (high - low) / (growth.reached(high) - growth.reached(low))


def with_history(scale: Scale) -> Kind:
    """Return a node that has made blocks of both chains."""
    return producer(scale.history)


def prepare(scene: Scene) -> None:
    """Store how the node's history was made."""
    scene.facts["past"] = past(scene.scale.history)


def _joined(scene: Scene) -> JoinResult:
    """Let a node join, once."""
    if "joined" not in scene.facts:
        scene.facts["joined"] = _join(scene)
    joined: JoinResult = scene.facts["joined"]
    return joined


def _join(scene: Scene) -> JoinResult:
    found: SeededTimings = scene.facts["past"]
    with _watched(joiner(scene.server)) as (node, start):
        _await_heads(node, found.heads)
        used = node.processor_seconds()
    watch = start.watch
    arrived = max(watch.growth[0, chain].reached(high) for chain, high in found.heads.items())
    return JoinResult(found, watch, arrived - start.at, used)


class _Start(NamedTuple):
    """Start time of a node, and the observations after its end."""

    at: float
    watch: CommitWatch


@contextmanager
def _watched(kind: Kind) -> Iterator[tuple[Server, _Start]]:
    """Start a node that is watched from its start."""
    starts: list[_Start] = []
    with ExitStack() as watches:

        def begin(environment: Mapping[str, str]) -> None:
            watch = watches.enter_context(watching([Path(environment[DATA_DIR])]))
            starts.append(_Start(time.perf_counter(), watch))

        with running(replace(kind, fill=begin)) as node:
            yield node, starts[0]


def _await_heads(node: Server, wanted: Mapping[str, int]) -> None:
    deadline = time.perf_counter() + PATIENCE
    with closing(HeadWatch(data_directory(node))) as heads:
        while (reached := heads.read()) != wanted:
            if time.perf_counter() > deadline:
                raise WrongAnswer(f"at {reached} of {wanted} after {PATIENCE:.0f} s")
            time.sleep(POLL_SECONDS)


def _time(scene: Scene) -> Measurement:
    joined = _joined(scene)
    found = joined.past
    transactions = sum(item.transactions for item in found)
    return Measurement(
        joined.seconds,
        note=f"{sum(found.heads.values()):,} blocks with {transactions:,} transactions; the node "
        f"used {joined.processor:.1f} s of processor",
    )


def _empty(scene: Scene) -> Measurement:
    joined = _joined(scene)
    empty = joined.past.empty
    return Measurement(
        joined.rate(empty),
        note=f"{empty.blocks:,} blocks; made at {empty.blocks / empty.seconds:,.0f} a second",
    )


def _light(scene: Scene) -> Measurement:
    return _transactions(scene, lambda found: found.light)


def _platform(scene: Scene) -> Measurement:
    return _transactions(scene, lambda found: found.platform)


def _transactions(scene: Scene, choose: Callable[[SeededTimings], SeededBlocks]) -> Measurement:
    joined = _joined(scene)
    stretch = choose(joined.past)
    rate = joined.rate(stretch)
    return Measurement(
        rate * stretch.transactions / stretch.blocks,
        note=f"{stretch.blocks:,} blocks, {rate:,.0f} a second; made at "
        f"{stretch.transactions / stretch.seconds:,.0f} tx/s",
    )


def _beside_interval(scene: Scene) -> Measurement:
    """Compare with periodic block production; full blocks have a separate row."""
    joined = _joined(scene)
    found = joined.past
    return _slowest(
        {
            "empty": joined.rate(found.empty) * INTERVAL,
            f"{found.light.each:,} transfers": joined.rate(found.light) * INTERVAL,
            "P-Chain": joined.rate(found.platform) * INTERVAL,
        }
    )


def _beside_full_interval(scene: Scene) -> Measurement:
    """Compare transaction rates, because transactions in bigger blocks are not slower."""
    joined = _joined(scene)
    light = joined.past.light
    gas_limit = int(scene.client.call("eth_getBlockByNumber", "latest", False)["gasLimit"], 16)
    full = gas_limit // TRANSFER_GAS / INTERVAL
    return Measurement(
        joined.rate(light) * light.each / full, note=f"{full:,.0f} tx/s, as many as gas allows"
    )


def _beside_production(scene: Scene) -> Measurement:
    """Compare with production at full speed, without other work or waiting."""
    joined = _joined(scene)
    found = joined.past
    return _slowest(
        {
            name: joined.rate(one) / (one.blocks / one.seconds)
            for name, one in (
                ("empty", found.empty),
                (f"{found.light.each:,} transfers", found.light),
                ("P-Chain", found.platform),
            )
        }
    )


def _slowest(times: Mapping[str, float]) -> Measurement:
    note = ", ".join(f"{name} {value:,.1f}" for name, value in times.items())
    return Measurement(min(times.values()), note=note)


TIME = Workload(
    "join-time",
    "joining with nothing: start to both heads",
    "s",
    _time,
    None,
    None,
    Better.LESS,
)
EMPTY = Workload(
    "bootstrap-empty", "bootstrap, C-Chain, empty blocks", "blocks/s", _empty, None, None
)
LIGHT = Workload(
    "bootstrap-transfers",
    "bootstrap, C-Chain, blocks of 50 transfers",
    "tx/s",
    _light,
    None,
    None,
)
PLATFORM = Workload(
    "bootstrap-platform",
    "bootstrap, P-Chain, blocks of 5 payments",
    "tx/s",
    _platform,
    None,
    None,
)
INTERVAL_TIMES = Workload(
    "bootstrap-interval",
    "bootstrap beside a block every 2 s, the slowest kind",
    "times",
    _beside_interval,
    None,
    Bar(20),
)
FULL_INTERVAL_TIMES = Workload(
    "bootstrap-interval-full",
    "bootstrap of transfers beside full blocks every 2 s",
    "times",
    _beside_full_interval,
    None,
    None,
)
PRODUCTION_TIMES = Workload(
    "bootstrap-production",
    "bootstrap beside production at full speed, the slowest kind",
    "times",
    _beside_production,
    None,
    None,
)
BOOTSTRAP = (
    TIME,
    EMPTY,
    LIGHT,
    PLATFORM,
    INTERVAL_TIMES,
    FULL_INTERVAL_TIMES,
    PRODUCTION_TIMES,
)

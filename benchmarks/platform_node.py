"""This node for the P-Chain rows: with an empty data directory, or with one filled before the start."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.coins import owner
from benchmarks.node import DATA_DIR, NODE, seed
from benchmarks.server import Kind

EMPTY = replace(NODE, http_path="/ext/P", probe="platform.getHeight")
"""A new local network."""

HOLDER = owner("holder")
"""Owner of the outputs that are read."""


@dataclass(frozen=True, slots=True)
class SeedShape:
    """Contents of a P-Chain at the start of the node."""

    validators: int
    """Genesis validators besides the node itself."""
    delegators: int
    """Delegators, spread evenly over the validators."""
    apart: int
    """Seconds between the end times of validators."""
    coins: int = 0
    """Outputs of the holder, each of another transaction."""
    past: int = 0
    """Past delegators that were rewarded one after the other."""


def started_on(shape: SeedShape) -> Kind:
    """Return the node on a copy of the data that `seed_platform` made."""

    def fill(environment: Mapping[str, str]) -> None:
        shutil.copytree(_seed(shape), environment[DATA_DIR], dirs_exist_ok=True)

    return replace(EMPTY, fill=fill)


@cache
def _seed(shape: SeedShape) -> Path:
    """Return a data directory of this shape, made once in a run; the history is added last.

    Raises:
        StartFailed: The data could not be made.
    """
    directory = Path(_directory().name) / "-".join(map(str, asdict(shape).values()))
    more = {DATA_DIR: str(directory)}
    if shape.past:
        shutil.copytree(_seed(replace(shape, past=0)), directory)
    else:
        directory.mkdir()
        more["NODE_PLATFORM_GENESIS"] = str(directory / "genesis.json")
    seed("platform", {**asdict(shape), "holder": HOLDER.text}, more)
    return directory


@cache
def _directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="bench-platform-")

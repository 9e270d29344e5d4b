"""The data directories of `benchmarks.million`: one chain at several heights, seeded once and kept.

Each stage is a copy of the one before, continued by `seed_history`, so all of them have the same blocks. A stage that is
complete has the file `made.json`; an interrupted run continues with the first stage that lacks it.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.node import DATA_DIR, run_command

FRESH: Final = 1_000
"""Height of the first stage, at any size: more blocks than a node keeps in memory (`NODE_CACHE_BLOCKS`)."""
STAGES: Final = (FRESH, 10_000, 30_000, 100_000)
"""Heights of the stages at full size."""
TRANSFERS: Final = 20
"""Transfers in each block."""
RECIPIENTS: Final = 1_000_000
"""Accounts at full size, each of which gets a transfer in its turn: half of the blocks create accounts."""
INTERVAL: Final = 2
"""Seconds between two blocks."""
TOGETHER: Final = 50
"""Blocks that are committed together."""
PROOF_WINDOW: Final = 4_096
"""Blocks below the head for which the trie's earlier nodes are kept: the default of NODE_PROOF_WINDOW."""
MADE: Final = "made.json"
INDEXED: Final = "indexed"
"""Exists when the indexes are written, too."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A seeded chain."""

    blocks: int
    transactions: int
    accounts: int
    """Accounts that the transfers have created."""
    processor: float
    """Seconds of processor time in which it was seeded from the stage before, without the indexes of calls, days and accounts."""
    bytes: int
    """Size of the database with all indexes."""


def seeded(root: Path, divisor: int) -> list[tuple[Path, Stage]]:
    """Return the stages of a directory with their data directories; seed those that are missing.

    Args:
        root: The directory; each stage is a subdirectory named by its height.
        divisor: Heights and accounts are divided by it.

    Raises:
        StartFailed: The node's command failed.
    """
    found: list[tuple[Path, Stage]] = []
    for height in sorted({max(full // divisor, FRESH) for full in STAGES}):
        directory = root / str(height)
        if not (directory / MADE).exists():
            _seed(directory, found[-1] if found else None, height, divisor)
        if not (directory / INDEXED).exists():
            _index(directory)
        data, made = directory / "data", json.loads((directory / MADE).read_text())
        accounts = min(height * TRANSFERS, RECIPIENTS // divisor)
        stage = Stage(height, height * TRANSFERS, accounts, made["processor"], _size(data))
        found.append((data, stage))
    return found


def _seed(directory: Path, before: tuple[Path, Stage] | None, height: int, divisor: int) -> None:
    """Copy the stage before, and continue its chain up to a height."""
    shutil.rmtree(directory, ignore_errors=True)
    data = directory / "data"
    if before is None:
        data.mkdir(parents=True)
    else:
        shutil.copytree(before[0], data)
    low, recipients = before[1].blocks if before else 0, RECIPIENTS // divisor
    used = _children()
    # Earlier nodes of the trie are written for the last blocks only: those of the others would be deleted again.
    unkept = max(low, height - PROOF_WINDOW)
    for first, last, window in ((low, unkept, 0), (unkept, height, PROOF_WINDOW)):
        if last > first:
            ago = INTERVAL * STAGES[-1] // divisor
            _extend(data, last - first, recipients, window, ago=ago)
    (directory / MADE).write_text(json.dumps({"processor": _children() - used}))


def _index(directory: Path) -> None:
    """Write the indexes of calls, tokens, days and accounts, as a node would in the time after the blocks."""
    shape = {"empty": 0, "light": 0, "transfers": 1, "platform": 0, "payments": 1}
    run_command(
        "seed_history",
        *_options(shape),
        "--indexes",
        **{DATA_DIR: str(directory / "data"), "NODE_MINING": "manual"},
    )
    (directory / INDEXED).touch()


def _extend(data: Path, count: int, recipients: int, window: int, *, ago: int) -> None:
    shape = {
        "empty": 0,
        "light": count,
        "transfers": TRANSFERS,
        "platform": 0,
        "payments": 1,
        "recipients": recipients,
        "together": TOGETHER,
        "interval": INTERVAL,
        "ago": ago,
    }
    run_command(
        "seed_history",
        *_options(shape),
        **{DATA_DIR: str(data), "NODE_MINING": "manual", "NODE_PROOF_WINDOW": str(window)},
    )


def _options(shape: Mapping[str, int]) -> list[str]:
    return [f"--{name}={value}" for name, value in shape.items()]


def _children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def _size(data: Path) -> int:
    return sum(path.stat().st_size for path in data.glob("node.sqlite3*"))

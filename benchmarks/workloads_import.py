"""Import of a chain from files: how fast its blocks are executed, verified and written."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.network_nodes import data_directory, past
from benchmarks.node import DATA_DIR, run_command
from benchmarks.rpc import WrongAnswer
from benchmarks.scene import Scene
from benchmarks.workload import Bar, Measurement, Workload

_IMPORTED = re.compile(
    r"([\d,]+) blocks with ([\d,]+) transactions and ([\d.]+) Mgas imported in ([\d.]+) s"
)

_RECORDED: Final = Path(__file__).parents[1] / "tests" / "vectors" / "coreth" / "local_chain.json"


class ImportFigures(NamedTuple):
    """The figures that an import of a file prints."""

    blocks: int
    transactions: int
    mgas: float
    seconds: float


def prepare(scene: Scene) -> None:
    """Store how the node's history was made: empty blocks, then blocks with transfers."""
    scene.facts["past"] = past(scene.scale.history)


def _brought(scene: Scene) -> Sequence[ImportFigures]:
    """Export both stretches and import them into a new data directory, once."""
    if "brought" not in scene.facts:
        scene.facts["brought"] = _bring(scene)
    brought: Sequence[ImportFigures] = scene.facts["brought"]
    return brought


def _bring(scene: Scene) -> Sequence[ImportFigures]:
    source = data_directory(scene.server)
    work = source.parent / "import"
    work.mkdir(exist_ok=True)
    empty, light = scene.facts["past"].empty.high, scene.facts["past"].light.high
    ranges = {"empty.rlp": (1, empty), "light.rlp": (empty + 1, light)}
    files = [work / name for name in ranges]
    genesis = work / "genesis.json"
    for file, (first, last) in zip(files, ranges.values(), strict=True):
        asked = (str(file), str(first), str(last), f"--genesis={genesis}")
        run_command("export_chain", *asked, **{DATA_DIR: str(source)})
    names = [str(path) for path in (genesis, *files)]
    matches = _IMPORTED.findall(
        run_command("import_chain", *names, **{DATA_DIR: str(work / "data")})
    )
    found = [
        ImportFigures(int(a.replace(",", "")), int(b.replace(",", "")), float(c), float(d))
        for a, b, c, d in matches
    ]
    if [item.blocks for item in found] != [last + 1 - first for first, last in ranges.values()]:
        raise WrongAnswer(f"of {ranges} were imported {found}")
    return found


def _empty(scene: Scene) -> Measurement:
    empty, _ = _brought(scene)
    return Measurement(empty.blocks / empty.seconds, note=f"{empty.blocks:,} blocks")


def _transfers(scene: Scene) -> Measurement:
    _, light = _brought(scene)
    return Measurement(
        light.mgas / light.seconds,
        note=f"{light.transactions:,} transfers in {light.blocks:,} blocks, "
        f"{light.blocks / light.seconds:,.0f} blocks and "
        f"{light.transactions / light.seconds:,.0f} transactions a second",
    )


def _recorded(scene: Scene) -> Measurement:
    """Follow the recorded blocks of a network of avalanchego nodes, in an empty data directory."""
    work = data_directory(scene.server).parent / "coreth"
    work.mkdir(exist_ok=True)
    entries = json.loads(_RECORDED.read_text())["blocks"][1:]
    lines = work / "blocks.txt"
    lines.write_text("\n".join(entry["blockRLP"] for entry in entries))
    settings = {"NODE_PARAMETERS": "avalanchego", "NODE_CONSENSUS": "snowman"}
    done = json.loads(
        run_command("seed_coreth", str(lines), **{DATA_DIR: str(work / "data")}, **settings)
    )
    if done["blocks"] != len(entries):
        raise WrongAnswer(f"of {len(entries)} recorded blocks {done['blocks']} were followed")
    return Measurement(
        done["gas"] / 1e6 / done["seconds"],
        note=f"{done['transactions']:,} transactions in {done['blocks']:,} blocks, "
        f"{done['processor']:.1f} s of processor time",
    )


EMPTY = Workload("import-empty", "import_chain, empty blocks", "blocks/s", _empty, None, None)
TRANSFERS = Workload(
    "import-transfers",
    "import_chain, blocks of 50 transfers",
    "Mgas/s",
    _transfers,
    None,
    Bar(50),
)
RECORDED = Workload(
    "import-coreth",
    "recorded blocks of avalanchego nodes, followed",
    "Mgas/s",
    _recorded,
    None,
    None,
)
IMPORTS = (EMPTY, TRANSFERS, RECORDED)

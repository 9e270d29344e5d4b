"""`python -m benchmarks.million DIRECTORY`: costs on a chain of 100,000 blocks, 2,000,000 transactions, 1,000,000 accounts.

The chain is seeded once in the directory, and measured at several heights (`million_stages`). The first one is the fresh
chain with which the others are compared. Each stage is measured on a copy. Results are kept in the directory too, so an
interrupted run continues; `--again` measures all stages again.
"""

import argparse
import json
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from benchmarks.__main__ import FAILURES
from benchmarks.generator import program
from benchmarks.machine import allow_many_sockets, description
from benchmarks.million_report import Cell, chart, markdown, marks
from benchmarks.million_rows import ROWS, Row, SeededChain, prepare
from benchmarks.million_stages import Stage, seeded
from benchmarks.node import DATA_DIR, NODE
from benchmarks.production import PRODUCTION
from benchmarks.production_servers import FILL
from benchmarks.report import put_between
from benchmarks.scale import FULL
from benchmarks.scene import Scene
from benchmarks.server import Kind, Server, running

STARTS: Final = 3
START: Final = "start"
POLL_SECONDS: Final = 0.005
PATIENCE: Final = 3_600.0
"""Seconds until the first answer in production, whose rows are copied to PostgreSQL before."""


def main() -> int:
    """Seed the missing part of the history, measure, and print the table."""
    options = _parse()
    allow_many_sockets()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))  # ends the nodes too
    program()
    options.directory.mkdir(parents=True, exist_ok=True)
    found: list[tuple[Stage, Mapping[str, Cell]]] = []
    for data, stage in seeded(options.directory / "sqlite", options.divide):
        if not options.seed_only:
            name = "production" if options.production else "embedded"
            kept = data.parent / f"{name}.json"
            if options.again or not kept.exists():
                cells = _measured(data, stage, production=options.production)
                kept.write_text(json.dumps({key: asdict(cell) for key, cell in cells.items()}))
            texts = json.loads(kept.read_text())
            found.append((stage, {key: Cell(**cell) for key, cell in texts.items()}))
    if not found:
        return 0
    machine = description([], production=options.production)
    table = markdown(found, machine, production=options.production)
    print(table)
    if options.markdown:
        put_between(options.markdown, table, *marks(production=options.production))
    if options.chart:
        options.chart.write_text(chart(found))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("directory", type=Path, help="seeded chains and results; needs 12 GB")
    parser.add_argument(
        "--divide", type=int, default=1, help="divide the size of the chain by this number"
    )
    parser.add_argument("--seed-only", action="store_true", help="measure nothing")
    parser.add_argument("--again", action="store_true", help="measure the stages again")
    parser.add_argument(
        "--production", action="store_true", help="measure the production profile, on PostgreSQL"
    )
    parser.add_argument(
        "--markdown", type=Path, help="put the table into this file, between its profile's marks"
    )
    parser.add_argument("--chart", type=Path, help="write the chart of costs to this SVG file")
    return parser.parse_args()


def _measured(data: Path, stage: Stage, *, production: bool) -> dict[str, Cell]:
    """Measure all rows on a copy of a stage; a row that fails has the reason."""
    _say(f"{stage.blocks:,} blocks")
    with ExitStack() as ending:
        scratch = ending.enter_context(tempfile.TemporaryDirectory(prefix="bench-million-"))
        copy = Path(scratch) / "data"
        shutil.copytree(data, copy)
        cells: dict[str, Cell] = {}
        if production:
            settings = {DATA_DIR: str(copy), FILL: "1"}
            kind = replace(PRODUCTION, patience=PATIENCE, environment=_with(PRODUCTION, settings))
        else:
            kind = replace(NODE, environment=_with(NODE, {DATA_DIR: str(copy)}))
            cells[START] = _start(kind)
        server = ending.enter_context(running(kind))
        chain = prepare(Scene(server, FULL, ending), stage)
        for row in ROWS:
            if production and row.is_embedded:
                continue
            cells[row.name] = _cell(row, chain, server)
        return cells


def _with(kind: Kind, settings: Mapping[str, str]) -> Callable[[int, Path], Mapping[str, str]]:
    """Return a kind's environment with other settings."""
    return lambda port, scratch: {**kind.environment(port, scratch), **settings}


def _start(kind: Kind) -> Cell:
    """Measure the start of a node on existing data: until it answers eth_blockNumber, the median after one that does not count."""
    begun: list[float] = []
    kind = replace(
        kind,
        probe="eth_blockNumber",
        poll_seconds=POLL_SECONDS,
        fill=lambda _environment: begun.append(time.perf_counter()),
    )
    seconds, processor = [], []
    for _ in range(1 + STARTS):
        with running(kind) as server:
            seconds.append(time.perf_counter() - begun[-1])
            processor.append(server.processor_seconds())
    return Cell(1e3 * statistics.median(seconds[1:]), statistics.median(processor[1:]), "ms")


def _cell(row: Row, chain: SeededChain, server: Server) -> Cell:
    server.await_rest()
    try:
        found = row.measure(chain)
    except FAILURES as error:
        _say(f"  {row.title}: {type(error).__name__}: {error}")
        return Cell(None, None, row.unit, f"{type(error).__name__}: {error}"[:200])
    processor = "" if found.processor is None else f", processor {1e3 * found.processor:.3g} ms"
    _say(f"  {row.title}: {found.value:.3g} {row.unit}{processor}")
    return Cell(found.value, found.processor, row.unit)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""The table: one row for each workload, servers side by side, ratios and bars."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.groups import WORKLOADS
from benchmarks.node import NODE
from benchmarks.peers import PEERS
from benchmarks.production import PRODUCTION
from benchmarks.workload import Bar, Better, Measurement, Workload

WIDE = 240
"""Columns of a table that is written to a file."""

NOTHING = "–"
"""Text for a missing number: no peer has a P-Chain, and not every row has a bar."""

KINDS = {**PEERS, NODE.name: NODE, PRODUCTION.name: PRODUCTION}
LEGEND = (
    "× is how many times as good as the peer this node is: 2.0 means twice the rate, or half the "
    "time or memory. † is explained below the table. ✓ and ✗ show whether the bar is passed."
)


@dataclass(slots=True)
class Results:
    """Measurements so far: a cell for each server and workload."""

    servers: Sequence[str]
    cells: dict[tuple[str, str], Measurement] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    """Reasons for empty cells."""

    def measured(self, workload: Workload) -> dict[str, float]:
        """Return the numbers of one row by server."""
        return {
            server: cell.value
            for server in self.servers
            if (cell := self.cells.get((server, workload.name)))
        }

    def workloads(self) -> list[Workload]:
        """Return the measured workloads, in the table's order."""
        tried = {name for _, name in (*self.cells, *self.failures)}
        return [workload for name, workload in WORKLOADS.items() if name in tried]


def print_table(results: Results, machine: Sequence[str]) -> None:
    """Print the table for a terminal."""
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        console.width = WIDE
    table = Table(title="Nunatak beside its peers")
    for column, title in enumerate(_header(results)):
        table.add_column(title, justify="right" if column else "left")
    for row in _rows(results):
        table.add_row(*row)
    console.print(table)
    details = Table(title="Processor time of the server for an answer, µs")
    for title in _details_header(results):
        details.add_column(title, justify="left" if title == "Workload" else "right")
    for row in _detail_rows(results, _processor):
        details.add_row(*row)
    if details.row_count:
        console.print(details)
    for line in (LEGEND, *_notes(results), *machine):
        console.print(line, markup=False, highlight=False)


def markdown(results: Results, machine: Sequence[str]) -> str:
    """Return the table, the latencies and the machine as Markdown."""
    lines = [
        *(f"- {line}" for line in machine),
        "",
        *_markdown_table(_header(results), _rows(results)),
        "",
        LEGEND,
        "",
        *(f"- {note}" for note in _notes(results)),
        "",
        "Latency of single answers, p50 / p99, in milliseconds:",
        "",
        *_markdown_table(_details_header(results), _detail_rows(results, _latency)),
        "",
        "Processor time of the server for an answer, in microseconds (other load on the machine matters less here):",
        "",
        *_markdown_table(_details_header(results), _detail_rows(results, _processor)),
    ]
    return "\n".join(lines) + "\n"


def put_between(target: Path, text: str, begin: str, end: str) -> None:
    """Put a text into a file, replacing the text between two marks."""
    before, _, rest = target.read_text().partition(begin)
    after = rest.partition(end)[2]
    target.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


def _markdown_table(header: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in header[1:])]
    return ["| " + " | ".join(row) + " |" for row in (header, rule, *rows)]


def _header(results: Results) -> list[str]:
    return [
        "Workload",
        "Unit",
        *(KINDS[server].title for server in results.servers),
        *(f"× {KINDS[peer].title}" for peer in _peers(results)),
        "First bar",
        "Goal",
        *(["Production's goal"] if PRODUCTION.name in results.servers else []),
    ]


def _rows(results: Results) -> Iterator[list[str]]:
    for workload in results.workloads():
        values = results.measured(workload)
        yield [
            workload.title,
            workload.unit,
            *(_cell(results, server, workload) for server in results.servers),
            *(_ratio(workload.better, values, peer) for peer in _peers(results)),
            _bar(results, workload, workload.first, NODE.name),
            _bar(results, workload, workload.goal, NODE.name),
            *(
                [_bar(results, workload, workload.production, PRODUCTION.name)]
                if PRODUCTION.name in results.servers
                else []
            ),
        ]


def _peers(results: Results) -> list[str]:
    return [server for server in results.servers if server in PEERS]


def _details_header(results: Results) -> list[str]:
    return ["Workload", *(KINDS[server].title for server in results.servers)]


def _detail_rows(results: Results, text_of: Callable[[Measurement], str]) -> Iterator[list[str]]:
    """Yield the rows for which any server has this detail."""
    for workload in results.workloads():
        cells = [results.cells.get((server, workload.name)) for server in results.servers]
        texts = [text_of(cell) if cell else "" for cell in cells]
        if any(texts):
            yield [workload.title, *(text or NOTHING for text in texts)]


def _latency(cell: Measurement) -> str:
    if cell.p50 is None or cell.p99 is None:
        return ""
    return f"{number(cell.p50 * 1e3)} / {number(cell.p99 * 1e3)}"


def _processor(cell: Measurement) -> str:
    return "" if cell.processor is None else number(cell.processor * 1e6)


def _cell(results: Results, server: str, workload: Workload) -> str:
    cell = results.cells.get((server, workload.name))
    if cell is None:
        return "failed †" if (server, workload.name) in results.failures else NOTHING
    return number(cell.value) + (" †" if cell.note else "")


def _notes(results: Results) -> list[str]:
    notes = []
    for server in results.servers:
        for workload in results.workloads():
            key = (server, workload.name)
            cell = results.cells.get(key)
            text = results.failures.get(key) or (cell.note if cell else "")
            if text:
                notes.append(f"† {KINDS[server].title}, {workload.title}: {text}")
    return notes


def _ratio(better: Better, values: Mapping[str, float], peer: str) -> str:
    if peer not in values or NODE.name not in values:
        return NOTHING
    ours, theirs = values[NODE.name], values[peer]
    good, bad = (ours, theirs) if better is Better.MORE else (theirs, ours)
    return f"{good / bad:.2f}" if bad else "∞"


def _bar(results: Results, workload: Workload, bar: Bar | None, server: str) -> str:
    if bar is None:
        return NOTHING
    sign = "≥" if workload.better is Better.MORE else "≤"
    text = f"{sign} {_target(bar)}"
    ours = results.measured(workload).get(server)
    if ours is None:
        return text
    theirs = results.measured(WORKLOADS[bar.row] if bar.row else workload)
    passed = bar.passed(workload.better, theirs, ours)
    return text if passed is None else f"{text} {'✓' if passed else '✗'}"


def _target(bar: Bar) -> str:
    if bar.number is not None:
        return number(bar.number)
    times = "" if bar.times == 1 else f"{bar.times:.2g} × "
    row = f" at {WORKLOADS[bar.row].title}" if bar.row else ""
    return times + ", ".join(KINDS[peer].title for peer in bar.peers) + row


def number(value: float) -> str:
    """Return a number with about three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 10 else f"{value:.2f}"

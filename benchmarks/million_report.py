"""The table of `benchmarks.million`, and its chart of costs over the height as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Final

from benchmarks.million_rows import ROWS
from benchmarks.million_stages import Stage
from benchmarks.report import NOTHING, number

BAR: Final = 1.5
"""Limit of a cost, in proportion to the first stage."""
TITLES: Final = {
    "start": "start on existing data",
    **{row.name: row.title for row in ROWS},
}
_WIDTH, _HEIGHT, _LEFT, _TOP, _PLOT = 900, 460, 50, 30, 480
"""Pixels: the picture, the corner of the plot, and its width."""
_MOST: Final = 2.0
"""Ratio at the upper end of the chart."""
_COLOURS: Final = (
    "#1b6ca8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a65", "#566573", "#d35480", "#2e4053",
)  # fmt: skip

Measured = Sequence[tuple[Stage, Mapping[str, "Cell"]]]
"""The stages with their cells, by the name of the row."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A measured cost."""

    value: float | None
    """In the unit; None: the row failed."""
    processor: float | None
    """Seconds of the server's processor time for an answer, if answers were counted."""
    unit: str
    failure: str = ""


def marks(*, production: bool) -> tuple[str, str]:
    """Return the lines of a document between which the table of a profile is put."""
    name = "million in production" if production else "million"
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def ratio(first: Cell | None, last: Cell | None) -> float | None:
    """Return how many times as much the last cell costs as the first, or None if one was not measured.

    Processor times are compared if both cells have one, because other work on the machine matters less there; else values.
    """
    if first is None or last is None:
        return None
    if first.processor and last.processor:
        return last.processor / first.processor
    return last.value / first.value if first.value and last.value is not None else None


def markdown(measured: Measured, machine: Sequence[str], *, production: bool) -> str:
    """Return the table: values of each stage, then the ratio of the last to the first with its bar."""
    stages = [stage for stage, _ in measured]
    header = [
        "Cost",
        "Unit",
        *(f"{stage.blocks:,} blocks" for stage in stages),
        f"processor, {stages[0].blocks:,}",
        f"processor, {stages[-1].blocks:,}",
        "ratio",
        f"≤ {BAR}",
    ]
    profile = "production profile, PostgreSQL" if production else "embedded profile, SQLite"
    lines = [
        *(f"- {line}" for line in machine),
        f"- {profile}; "
        + "; ".join(
            f"{stage.blocks:,} blocks: {stage.transactions:,} transactions, {stage.accounts:,} accounts, "
            f"{stage.bytes / 2**20:,.0f} MiB, seeded in {stage.processor:,.0f} s of processor time"
            for stage in stages
        ),
        "",
        f"| {' | '.join(header)} |",
        f"| {' | '.join(['---', '---', *['---:'] * (len(header) - 3), ':---:'])} |",
        *_rows(measured),
        "",
        "The ratio is that of the processor time of an answer, in milliseconds, where both have one, else that of the values.",
        *_failures(measured),
    ]
    return "\n".join(lines) + "\n"


def _rows(measured: Measured) -> Iterator[str]:
    first, last = measured[0][1], measured[-1][1]
    for name, title in TITLES.items():
        cells = [cells.get(name) for _, cells in measured]
        if not any(cells):
            continue
        found = ratio(first.get(name), last.get(name))
        yield "| {} |".format(
            " | ".join(
                [
                    title,
                    next(cell.unit for cell in cells if cell),
                    *(_shown(None if cell is None else cell.value) for cell in cells),
                    _processor(first.get(name)),
                    _processor(last.get(name)),
                    NOTHING if found is None else f"{found:.2f}",
                    NOTHING if found is None else "✓" if found <= BAR else "✗",
                ]
            )
        )


def _shown(value: float | None) -> str:
    return NOTHING if value is None else number(value)


def _processor(cell: Cell | None) -> str:
    return _shown(None if cell is None or cell.processor is None else 1e3 * cell.processor)


def _failures(measured: Measured) -> Iterator[str]:
    for stage, cells in measured:
        for name, cell in cells.items():
            if cell.failure:
                yield f"- {TITLES[name]}, {stage.blocks:,} blocks: {cell.failure}"


def chart(measured: Measured) -> str:
    """Return an SVG: the costs of some rows at each height, in proportion to the first stage."""
    charted = [row for row in ROWS if row.is_charted]
    bottom = _HEIGHT - 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18">Cost in proportion to {measured[0][0].blocks:,} blocks, over the height</text>',
    ]
    for step in range(5):
        level = _MOST * step / 4
        y = _y(level)
        dashes = ' stroke-dasharray="6 4"' if level == BAR else ""
        parts += [
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _PLOT}" y2="{y:.1f}" stroke="#bbb"{dashes}/>',
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{level:g}</text>',
        ]
    heights = [stage.blocks for stage, _ in measured]
    parts += [
        f'<text x="{_x(height, heights):.1f}" y="{bottom + 18}" text-anchor="middle">{height:,}</text>'
        for height in heights
    ]
    for place, row in enumerate(charted):
        points = [
            f"{_x(stage.blocks, heights):.1f},{_y(found):.1f}"
            for stage, cells in measured
            if (found := ratio(measured[0][1].get(row.name), cells.get(row.name))) is not None
        ]
        colour, y = _COLOURS[place % len(_COLOURS)], _TOP + 20 + 20 * place
        parts += [
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<line x1="{_LEFT + _PLOT + 20}" y1="{y}" x2="{_LEFT + _PLOT + 40}" y2="{y}" stroke="{colour}" '
            'stroke-width="2"/>',
            f'<text x="{_LEFT + _PLOT + 46}" y="{y + 4}">{escape(row.title)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(height: int, heights: Sequence[int]) -> float:
    low, high = log10(heights[0]), log10(heights[-1])
    return _LEFT + _PLOT * (log10(height) - low) / ((high - low) or 1)


def _y(level: float) -> float:
    bottom = _HEIGHT - 40
    return bottom - (bottom - _TOP) * min(level, _MOST) / _MOST

"""The table and the chart of costs over the height of a chain."""

import re
from xml.etree import ElementTree as ET

import pytest

from benchmarks.million_report import TITLES, Cell, chart, markdown, ratio
from benchmarks.million_rows import ROWS, SeededChain
from benchmarks.million_stages import Stage

MACHINE = ["Measured today", "2 cores"]
SMALL = Stage(1_000, 20_000, 20_000, 9.0, 8.0, 2**24)
LARGE = Stage(100_000, 2_000_000, 1_000_000, 900.0, 700.0, 2**31)


def measured(small: Cell, large: Cell) -> list[tuple[Stage, dict[str, Cell]]]:
    return [(SMALL, {"balance": small}), (LARGE, {"balance": large})]


def test_costs_are_compared_by_processor_time_if_it_is_known() -> None:
    first, last = Cell(4.0, 0.001, "ms"), Cell(40.0, 0.0012, "ms")
    assert ratio(first, last) == pytest.approx(1.2)
    assert ratio(Cell(4.0, None, "MiB"), Cell(10.0, None, "MiB")) == 2.5
    assert ratio(first, Cell(None, None, "ms", "WrongAnswer")) is None
    assert ratio(None, last) is None


@pytest.mark.parametrize(("processor", "sign"), [(0.0015, "✓"), (0.0016, "✗")])
def test_a_row_has_values_ratio_and_bar(processor: float, sign: str) -> None:
    table = markdown(
        measured(Cell(0.5, 0.001, "ms"), Cell(0.7, processor, "ms")), MACHINE, production=False
    )
    (row,) = [line for line in table.splitlines() if line.startswith("| eth_getBalance, other")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:4] == ["ms", "0.50", "0.70"]
    assert cells[-2:] == [f"{processor / 0.001:.2f}", sign]
    assert "2,048 MiB" in table
    assert all(line in table for line in MACHINE)


def test_failures_are_below_the_table() -> None:
    failed = Cell(None, None, "ms", "WrongAnswer: 0x")
    table = markdown(measured(Cell(0.5, 0.001, "ms"), failed), MACHINE, production=True)
    assert "- eth_getBalance, other accounts, 100,000 blocks: WrongAnswer: 0x" in table


def test_the_chart_has_a_line_for_each_row_from_one_on() -> None:
    picture = ET.fromstring(chart(measured(Cell(1.0, 0.001, "ms"), Cell(1.0, 0.003, "ms"))))
    lines = picture.findall("{*}polyline")
    assert len(lines) == len([row for row in ROWS if row.is_charted])
    points = [re.findall(r"[\d.]+", line.attrib["points"]) for line in lines]
    (drawn,) = [one for one in points if one]
    left, base, right, top = map(float, drawn)
    assert left < right
    assert top < base  # costs above the upper end are drawn there


def test_titles_and_names_of_rows_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len(set(TITLES.values())) == len(TITLES)


def test_accounts_and_heights_are_drawn_from_the_whole_history() -> None:
    chain = SeededChain.__new__(SeededChain)
    chain.stage = LARGE
    heights = [int(height, 16) for height in chain.heights(1_000)]
    assert 2 <= min(heights) < 1_000
    assert 99_000 < max(heights) < 100_000
    assert len(set(chain.recipients(1_000))) > 990
    assert all(re.fullmatch(r"0x[0-9a-f]{40}", who) for who in chain.recipients(10))

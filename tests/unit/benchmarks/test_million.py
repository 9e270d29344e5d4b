"""The table and the chart of costs over the height of a chain."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.million_report import TITLES, Cell, chart, markdown, ratio
from benchmarks.million_rows import OLD_FEES, REACH, ROWS, SLOWER, SeededChain
from benchmarks.million_stages import FRESH, Stage, seeded

MACHINE = ["Measured today", "2 cores"]
SMALL = Stage(1_000, 20_000, 20_000, 8.0, 2**24)
LARGE = Stage(100_000, 2_000_000, 1_000_000, 700.0, 2**31)


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


@pytest.mark.parametrize("stage", [SMALL, LARGE], ids=["fresh", "last"])
def test_no_fee_history_is_cut_off_at_genesis(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    monkeypatch.setattr("benchmarks.million_rows.ask_each", lambda _, bodies: asked.extend(bodies))
    chain = SeededChain.__new__(SeededChain)
    chain.stage = stage
    (row,) = [row for row in ROWS if row.name == "old-fee-history"]
    row.measure(chain)
    params = [json.loads(request)["params"] for request in asked]
    assert len({height for _, height, _ in params}) == SLOWER
    assert {int(count, 16) for count, _, _ in params} == {OLD_FEES}
    assert OLD_FEES == REACH // 2
    assert all(OLD_FEES <= int(height, 16) < stage.blocks for _, height, _ in params)


def test_the_size_of_a_stage_is_that_with_its_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_command: str, *options: str, **settings: str) -> str:
        with Path(settings["NODE_DATA_DIR"], "node.sqlite3").open("ab") as database:
            database.write(bytes(100 if "--indexes" in options else 1_000))
        return ""

    monkeypatch.setattr("benchmarks.million_stages.run_command", run)
    for _ in range(2):  # the second time nothing is seeded
        (data, stage), (_, last) = seeded(tmp_path, 80)
        assert data == tmp_path / str(FRESH) / "data"
        assert (stage.blocks, stage.transactions, stage.accounts) == (1_000, 20_000, 12_500)
        assert stage.bytes == 1_100
        assert last.blocks == 1_250
        assert last.bytes == 2_200

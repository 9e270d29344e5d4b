"""Terminal output of names and values in lines."""

import re

import pytest
from rich.table import Table

from nodeproject.management.terminal import PIPE_WIDTH, console_for_tables, print_values

KEY = "0x" + "ab" * 32


def test_values_are_aligned_in_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_values("Title", {"a": "1", "long": "2"})
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("Title ")
    assert lines == ["  a     1", "  long  2"]


def test_no_values_print_no_title(capsys: pytest.CaptureFixture[str]) -> None:
    print_values("Title", {})
    assert capsys.readouterr().out == ""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 50 columns in the place of the output."""
    monkeypatch.setattr("nodeproject.management.terminal.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_long_values_continue_in_their_column(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_values("Title", {"key": KEY, "b": "2"})

    _, first, second, last = (line.rstrip() for line in printed(capsys))
    assert len(first) <= 50
    assert first.startswith("  key  0xab")
    assert second.startswith("       ")
    assert first[7:] + second[7:] == KEY
    assert last == "  b    2"


def test_output_without_terminal_has_one_line_per_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_values("Title", {"key": KEY * 4})

    assert printed(capsys)[1:] == [f"  key  {KEY * 4}"]


def table() -> Table:
    made = Table("A", "B")
    made.add_row(KEY, KEY)
    return made


@pytest.mark.usefixtures("terminal")
def test_a_table_is_as_wide_as_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console_for_tables().print(table())

    assert max(map(len, printed(capsys))) <= 50


def test_a_table_for_programs_has_each_value_on_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console_for_tables().print(table())

    assert any(line.count(KEY) == 2 for line in printed(capsys))
    assert 2 * len(KEY) < PIPE_WIDTH

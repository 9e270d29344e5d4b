"""Terminal output of names and values in lines."""

import pytest

from nodeproject.management.terminal import print_values


def test_values_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    print_values("Title", {"a": "1", "long": "2"})
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("Title ")
    assert lines == ["  a     1", "  long  2"]


def test_where_there_are_none_there_is_no_title(capsys: pytest.CaptureFixture[str]) -> None:
    print_values("Title", {})
    assert capsys.readouterr().out == ""

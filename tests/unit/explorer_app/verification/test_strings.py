"""Strings of a JSON text are counted without being decoded."""

import json
from typing import Any

import pytest

from explorer_app.verification import counting
from explorer_app.verification.counting import has_more_strings


@pytest.mark.parametrize("piece", [1, 2, 7, 1024])
@pytest.mark.parametrize(
    ("value", "strings"),
    [
        ({}, 0),
        ({"a": "", "b": {"c": ["d", 1, None]}}, 5),
        (['"', '""', 'a"b', '\\"', ",[{", "\n"], 6),
    ],
)
def test_what_is_in_a_string_is_none(
    value: Any, strings: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_PIECE", piece)
    text = json.dumps(value)
    for form in (text, text.encode()):
        assert not has_more_strings(form, strings)
        assert has_more_strings(form, strings - 1)


def test_a_text_has_at_most_twice_as_many_as_it_may() -> None:
    text = json.dumps(["\\"] * 10)

    assert not has_more_strings(text, 5)
    assert has_more_strings(text, 4)

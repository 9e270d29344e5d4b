"""JSON texts are checked in short steps, so that other threads can run in between."""

import json
from typing import Any

import pytest

from primitives import json_limits
from primitives.json_limits import has_more_strings

STEP = 64 * 4096
"""The most bytes that one match of a pattern covers; no other thread can run meanwhile."""


@pytest.mark.parametrize("text", [b"a", b"\\n", b"a\\n"])
def test_long_string_is_scanned_in_pieces(text: bytes) -> None:
    string = text * 1_000_000

    piece = json_limits._STRING_PART.match(string)

    assert piece is not None
    assert 0 < piece.end() <= STEP
    assert json_limits.end_of_string(string + b'" ', 0) == len(string) + 1
    assert json_limits.end_of_string(string, 0) == len(string)


@pytest.mark.parametrize("piece", [1, 2, 7, 1024])
@pytest.mark.parametrize(
    ("value", "strings"),
    [
        ({}, 0),
        ({"a": "", "b": {"c": ["d", 1, None]}}, 5),
        (['"', '""', 'a"b', '\\"', ",[{", "\n"], 6),
    ],
)
def test_quotes_inside_strings_are_not_counted(
    value: Any, strings: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_limits, "_PIECE", piece)
    text = json.dumps(value)
    for form in (text, text.encode()):
        assert not has_more_strings(form, strings)
        assert has_more_strings(form, strings - 1)


def test_a_text_has_at_most_twice_as_many_as_it_may() -> None:
    text = json.dumps(["\\"] * 10)

    assert not has_more_strings(text, 5)
    assert has_more_strings(text, 4)

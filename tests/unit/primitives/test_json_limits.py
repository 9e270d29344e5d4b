"""JSON texts are checked in short steps, so that other threads can run in between."""

import pytest

from primitives import json_limits

STEP = 64 * 4096
"""The most bytes that one match of a pattern covers; no other thread can run meanwhile."""


@pytest.mark.parametrize("text", [b"a", b"\\n", b"a\\n"])
def test_no_step_goes_over_a_long_string_at_once(text: bytes) -> None:
    string = text * 1_000_000

    piece = json_limits._INSIDE.match(string)

    assert piece is not None
    assert 0 < piece.end() <= STEP
    assert json_limits.end_of_string(string + b'" ', 0) == len(string) + 1
    assert json_limits.end_of_string(string, 0) == len(string)

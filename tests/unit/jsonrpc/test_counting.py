"""Strings are passed over in short steps, whatever is in them."""

import pytest

from jsonrpc import counting

STEP = 64 * 4096
"""Bytes that one call of a pattern goes over at most; nobody else runs meanwhile."""


@pytest.mark.parametrize("text", [b"a", b"\\n", b"a\\n"])
def test_no_step_goes_over_a_long_string_at_once(text: bytes) -> None:
    string = text * 1_000_000

    piece = counting._INSIDE.match(string)

    assert piece is not None
    assert 0 < piece.end() <= STEP
    assert counting.end_of_string(string + b'" ', 0) == len(string) + 1
    assert counting.end_of_string(string, 0) == len(string)

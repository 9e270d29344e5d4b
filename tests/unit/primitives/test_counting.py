"""Numbers with nouns."""

import pytest

from primitives.counting import counted


@pytest.mark.parametrize(
    ("count", "noun", "plural", "text"),
    [
        (0, "log", "", "0 logs"),
        (1, "log", "", "1 log"),
        (2, "log", "", "2 logs"),
        (1_000, "address", "addresses", "1,000 addresses"),
        (1, "address", "addresses", "1 address"),
    ],
)
def test_only_one_is_singular(count: int, noun: str, plural: str, text: str) -> None:
    assert counted(count, noun, plural) == text

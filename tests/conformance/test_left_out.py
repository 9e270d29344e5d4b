"""Every case of the vectors is used by a test, or listed here with the reason why it is not."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.pchain_vectors import VECTORS, chosen_cases

TESTS = Path(__file__).parents[1]
PLACES = ("conformance", "integration", "unit")
HASH_INPUT = "its field `id` is the input of the hash that is a validation ID; tests/vectors/etna has such IDs too"
ELSEWHERE = (
    "`primitives/test_warp.py` runs the file of tests/vectors/etna, which has the same cases"
)
LEFT_OUT = {
    "2ZMmnMB44qSbARvY4qEMzmNWckkcvWAHKs4iMwHTQsuUmsZeed": HASH_INPUT,
    "warp_signatures/002": ELSEWHERE,
    "warp_signatures/004": ELSEWHERE,
    "warp_signatures/007": ELSEWHERE,
    "warp_signatures/008": ELSEWHERE,
    "warp_signatures/010": ELSEWHERE,
}
"""Cases that no test uses."""


def asked_in(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the file and the values in each call of `cases` in the source of a test."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "cases"
        ):
            # Other functions `cases` return a number of examples, or read files of other chains.
            match node.args:
                case [ast.Constant(value=str(name))] if (VECTORS / f"{name}.json").exists():
                    pass
                case _:
                    continue
            yield (
                name,
                {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords},
            )


def asked_for() -> set[str]:
    """Return the IDs of all cases that tests use."""
    found: set[str] = set()
    for place in PLACES:
        for path in (TESTS / place).rglob("test_*.py"):
            for name, having in asked_in(path.read_text()):
                found |= {case["id"] for case in chosen_cases(name, **having)}
    return found


def test_every_vector_is_tested_or_excluded_with_a_reason() -> None:
    names = [path.stem for path in VECTORS.glob("*.json")]
    every = {case["id"] for name in names for case in chosen_cases(name)}

    assert len(names) > 25
    assert every - asked_for() == LEFT_OUT.keys()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("cases('gas_price')", [("gas_price", {})]),
        ("cases('cb58', error=..., prefix=None)", [("cb58", {"error": ..., "prefix": None})]),
        ("settings(max_examples=cases(30))", []),
        ("'cases(\"gas_price\")'", []),
    ],
)
def test_only_calls_count_as_asking(
    source: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert list(asked_in(source)) == expected

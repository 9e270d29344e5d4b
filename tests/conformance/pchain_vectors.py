"""The golden vectors of the P-Chain (tests/vectors/pchain, whose README describes the files)."""

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[1] / "vectors" / "pchain"


def cases(name: str, **having: Any) -> list[Any]:
    """Return the cases of a file with these values, as parameters named by their ids."""
    chosen = chosen_cases(name, **having)
    assert chosen, f"no cases of {name} have {having}"
    return [pytest.param(case, id=f"{case['id']} {case['name']}") for case in chosen]


def chosen_cases(name: str, **having: Any) -> list[dict[str, Any]]:
    """Return the cases of a file with these values.

    A value of None selects cases where the field is missing or null, `...` cases where it is present.
    """
    document = json.loads((VECTORS / f"{name}.json").read_text())
    return [
        case
        for case in document["cases"]
        if all(_matches(case.get(field), value) for field, value in having.items())
    ]


def _matches(found: Any, wanted: Any) -> bool:
    return found is not None if wanted is ... else found == wanted

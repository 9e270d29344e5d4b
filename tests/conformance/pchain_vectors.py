"""The golden vectors of the P-Chain (tests/vectors/pchain; its README says what each file holds)."""

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[1] / "vectors" / "pchain"


def cases(name: str, **having: Any) -> list[Any]:
    """Return the cases of a file as parameters named by their ids; only those having these values."""
    chosen = chosen_cases(name, **having)
    assert chosen, f"no cases of {name} have {having}"
    return [pytest.param(case, id=f"{case['id']} {case['name']}") for case in chosen]


def chosen_cases(name: str, **having: Any) -> list[dict[str, Any]]:
    """Return the cases of a file that have these values.

    A value of None stands for a field that is not there (or is null), `...` for one that is.
    """
    document = json.loads((VECTORS / f"{name}.json").read_text())
    return [
        case
        for case in document["cases"]
        if all(_matches(case.get(field), value) for field, value in having.items())
    ]


def _matches(found: Any, wanted: Any) -> bool:
    return found is not None if wanted is ... else found == wanted

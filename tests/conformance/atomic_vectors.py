"""The golden vectors of transfers between chains (tests/vectors/atomic, whose README describes the files)."""

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[1] / "vectors" / "atomic"


def cases(name: str, **having: Any) -> list[Any]:
    """Return the cases of a file with these values, as parameters named by their ids."""
    document = json.loads((VECTORS / f"{name}.json").read_text())
    chosen = [
        case
        for case in document["cases"]
        if all(case.get(field) == value for field, value in having.items())
    ]
    assert chosen, f"no cases of {name} have {having}"
    return [pytest.param(case, id=f"{case['id']} {case['name']}") for case in chosen]

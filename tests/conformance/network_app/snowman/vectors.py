"""The golden vectors of Snowman (tests/vectors/snowman, whose README describes the files)."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from network_app.snowman.parameters import SnowParameters
from primitives.ids import ID

VECTORS = Path(__file__).parents[3] / "vectors" / "snowman"


def snowman_cases(name: str, wanted: Callable[[Any], bool] = bool) -> list[Any]:
    """Return the selected cases of a file as parameters named by their ids."""
    document = json.loads((VECTORS / f"{name}.json").read_text())
    chosen = [
        pytest.param(case, id=f"{case['id']} {case['name']}")
        for case in document["cases"]
        if wanted(case)
    ]
    assert chosen, f"no cases of {name}"
    return chosen


def parameters(found: Mapping[str, int]) -> SnowParameters:
    """Return the parameters of a case; missing ones have no effect in it."""
    return SnowParameters(
        k=found.get("k", found["alphaConfidence"]),
        alpha_preference=found["alphaPreference"],
        alpha_confidence=found["alphaConfidence"],
        beta=found.get("beta", 1),
        concurrent_repolls=found.get("concurrentRepolls", 1),
        optimal_processing=found.get("optimalProcessing", 10),
        max_outstanding_items=found.get("maxOutstandingItems", 256),
        max_item_processing_time=found.get("maxItemProcessingTime", 30 * 10**9) / 10**9,
    )


def an_id(text: str) -> ID:
    return ID(bytes.fromhex(text))

"""Warnings at the start about settings with which nothing would be decided."""

from typing import Any

import pytest

from nodeproject.startup.checks import check_voting
from tests.builders.node_settings import updated

pytestmark = pytest.mark.sqlite_only


def said(settings: Any, **values: Any) -> list[tuple[str | None, str]]:
    settings.NODE = updated(settings.NODE, **values)
    return [(item.id, item.msg) for item in check_voting()]


@pytest.mark.usefixtures("node_settings")
def test_sole_producer_gets_no_warning(settings: Any) -> None:
    assert said(settings, mining="manual", network=False, snow_sample_size=99) == []


@pytest.mark.usefixtures("node_settings")
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"mining": "interval", "block_interval": 3.0},
        {"profile": "production", "network": False},
        {"snow_sample_size": 1, "snow_preference_quorum_size": 1, "snow_confidence_quorum_size": 1},
    ],
)
def test_valid_voting_settings_get_no_warning(settings: Any, values: dict[str, Any]) -> None:
    assert said(settings, consensus="snowman", **values) == []


@pytest.mark.usefixtures("node_settings")
@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"mining": "manual"}, "node.E007", "NODE_MINING is manual, but the validators vote"),
        (
            {"mining": "interval", "block_interval": 0.5},
            "node.E008",
            "NODE_BLOCK_INTERVAL is 0.5, which is not a whole number of seconds",
        ),
        ({"producer": "NodeID-a"}, "node.E009", "NODE_PRODUCER names a node, but"),
        ({"network": False, "profile": "embedded"}, "node.E010", "NODE_NETWORK is false, but"),
        (
            {"snow_sample_size": 10},
            "node.E011",
            "parameters invalid: k = 10, alphaConfidence = 15: fails the condition that: "
            "alphaConfidence <= k",
        ),
        # Correct where the default is 15, and wrong where it is 13.
        (
            {"snow_preference_quorum_size": 14},
            "node.E011",
            "parameters invalid: alphaPreference = 14, alphaConfidence = 13: fails the condition",
        ),
    ],
)
def test_settings_that_prevent_decisions_are_reported(
    settings: Any, values: dict[str, Any], error: str, words: str
) -> None:
    ((found, text),) = said(settings, consensus="snowman", **values)
    assert found == error
    assert text.startswith(words)

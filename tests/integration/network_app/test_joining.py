"""Whether a node that follows others asks them for the genesis."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from network_app import joining
from primitives.networks import LOCAL

FOLLOWING = {"bootstrap": ("127.0.0.1:1",), "network_id": LOCAL}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes that peers would have been asked."""
    found: list[str] = []

    def note(work: Any) -> None:
        work.close()
        found.append("asked")
        raise joining.NobodyAnswers

    monkeypatch.setattr(asyncio, "run", note)
    return found


def test_a_genesis_that_comes_with_the_node_is_not_asked_for(
    settings: Any, asked: list[str], tmp_path: Any
) -> None:
    settings.NODE = replace(
        settings.NODE, parameters="avalanchego", data_dir=str(tmp_path), **FOLLOWING
    )
    joining.fetch_genesis()
    assert asked == []


@pytest.mark.parametrize("other", [{}, {"parameters": "avalanchego", "network_id": 777}])
def test_any_other_is(
    settings: Any, asked: list[str], tmp_path: Any, other: dict[str, Any]
) -> None:
    settings.NODE = replace(settings.NODE, data_dir=str(tmp_path), **(FOLLOWING | other))
    with pytest.raises(joining.NobodyAnswers):
        joining.fetch_genesis()
    assert asked == ["asked"]

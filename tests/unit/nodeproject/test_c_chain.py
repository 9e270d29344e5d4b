"""Where the C-Chain of a network of avalanchego nodes comes from."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cchain_app.genesis import load_genesis
from cchain_app.settings import EvmSettings
from nodeproject.startup.c_chain import genesis_of_network
from platform_app.genesis.building import reference_local_network
from platform_app.genesis.config import format_genesis_config
from primitives.settings import CommonSettings
from tests.builders.coreth import local_genesis

MEMBER = {"parameters": "avalanchego", "consensus": "snowman"}


def found(directory: Path, genesis: str = "", **common: Any) -> bytes | None:
    node = replace(CommonSettings(), **{**MEMBER, **common})
    read = genesis_of_network(node, replace(EvmSettings(), genesis=genesis), directory / "kept")
    return None if read is None else read()


def test_the_local_network_has_its_own_c_chain(tmp_path: Path) -> None:
    text = found(tmp_path)
    assert text is not None
    assert json.loads(text) == json.loads(local_genesis())


def test_another_network_s_file_contains_it(tmp_path: Path) -> None:
    path = tmp_path / "platform.json"
    path.write_text(format_genesis_config(reference_local_network(0)))
    text = found(tmp_path, platform_genesis=str(path))
    assert text is not None
    assert load_genesis(text).is_of_coreth


def test_a_file_that_cannot_be_read_or_is_of_another_form_is_left_to_the_start(
    tmp_path: Path,
) -> None:
    assert found(tmp_path, platform_genesis=str(tmp_path / "missing.json")) is None
    path = tmp_path / "platform.json"
    path.write_text(
        format_genesis_config(replace(reference_local_network(0), c_chain_genesis="{}"))
    )
    assert found(tmp_path, platform_genesis=str(path)) is None


@pytest.mark.parametrize(
    "common", [{"parameters": "specification"}, {"consensus": "sole"}, {"network_id": 99}]
)
def test_other_networks_have_a_c_chain_of_their_own(tmp_path: Path, common: Any) -> None:
    assert found(tmp_path, **common) is None


def test_what_the_operator_chose_or_began_with_comes_first(tmp_path: Path) -> None:
    assert found(tmp_path, genesis="/some/genesis.json") is None
    (tmp_path / "kept").write_text("{}")
    assert found(tmp_path) is None

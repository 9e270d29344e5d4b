"""A genesis received from other nodes is verified before it is stored."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cchain_app.genesis import built_in_text
from network_app import joining
from network_app.joining import check_genesis
from network_app.sync.errors import UnusableGenesis
from network_app.wire.node_pb2 import GenesisAnswer
from platform_app.genesis.building import build_genesis, read_genesis_config
from primitives import whole_files
from tests.builders import genesis
from tests.builders.modules import module_with

CHAIN_ID = json.loads(built_in_text("local"))["config"]["chainId"]


@pytest.fixture(scope="module")
def told() -> GenesisAnswer:
    """The answer of an honest node of the builder's network."""
    config = read_genesis_config(json.dumps(genesis.document()).encode())
    return GenesisAnswer(platform=build_genesis(config), cchain=built_in_text("local"))


@pytest.mark.parametrize("chain_id", [None, CHAIN_ID])
def test_a_genesis_of_this_network_is_taken(told: GenesisAnswer, chain_id: int | None) -> None:
    check_genesis(told, genesis.NETWORK_ID, chain_id)


@pytest.mark.parametrize(
    ("changes", "network_id", "chain_id", "words"),
    [
        ({"platform": b"garbage"}, genesis.NETWORK_ID, None, "."),
        ({"platform": b""}, genesis.NETWORK_ID, None, "."),
        ({"cchain": b"garbage"}, genesis.NETWORK_ID, None, "not a JSON document"),
        ({"cchain": b"{}"}, genesis.NETWORK_ID, None, "config: missing"),
        ({}, 777, None, f"^it is of network {genesis.NETWORK_ID}, not 777$"),
        ({}, genesis.NETWORK_ID, 778, f"^its C-Chain has chain ID {CHAIN_ID}, not 778$"),
    ],
)
def test_malformed_or_foreign_genesis_is_refused(
    told: GenesisAnswer,
    changes: dict[str, bytes],
    network_id: int,
    chain_id: int | None,
    words: str,
) -> None:
    answer = GenesisAnswer(platform=told.platform, cchain=told.cchain)
    for name, value in changes.items():
        setattr(answer, name, value)
    with pytest.raises(UnusableGenesis, match=words):
        check_genesis(answer, network_id, chain_id)


def test_named_producer_must_be_a_node_id(told: GenesisAnswer) -> None:
    for name in ("", "all", "NodeID-111111111111111111116DBWJs"):
        answer = GenesisAnswer(platform=told.platform, cchain=told.cchain, producer=name)
        check_genesis(answer, genesis.NETWORK_ID, None)
    answer = GenesisAnswer(platform=told.platform, cchain=told.cchain, producer="alice")
    with pytest.raises(UnusableGenesis, match=r"^it names 'alice' for a producer$"):
        check_genesis(answer, genesis.NETWORK_ID, None)


def test_files_appear_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []

    def noted(_descriptor: int) -> None:
        seen.append({path.name for path in tmp_path.glob("genesis/*")})

    monkeypatch.setattr(whole_files, "os", module_with(os, fsync=noted))
    files: dict[str, Any] = {"platform.bin": b"p", "cchain.json": b"c"}
    joining._write(tmp_path / "genesis", files)
    assert not any(seen[:-1])
    assert seen[-1] == set(files)
    assert {path.name: path.read_bytes() for path in (tmp_path / "genesis").iterdir()} == files


def test_failed_write_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(whole_files, "os", module_with(os, fsync=fail))
        with pytest.raises(OSError, match="No space left"):
            joining._write(tmp_path / "genesis", {"platform.bin": b"p"})
    assert list(tmp_path.iterdir()) == []

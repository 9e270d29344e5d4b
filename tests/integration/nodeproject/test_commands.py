"""The command line: its output for the operator."""

import inspect
import re
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from cchain_app.evm import select
from cchain_app.selectors import blocks
from cchain_app.services.calls import index_calls
from explorer_app.services.tokens import index_tokens
from nodeproject.apps import this_node
from nodeproject.startup import checks
from nodeproject.startup.checks import (
    check_block_interval,
    check_database_pool,
    check_engine,
    check_genesis,
    check_helicon,
    check_identity,
    check_mixed_mining,
    check_ports,
)
from nodeproject.startup.identity import make_identity
from platform_app.apps import platform_chain
from tests.builders.node_settings import updated
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain


def said(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def test_a_block_is_built_manually(chain: Chain) -> None:
    assert said("produce_block") == "The mempool has no executable transactions.\n"
    assert said("produce_block", "--empty") == "Block 1 with 0 transactions.\n"

    chain.send(chain.make())

    assert said("produce_block") == "Block 2 with 1 transaction.\n"


def test_produce_block_accepts_all_names_of_a_chain(chain: Chain, pchain: PChain) -> None:
    for height, name in enumerate(("C", "evm", str(pchain.network.c_chain_id)), 1):
        made = said("produce_block", "--empty", f"--chain={name}")
        assert made == f"Block {height} with 0 transactions.\n"

    for name in ("P", "X", "c", str(pchain.network.x_chain_id)):
        with pytest.raises(CommandError, match=f"^No EVM chain of this node is called {name}\\.$"):
            said("produce_block", "--empty", f"--chain={name}")


@pytest.mark.node_settings(http_port=1)
def test_status_of_a_stopped_node_shows_head_and_pool(
    chain: Chain, pchain: PChain, capsys: pytest.CaptureFixture[str]
) -> None:
    pchain.do(pchain.make())
    _, block = chain.do()
    chain.send(chain.make())

    call_command("node_status")

    shown = capsys.readouterr().out
    assert f"1  0x{block.hash.hex()}" in shown
    assert "1 pending, 0 queued" in shown
    assert f"C, evm, {pchain.network.c_chain_id}" in shown
    assert "P, platform, 11111111111111111111111111111111LpoYY" in shown
    assert str(platform_chain().tip().block_id) in shown
    assert "1, 2,000,000 AVAX staked" in shown
    assert "does not answer" in shown
    assert "no rows: NODE_TRACE_INDEX was never on" in shown
    assert "empty: NODE_TOKEN_INDEX was never enabled" in shown
    index_calls(chain.evm, seconds=60)
    index_tokens(chain.evm, seconds=60, now=0)
    call_command("node_status")
    assert capsys.readouterr().out.count("rows up to block 1 of 1") == 2


@pytest.mark.usefixtures("db", "node_settings")
def test_status_without_a_chain_explains_how_to_start() -> None:
    with pytest.raises(
        CommandError, match="start it with `nunatak`, in a checkout with `make run`"
    ):
        call_command("node_status")


def test_settings_are_printed_as_a_table() -> None:
    shown = said("node_settings")
    assert (
        "| `NODE_HTTP_PORT` | `9650` | Port of HTTP and WebSocket; 0: one that is free. |" in shown
    )
    assert "| `--host`, `--hostname`, `--http-host` | `NODE_HTTP_HOST` |  |" in shown


@pytest.mark.node_settings(genesis="/nowhere/genesis.json")
@pytest.mark.usefixtures("node_settings")
def test_missing_genesis_file_fails_the_check() -> None:
    (error,) = check_genesis()

    assert error.id == "node.E001"
    assert "NODE_GENESIS" in (error.hint or "")


@pytest.mark.node_settings(network_id=1, chain_id=5)
@pytest.mark.usefixtures("node_settings")
def test_public_network_has_a_fixed_chain_id() -> None:
    (error,) = check_genesis()

    assert (error.id, error.msg) == (
        "node.E002",
        "Network 1 has chain ID 96369, but the settings give 5.",
    )


@pytest.mark.parametrize("network_id", [1, 5, 12345])
def test_the_networks_own_files_pass(
    db: None, network_id: int, node_settings: object, settings: object
) -> None:
    settings.NODE = updated(settings.NODE, network_id=network_id)  # type: ignore[attr-defined]

    assert check_genesis() == []


def test_check_ignores_an_unavailable_database(
    db: None, node_settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr("cchain_app.store.chain.first_block", away)

    assert check_genesis() == []


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"profile": "embedded"}, True),
        ({"profile": "production"}, False),
        ({"profile": "embedded", "consensus": "snowman"}, False),
    ],
)
def test_mixed_mining_needs_one_process_as_sole_producer(
    node_settings: Any, settings: Any, changes: dict[str, Any], *, allowed: bool
) -> None:
    settings.NODE = updated(settings.NODE, mining="mixed", **changes)

    assert [error.id for error in check_mixed_mining()] == ([] if allowed else ["node.E018"])


@pytest.mark.node_settings(http_port=0, staking_port=0)
@pytest.mark.usefixtures("node_settings")
def test_free_ports_for_http_and_peers_are_two() -> None:
    assert check_ports() == []


@pytest.mark.node_settings(http_port=9651)
@pytest.mark.usefixtures("node_settings")
def test_http_and_staking_ports_must_differ() -> None:
    (error,) = check_ports()

    assert error.id == "node.E003"


@pytest.mark.node_settings(profile="production", rpc_threads=30, database_pool=32)
@pytest.mark.usefixtures("node_settings")
def test_threads_need_connections() -> None:
    (error,) = check_database_pool()

    assert (error.id, error.hint) == (
        "node.E005",
        "Set NODE_DATABASE_POOL to 42 or more, or NODE_RPC_THREADS lower.",
    )


@pytest.mark.parametrize(
    ("profile", "interval", "errors"),
    [("production", 0.5, 1), ("production", 2.0, 0), ("embedded", 0.5, 0)],
)
def test_the_production_clock_has_whole_seconds(
    profile: str, interval: float, errors: int, node_settings: object, settings: Any
) -> None:
    settings.NODE = updated(
        settings.NODE, mining="interval", profile=profile, block_interval=interval
    )

    assert [error.id for error in check_block_interval()] == ["node.E004"] * errors


@pytest.mark.parametrize(
    ("text", "changes", "warnings"),
    [
        ('{"heliconTime": "2021-01-01T00:00:00Z"}', {}, 1),
        ('{"heliconTime": "2021-01-01T00:00:00Z"}', {"chains": ("P", "X")}, 0),
        ('{"heliconTime": "2021-01-01T00:00:00Z"}', {"parameters": "specification"}, 0),
        ('{"heliconTime": "9000-01-01T00:00:00Z"}', {}, 0),
        ("{}", {}, 0),
    ],
)
@pytest.mark.usefixtures("node_settings")
def test_an_active_helicon_upgrade_is_a_warning(
    text: str, changes: dict[str, Any], warnings: int, settings: Any, tmp_path: Path
) -> None:
    path = tmp_path / "upgrades.json"
    path.write_text(text)
    given = {"upgrades": str(path), "parameters": "avalanchego", **changes}
    settings.NODE = updated(settings.NODE, **given)
    found = check_helicon()
    assert [item.id for item in found] == ["node.W002"] * warnings
    assert all("but not those of the C-Chain" in item.msg for item in found)


@pytest.mark.parametrize(("profile", "warnings"), [("production", 1), ("embedded", 0)])
def test_a_machine_of_the_production_profile_needs_the_nodes_identity(
    profile: str, warnings: int, node_settings: object, settings: Any, tmp_path: Path
) -> None:
    settings.NODE = updated(settings.NODE, profile=profile, data_dir=str(tmp_path))

    assert [item.id for item in check_identity()] == ["node.W001"] * warnings
    make_identity(this_node().settings, 1_700_000_000)
    assert check_identity() == []

    settings.NODE.staking_key_path.unlink()
    found = [other.msg for other in check_identity()]
    assert (
        found == [f"This node's identity cannot be read: {tmp_path}/staking/staker.key."] * warnings
    )


def test_status_before_the_first_start_explains_how_to_start(
    node_settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_tables(_chain: object) -> None:
        raise OperationalError("no such table: cchain_app_block")

    monkeypatch.setattr(blocks, "head", no_tables)

    with pytest.raises(
        CommandError, match="start it with `nunatak`, in a checkout with `make run`"
    ):
        call_command("node_status")


@pytest.mark.node_settings(engine="reference")
@pytest.mark.usefixtures("node_settings")
def test_missing_engine_fails_the_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert check_engine() == []

    monkeypatch.setattr(select, "has_reference", lambda: False)
    (error,) = check_engine()

    assert error.id == "node.E012"
    assert error.msg == (
        "NODE_ENGINE is reference: the reference engine is not installed: pip install 'nunatak[reference]' && pip install "
        "--no-deps ethereum-execution==2.20.0; in a checkout make setup."
    )


def test_each_check_has_message_ids_of_its_own() -> None:
    functions = [value for name, value in vars(checks).items() if name.startswith("check_")]
    ids = Counter(
        found
        for function in functions
        for found in set(re.findall(r'id="(node\.\w+)"', inspect.getsource(function)))
    )
    assert ids["node.W002"] == 1
    assert [name for name, count in ids.items() if count > 1] == []

"""`l1 list` and `l1 show`, and what `l1 create` refuses before it calls the node."""

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from explorer_app.services import l1_creation, l1_deletion
from explorer_app.store import l1_requests as rows
from nodeproject.apps import this_node
from nodeproject.web.l1_tools import NodeL1Tools
from platform_app import models
from primitives.ids import ID
from tests.builders import platform
from tests.integration.explorer_app.l1_chain import L1Chain, make_l1
from tests.integration.platform_app.conftest import PChain

OWNER = "0x" + "0a" * 20


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("l1", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def l1(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> L1Chain:
    """An L1 with two validators and one that was removed."""
    return make_l1(pchain, monkeypatch)


def give_chain(name: str, subnet_id: ID, number: int = 1_000_001) -> None:
    models.Blockchain.objects.create(
        position=number,
        blockchain_id=platform.some_id(f"{name} {number}"),
        subnet_id=subnet_id,
        name=name,
        vm_id=platform.some_id("vm"),
        genesis_size=2,
    )


def test_lists_name_each_l1_with_its_chains(
    l1: L1Chain, capsys: pytest.CaptureFixture[str]
) -> None:
    give_chain("Mine", l1.subnet)

    (listed,) = json.loads(said("list", "--json"))
    said("list")

    shown = capsys.readouterr().out
    assert listed["subnetID"] == str(l1.subnet)
    assert listed["blockchains"] == [
        {"name": "Mine", "blockchainID": str(platform.some_id("Mine 1000001"))}
    ]
    assert listed["managerAddress"] == "0x0feedc0de0000000000000000000000000000000"
    assert str(l1.subnet) in shown
    assert "Mine" in shown


def test_an_l1_is_found_by_its_id_and_by_the_name_of_its_chain(
    l1: L1Chain, capsys: pytest.CaptureFixture[str]
) -> None:
    give_chain("Mine", l1.subnet)
    by_id = json.loads(said("show", str(l1.subnet), "--json"))

    assert json.loads(said("show", "Mine", "--json")) == by_id
    assert [one["weight"] for one in by_id["validators"]] == [1_050, 20]
    assert by_id["validators"][0]["validationID"] == str(l1.own)
    assert by_id["validators"][0]["state"] == "active"
    said("show", "Mine")
    shown = capsys.readouterr().out
    assert str(l1.own) in shown
    assert "1,070, 2 validators" in shown
    assert "0.000001 AVAX a second" in shown


def test_an_unknown_l1_is_refused_with_the_way_to_the_known_ones(pchain: PChain) -> None:
    assert (
        said("list") == "There are no L1s yet: `l1 create NAME` creates one on a local network.\n"
    )
    for text in ("Nobody", str(platform.some_id("nobody"))):
        with pytest.raises(CommandError, match=f"There is no L1 {text}: `l1 list` shows"):
            said("show", text)


@pytest.mark.node_settings(http_port=1)
def test_creation_without_a_running_node_says_that_it_does_not_answer(
    pchain: PChain, tmp_path: Path
) -> None:
    wrong = tmp_path / "genesis.json"
    wrong.write_text("{")

    with pytest.raises(
        CommandError, match=r"The L1 is not complete: no answer to keystore\.create"
    ):
        said("create", "Mine", "--chain-id=9009")
    assert rows.row_of(this_node().database, "Mine") is not None
    with pytest.raises(CommandError, match="The L1 is not complete: the genesis file is not JSON"):
        said("create", "Yours", f"--genesis={wrong}")
    wrong.write_bytes(b"\xff")
    with pytest.raises(CommandError, match="The L1 is not complete: the genesis file is not JSON"):
        said("create", "Yours", f"--genesis={wrong}")
    for given in ("--chain-id=0", "--chain-id=x", f"--chain-id={2**64}"):
        with pytest.raises(CommandError, match="is not a whole number from 1 to "):
            said("create", "Mine", given)
    with pytest.raises(CommandError, match="'0x12' is not an address"):
        said("create", "Mine", "--chain-id=1", "--owner=0x12")
    with pytest.raises(CommandError, match="a validator is NodeID-"):
        said("create", "Mine", "--chain-id=1", "--validator=me")
    own = this_node().platform_chain.node_id
    keys = f"{own}/0x{'07' * 48}/0x{'08' * 96}"
    with pytest.raises(CommandError, match=f"must be another node: {own} is this one"):
        said("create", "Yours", "--chain-id=1", f"--validator={keys}")
    with pytest.raises(CommandError, match=f"the owner must not be 0x{'0' * 40}"):
        said("create", "Yours", "--chain-id=1", f"--owner=0x{'0' * 40}")
    assert rows.row_of(this_node().database, "Yours") is None
    with pytest.raises(CommandError, match="not allowed with argument"):
        said("create", "Mine", "--chain-id=1", "--poa", "--pos")


@pytest.mark.node_settings(http_port=1)
def test_a_creation_that_failed_goes_on_with_the_same_terms_only(pchain: PChain) -> None:
    hint = "The same command continues there, `l1 delete Mine` gives up"
    for _ in range(2):
        with pytest.raises(CommandError, match=hint):
            said("create", "Mine", "--chain-id=9009")
        row = rows.row_of(this_node().database, "Mine")
        assert row is not None
        assert row.has_failed
        assert "no answer to keystore.createUser" in row.error
    with pytest.raises(CommandError, match="was begun with other terms: "):
        said("create", "Mine", "--chain-id=9010")

    assert said("delete", "Mine") == "There was no chain yet. The creation is forgotten.\n"

    assert rows.row_of(this_node().database, "Mine") is None
    with pytest.raises(CommandError, match="There is no L1 Mine"):
        said("delete", "Mine")


@pytest.mark.node_settings(http_port=1)
def test_only_one_process_creates_or_deletes(pchain: PChain) -> None:
    tools = NodeL1Tools(this_node().settings, this_node().platform_chain)
    with tools.alone():
        with pytest.raises(CommandError, match="another L1 is created or deleted now"):
            said("create", "Mine", "--chain-id=9009")
        with pytest.raises(CommandError, match="is not deleted: another L1 is created or deleted"):
            said("delete", "Mine")


def test_only_a_local_network_has_such_l1s(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l1_creation, "LOCAL", 5)
    monkeypatch.setattr(l1_deletion, "LOCAL", 5)
    with pytest.raises(CommandError, match="only a local network has public keys with coins"):
        said("create", "Mine", "--chain-id=9009")
    l1 = rows.L1RequestRow("Mine", "{}", "", datetime.now(UTC))
    rows.add(this_node().database, l1)
    with pytest.raises(CommandError, match="only on a local network a chain can be deleted"):
        said("delete", "Mine")

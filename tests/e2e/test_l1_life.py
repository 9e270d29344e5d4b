"""`l1 create` beside a running node: subnet, chain and conversion; the node validates the L1 while its balance lasts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodeproject.management.commands.l1 import OWNER
from nunatak.rpc import call
from platform_app.config import UNIT
from primitives.ids import ID
from primitives.keys import EWOQ_KEY, format_private_key
from tests.e2e.platform_client import PlatformClient
from tests.servers.node import RunningNode
from tests.servers.process import ServerDied

WARP, BLOCKCHAIN_ID = "0x0200000000000000000000000000000000000005", "0x4213cf78"
"""The warp precompile, and the selector of getBlockchainID()."""
USER = {"username": "alice", "password": "a long and varied passphrase 7"}

Created = tuple[RunningNode, dict[str, str]]


@pytest.fixture(scope="module")
def l1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Created]:
    """A node with an L1, and what `l1 create` printed."""
    with RunningNode(
        tmp_path_factory.mktemp("l1") / "node", env={"NODE_ENGINE": "reference"}
    ) as node:
        node.start()
        yield node, json.loads(node.manage("l1", "create", "Mine", "--chain-id=9009", "--json"))


def shown(node: RunningNode) -> Any:
    return json.loads(node.manage("l1", "show", "Mine", "--json"))


def test_create_makes_an_l1_that_the_node_validates(l1: Created) -> None:
    node, created = l1
    found = shown(node)

    assert found["subnetID"] == created["l1"]
    assert found["blockchains"] == [{"name": "Mine", "blockchainID": created["blockchain"]}]
    (validator,) = found["validators"]
    assert (validator["validationID"], validator["state"]) == (created["validation"], "active")
    with PlatformClient(node.port) as client:
        users = client.call("keystore.listUsers")["users"]
        assert set(users) <= {"alice"}, "the command's own user is deleted; alice is another test's"
        status = client.call("platform.getBlockchainStatus", blockchainID=created["blockchain"])
        assert status == {"status": "Validating"}
    assert created["status"] == "Validating"
    assert call(created["rpc"], "eth_chainId") == hex(9009)
    assert int(call(created["rpc"], "eth_getBalance", OWNER, "latest"), 16) == 10**24
    named = call(created["rpc"], "eth_call", {"to": WARP, "data": BLOCKCHAIN_ID}, "latest")
    assert named == f"0x{ID.parse(created['blockchain']).hex()}"
    outer = created["rpc"].removesuffix("rpc") + "proposervm"
    assert call(outer, "proposervm.getCurrentEpoch")["number"] == "0", "the chain has no block yet"


def test_a_validator_whose_balance_has_run_out_is_active_again_when_paid(l1: Created) -> None:
    node, created = l1
    node.manage("time_travel", "12d")
    (validator,) = shown(node)["validators"]
    assert (validator["state"], validator["balance"], validator["runsOut"]) == ("inactive", 0, None)

    with PlatformClient(node.port) as client:
        client.call("keystore.createUser", **USER)
        client.call("platform.importKey", **USER, privateKey=format_private_key(EWOQ_KEY))
        added = client.call(
            "platform.increaseL1ValidatorBalance",
            **USER,
            validationID=created["validation"],
            balance=2 * UNIT,
        )
        client.wait([added["txID"]])

    (validator,) = shown(node)["validators"]
    assert (validator["state"], validator["balance"]) == ("active", 2 * UNIT)


def test_create_says_when_the_node_does_not_run_the_chain(l1: Created, tmp_path: Path) -> None:
    node, _ = l1
    wrong = tmp_path / "genesis.json"
    wrong.write_text("{}")

    with pytest.raises(ServerDied):
        node.manage("l1", "create", "Wrong", f"--genesis={wrong}")

    assert "but the node does not run its chain" in node.log("manage-l1")

"""Two L1s made with avalanchejs and viem: subnet, chain, contracts, validators by warp messages, messages between chains."""

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from platform_app.config import UNIT
from primitives.ids import ID
from primitives.keys import EWOQ_KEY
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import SENDER
from tests.e2e.conftest import CHAIN_ID, node_script
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_sdk import FEES, hexed, new_validator
from tests.e2e.platform_wallet import address
from tests.e2e.test_subnet_chains import served, wait_for
from tests.servers.node import RunningNode

L1S = {"one": 9_011, "two": 9_012}
"""Chain IDs by the names of the chains, each of an L1 of its own."""
KEY = hexed(EWOQ_KEY)
"""Pays on all chains, and owns the contracts."""
DAYS = 12
"""After so many days the balance of a validator has run out."""


class Made(NamedTuple):
    """A node with two L1s, and the contracts on their chains and on the C-Chain."""

    node: RunningNode
    subnets: dict[str, str]
    blockchains: dict[str, str]
    contracts: dict[str, Any]
    addresses: dict[str, dict[str, str]]

    def run(self, scenario: str, **given: Any) -> Any:
        """Run a scenario of `tests/clients/l1.mjs`."""
        return run(self.node, scenario, **given)

    def chain(self, name: str) -> dict[str, Any]:
        """Return how to reach a chain and its messenger."""
        return {
            **at(self.node, name),
            "messenger": self.addresses[name]["Messenger"],
            "abi": self.contracts["Messenger"]["abi"],
        }

    def manager(self) -> dict[str, Any]:
        """Return how to reach the validator manager."""
        return {
            **at(self.node, "C"),
            "key": KEY,
            "address": self.addresses["C"]["Manager"],
            "abi": self.contracts["Manager"]["abi"],
        }

    def ask(self, method: str, **params: Any) -> Any:
        """Call a method of the node."""
        with PlatformClient(self.node.port) as client:
            return client.call(method, **params)

    def validators(self, name: str) -> dict[str, Any]:
        """Return the validators of an L1 by node ID."""
        found = self.ask("platform.getCurrentValidators", subnetID=self.subnets[name])
        return {item["nodeID"]: item for item in found["validators"]}


def at(node: RunningNode, name: str) -> dict[str, Any]:
    """Return the URL and the chain ID of a chain."""
    url = f"http://127.0.0.1:{node.port}/ext/bc/{name}/rpc"
    return {"url": url, "chainID": L1S.get(name, CHAIN_ID)}


def run(node: RunningNode, scenario: str, **given: Any) -> Any:
    """Run a scenario with the node and the key that pays."""
    network = {
        "url": f"http://127.0.0.1:{node.port}",
        "networkID": 12345,
        "fees": FEES,
        "keys": [KEY],
    }
    return node_script("run.mjs", "l1", scenario, json.dumps(network | given))


def done(found: dict[str, Any]) -> str:
    """Check that a transaction was committed and is read back; return its ID."""
    assert (found["status"], found["readBack"]) == ("Committed", True), found
    tx_id: str = found["txID"]
    return tx_id


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, contracts: dict[str, Any]) -> Iterator[Made]:
    with RunningNode(tmp_path_factory.mktemp("l1s") / "node", env={"NODE_WARP": "true"}) as node:
        node.start()
        yield create(node, {name: contracts[name] for name in ("Messenger", "Manager")})


def create(node: RunningNode, contracts: dict[str, Any]) -> Made:
    """Create both L1s with this node as their validator."""
    artifacts = {
        name: {"abi": one["abi"], "bytecode": one["bytecode"]} for name, one in contracts.items()
    }
    subnets, blockchains, addresses = {}, {}, {}
    addresses["C"] = run(node, "deployed", chain=at(node, "C"), key=KEY, artifacts=artifacts)
    with PlatformClient(node.port) as client:
        own = client.call("info.getNodeID")
    for name, chain_id in L1S.items():
        genesis = subnet_genesis(
            chain_id,
            funded=SENDER,
            warpConfig={"blockTimestamp": int(time.time()) - 60, "quorumNumerator": 67},
        )
        found = run(
            node,
            "created",
            name=name,
            vmID=str(ID.of_name("subnetevm")),
            genesis=json.loads(genesis),
            owners=[KEY],
        )
        subnets[name], blockchains[name] = done(found["subnet"]), done(found["chain"])
        wait_for(lambda name=name: served(node, name))
        messenger = {"Messenger": artifacts["Messenger"]}
        addresses[name] = run(node, "deployed", chain=at(node, name), key=KEY, artifacts=messenger)
        terms = {
            "subnetID": subnets[name],
            "owners": [KEY],
            "manager": addresses["C"]["Manager"],
            "validators": [
                {
                    "nodeID": own["nodeID"],
                    "weight": 100,
                    "balance": 1_000 * UNIT,  # lasts longer than any test goes into the future
                    "publicKey": own["nodePOP"]["publicKey"],
                    "proof": own["nodePOP"]["proofOfPossession"],
                }
            ],
        }
        done(run(node, "converted", terms=terms))
    # The next epoch knows the validators of the L1s. It begins with the second block after the present one's end.
    node.manage("time_travel", "60s")
    for name in addresses:
        run(node, "blocks", chain=at(node, name), key=KEY, count=2)
    return Made(node, subnets, blockchains, contracts, addresses)


@pytest.mark.parametrize(("source", "destination"), [("one", "two"), ("two", "C"), ("C", "one")])
def test_a_message_gets_to_another_chain_once(made: Made, source: str, destination: str) -> None:
    text = f"from {source}"
    found = made.run(
        "delivered",
        source=made.chain(source),
        destination=made.chain(destination),
        key=KEY,
        text=text,
        # Messages of the Primary Network's chains to an L1 are signed by the L1's own validators.
        signingSubnet=made.subnets[destination] if source == "C" else "",
    )
    assert found["status"] == "success"
    event = found["event"]
    assert (event["source"], event["text"]) == (found["source"], text)
    assert event["sender"].lower() == made.addresses[source]["Messenger"].lower()
    assert found["last"] == text
    assert found["again"] == "taken already"
    assert found["unsigned"] == "reverted", "without the message in the access list"
    if source != "C":
        assert found["source"] == f"0x{bytes(ID.parse(made.blockchains[source])).hex()}"


def test_a_validator_is_registered_weighed_and_active_again_when_paid(made: Made) -> None:
    given = new_validator(0, address(EWOQ_KEY))
    validator = {
        "subnetID": made.subnets["two"],
        "nodeID": given["nodeID"],
        "publicKey": given["publicKey"],
        "proof": given["proof"],
        "weight": 20,
        "balance": UNIT,
    }
    before = set(made.validators("two"))
    now = made.ask("platform.getTimestamp")["timestamp"]
    registered = made.run(
        "registered",
        validator=validator,
        expiry=int(datetime.fromisoformat(now).timestamp()) + 3_600,
        manager=made.manager(),
    )
    done(registered)
    assert set(made.validators("two")) - before == {given["nodeID"]}
    validation_id = made.validators("two")[given["nodeID"]]["validationID"]
    assert made.validators("two")[given["nodeID"]]["weight"] == "20"

    def weigh(nonce: int, weight: int) -> None:
        done(
            made.run(
                "weighed",
                validationID=validation_id,
                nonce=nonce,
                weight=weight,
                manager=made.manager(),
            )
        )

    weigh(0, 30)
    found = made.ask("platform.getL1Validator", validationID=validation_id)
    assert (found["weight"], found["minNonce"]) == ("30", "1")
    assert int(found["balance"]) > 0

    made.node.manage("time_travel", f"{DAYS}d")
    found = made.ask("platform.getL1Validator", validationID=validation_id)
    assert (found["balance"], found["weight"]) == ("0", "30")
    done(made.run("paid", validationID=validation_id, balance=2 * UNIT))
    found = made.ask("platform.getL1Validator", validationID=validation_id)
    assert 0 < int(found["balance"]) <= 2 * UNIT

    weigh(1, 0)
    assert set(made.validators("two")) == before

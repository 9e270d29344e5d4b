"""`l1 create` beside a running node: subnet, chain, conversion, the manager and its validators, and the end of an L1.

The manager's further calls are made with viem, and its messages are brought to the P-Chain with avalanchejs.
"""

import json
import runpy
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from explorer_app.managers import contract
from explorer_app.managers.contract import CHURN_PERIOD, MANAGER_ADDRESS, ValidationStatus
from explorer_app.services.l1_node import P_PATH, reach_epoch
from explorer_app.services.l1_terms import PAYER
from nodeproject.management.commands.l1 import OWNER
from nunatak.rpc import RpcError, Unreachable, call
from platform_app.config import UNIT
from platform_app.txs.warp import (
    L1Message,
    L1ValidatorRegistration,
    L1ValidatorWeight,
    statement_of,
)
from primitives.hexadecimal import checksum_address, decode_data
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY, address_of, format_private_key
from primitives.node_identity import IdentityFiles
from primitives.warp import AddressedCall, parse_payload, parse_unsigned
from tests.e2e.conftest import HERE, node_script
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_sdk import FEES, hexed, new_validator
from tests.e2e.platform_wallet import address
from tests.servers.node import RunningNode
from tests.servers.process import ServerDied

WARP, BLOCKCHAIN_ID = "0x0200000000000000000000000000000000000005", "0x4213cf78"
"""The warp precompile, and the selector of getBlockchainID()."""
USER = {"username": "alice", "password": "a long and varied passphrase 7"}
MINE = ("l1", "create", "Mine", "--chain-id=9009")
WITHOUT_CONTRACT = "--manager=0x0feedc0de0000000000000000000000000000000"
KEY = hexed(EWOQ_KEY)


class Made(NamedTuple):
    """A node, and what `l1 create` printed about an L1 on it."""

    node: RunningNode
    facts: dict[str, str]

    @property
    def subnet_id(self) -> ID:
        return ID.parse(self.facts["l1"])

    def shown(self) -> Any:
        return json.loads(self.node.manage("l1", "show", self.facts["l1"], "--json"))

    def validators(self) -> dict[str, Any]:
        """Return the validators of the L1 by validation."""
        return {one["validationID"]: one for one in self.shown()["validators"]}

    def read(self, data: bytes) -> bytes:
        """Return the output of a call of the manager."""
        asked = {"to": f"0x{MANAGER_ADDRESS.hex()}", "data": f"0x{data.hex()}"}
        return decode_data(call(self.facts["rpc"], "eth_call", asked, "latest"))

    def state(self, validation_id: ID) -> contract.ManagedValidator:
        """Return a validator as the manager knows it."""
        return contract.read_validator(self.read(contract.get_validator(validation_id)))

    def run(self, scenario: str, **given: Any) -> Any:
        """Run a scenario of `tests/clients/l1.mjs`."""
        network = {
            "url": f"http://127.0.0.1:{self.node.port}",
            "networkID": 12345,
            "fees": FEES,
            "keys": [KEY],
        }
        return node_script("run.mjs", "l1", scenario, json.dumps(network | given))

    def manage(self, function: str, *args: Any, **given: Any) -> Any:
        """Call the manager with viem; return the receipt's state, the events, and the message that it sent."""
        manager = {
            **self._chain,
            "key": KEY,
            "address": f"0x{MANAGER_ADDRESS.hex()}",
            "abi": contract.artifact()["abi"],
        }
        found = self.run("managed", manager=manager, call=function, args=args, **given)
        assert found["status"] == "success"
        return found

    def bring(self, step: str, **terms: Any) -> None:
        """Let the P-Chain accept a transaction of avalanchejs with a signed message."""
        found = self.run("brought", step=step, terms=terms)
        assert found["status"] == "Committed", found

    def answer(self, function: str, content: L1Message, justification: bytes = b"") -> list[str]:
        """Let the manager take a statement of the P-Chain; return its events."""
        path = f"/ext/bc/{self.facts['blockchain']}"
        height = self.settle(path, self.make_block)
        with PlatformClient(self.node.port) as client:
            signed = client.call(
                "platform.aggregateSignatures",
                message=f"0x{statement_of(12345, content).raw.hex()}",
                justification=f"0x{justification.hex()}",
                signingSubnetID=self.facts["l1"],
                pChainHeight=str(height),
            )["signedMessage"]
        events: list[str] = self.manage(function, "0", message=signed)["events"]
        return events

    def settle(self, path: str, make_block: Callable[[], object]) -> int:
        """Let a chain count the present validators; return the height of its epoch."""
        with PlatformClient(self.node.port) as client:
            height = int(client.call("platform.getHeight")["height"])
        travel = lambda seconds: self.node.manage("time_travel", f"{seconds}s")  # noqa: E731
        return reach_epoch(self._call, path, height, make_block, travel=travel)

    def settle_platform(self) -> None:
        """Let the P-Chain count the present validators."""
        own = self.facts["validation"]
        self.settle(P_PATH, lambda: self.run("paid", validationID=own, balance=1))

    def make_block(self) -> None:
        """Let the L1's chain make a block."""
        self.run("blocks", chain=self._chain, key=KEY, count=1)

    @property
    def _chain(self) -> dict[str, Any]:
        chain_id = int(call(self.facts["rpc"], "eth_chainId"), 16)
        return {"url": self.facts["rpc"], "chainID": chain_id}

    def _call(self, path: str, method: str, *params: object) -> Any:
        return call(f"http://127.0.0.1:{self.node.port}{path}", method, *params)


def create(node: RunningNode, *command: str) -> Made:
    return Made(node, json.loads(node.manage(*command, "--time-travel", "--json")))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(
        tmp_path_factory.mktemp("l1") / "node", env={"NODE_ENGINE": "reference"}
    ) as made:
        made.start()
        yield made


@pytest.fixture(scope="module")
def l1(node: RunningNode) -> Made:
    """An L1 by proof of authority, whose creation was killed twice on the way."""
    node.manage_killed_at("L1 chain made", *MINE, "--time-travel")
    node.manage_killed_at("L1 validator asked", *MINE, "--time-travel")
    return create(node, *MINE)


@pytest.fixture(scope="module")
def staked(node: RunningNode) -> Made:
    """An L1 by proof of stake."""
    owner = checksum_address(PAYER)
    return create(node, "l1", "create", "Staked", "--chain-id=9010", "--pos", f"--owner={owner}")


def keep_paid(made: Made) -> None:
    """Let the node's own validator be active: another test may have let its balance run out."""
    made.run("paid", validationID=made.facts["validation"], balance=2 * UNIT)


def test_create_makes_an_l1_with_two_validators(l1: Made) -> None:
    node, created = l1
    found = l1.shown()

    assert found["subnetID"] == created["l1"]
    assert found["blockchains"] == [{"name": "Mine", "blockchainID": created["blockchain"]}]
    assert found["managerChainID"] == created["blockchain"]
    assert found["managerAddress"] == created["manager"].lower()
    own, second = (ID.parse(created[name]) for name in ("validation", "second"))
    assert {str(own), str(second)} <= {one["validationID"] for one in found["validators"]}
    assert [l1.state(one).weight for one in (own, second)] == [100, 20]
    assert l1.state(second).status == ValidationStatus.ACTIVE
    assert decode_data(created["owner"]) == l1.read(contract.getter("owner"))[12:]
    files = IdentityFiles.below(Path(created["keys"]).parent)
    assert l1.validators()[str(second)]["nodeID"] == str(files.node_id)
    assert {path.stat().st_mode & 0o777 for path in Path(created["keys"]).iterdir()} == {0o600}
    with PlatformClient(node.port) as client:
        users = client.call("keystore.listUsers")["users"]
        assert {name for name in users if not name.startswith("l1-")} <= {"alice"}
        status = client.call("platform.getBlockchainStatus", blockchainID=created["blockchain"])
        assert status == {"status": "Validating"}
    assert created["status"] == "Validating"
    assert call(created["rpc"], "eth_chainId") == hex(9009)
    page = f"{created['explorer']}/address/{created['manager']}/write"
    with urllib.request.urlopen(page) as answer:
        assert b"initiateValidatorRegistration" in answer.read()
    assert int(call(created["rpc"], "eth_getBalance", OWNER, "latest"), 16) > 999_000 * 10**18
    named = call(created["rpc"], "eth_call", {"to": WARP, "data": BLOCKCHAIN_ID}, "latest")
    assert named == f"0x{ID.parse(created['blockchain']).hex()}"


def test_an_interrupted_creation_is_one_creation(l1: Made) -> None:
    listed = json.loads(l1.node.manage("l1", "list", "--json"))
    assert [one["blockchains"][0]["name"] for one in listed].count("Mine") == 1
    for changed, words in ((), "there is an L1 Mine already"), (("--weight=7",), "already"):
        with pytest.raises(ServerDied):
            l1.node.manage(*MINE, *changed)
        assert words in l1.node.log("manage-l1")


def test_a_validator_whose_balance_has_run_out_is_active_again_when_paid(l1: Made) -> None:
    node, created = l1
    own = created["validation"]
    days = l1.validators()[own]["balance"] // 86_400 + 1
    node.manage("time_travel", f"{days}d")
    validator = l1.validators()[own]
    assert (validator["state"], validator["balance"], validator["runsOut"]) == ("inactive", 0, None)

    with PlatformClient(node.port) as client:
        client.call("keystore.createUser", **USER)
        client.call("platform.importKey", **USER, privateKey=format_private_key(EWOQ_KEY))
        added = client.call(
            "platform.increaseL1ValidatorBalance",
            **USER,
            validationID=own,
            balance=2 * UNIT,
        )
        client.wait([added["txID"]])

    validator = l1.validators()[own]
    assert (validator["state"], validator["balance"]) == ("active", 2 * UNIT)


def test_the_manager_registers_weighs_and_removes_a_validator(l1: Made) -> None:
    keep_paid(l1)
    given = new_validator(0, address(EWOQ_KEY))
    before = set(l1.validators())
    owner = ["1", [f"0x{address_of(EWOQ_KEY).hex()}"]]
    node_id = f"0x{bytes(NodeID.parse(given['nodeID'])).hex()}"
    l1.settle_platform()

    asked = l1.manage(
        "initiateValidatorRegistration", node_id, given["publicKey"], owner, owner, "20"
    )
    validation_id = ID(l1.read(contract.get_validation_id(NodeID.parse(given["nodeID"]))))
    proof = given["proof"]
    l1.bring("registerValidator", balance=UNIT, possession=proof, message=asked["signed"])
    assert set(l1.validators()) - before == {str(validation_id)}
    added = L1ValidatorRegistration(validation_id, True)
    events = l1.answer("completeValidatorRegistration", added)
    assert events == ["CompletedValidatorRegistration"]

    l1.settle_platform()
    weighed = l1.manage("initiateValidatorWeightUpdate", f"0x{validation_id.hex()}", "25")
    l1.bring("setWeight", message=weighed["signed"])
    assert l1.validators()[str(validation_id)]["weight"] == 25
    events = l1.answer("completeValidatorWeightUpdate", L1ValidatorWeight(validation_id, 1, 25))
    assert events == ["CompletedValidatorWeightUpdate"]

    l1.settle_platform()
    removed = l1.manage("initiateValidatorRemoval", f"0x{validation_id.hex()}")
    l1.bring("setWeight", message=removed["signed"])
    assert set(l1.validators()) == before
    gone = L1ValidatorRegistration(validation_id, False)
    events = l1.answer("completeValidatorRemoval", gone, registration(asked["unsigned"]))
    assert events == ["CompletedValidatorRemoval"]
    assert l1.state(validation_id).status == ValidationStatus.COMPLETED


def registration(unsigned: str) -> bytes:
    """Return the justification of a removal, from the message with the registration."""
    from network_app.wire.sdk_pb2 import L1ValidatorRegistrationJustification

    sent = parse_payload(parse_unsigned(decode_data(unsigned)).payload)
    assert isinstance(sent, AddressedCall)
    made = L1ValidatorRegistrationJustification(register_l1_validator_message=sent.payload)
    return made.SerializeToString()


def test_a_staker_leaves_with_the_stake(staked: Made) -> None:
    keep_paid(staked)
    second = ID.parse(staked.facts["second"])
    held = int(call(staked.facts["rpc"], "eth_getBalance", staked.facts["manager"], "latest"), 16)
    assert held == 20 * 10**18
    logs = call(
        staked.facts["rpc"],
        "eth_getLogs",
        {
            "fromBlock": "0x0",
            "address": WARP,
            "topics": [None, None, f"0x{message_of(staked, second).hex()}"],
        },
    )
    raw = decode_data(logs[0]["data"])
    unsigned = raw[64 : 64 + int.from_bytes(raw[32:64], "big")]
    staked.node.manage("time_travel", f"{CHURN_PERIOD}s")
    staked.make_block()  # estimates of gas take the time of the last block
    staked.settle_platform()

    removed = staked.manage("initiateValidatorRemoval", f"0x{second.hex()}")
    staked.bring("setWeight", message=removed["signed"])
    gone = L1ValidatorRegistration(second, False)
    justification = registration(f"0x{unsigned.hex()}")
    events = staked.answer("completeValidatorRemoval", gone, justification)

    assert events == ["CompletedValidatorRemoval", "StakeReturned"]
    assert call(staked.facts["rpc"], "eth_getBalance", staked.facts["manager"], "latest") == "0x0"
    assert list(staked.validators()) == [staked.facts["validation"]]


def message_of(made: Made, validation_id: ID) -> bytes:
    """Return the ID of the message that asked for a validator."""
    topic = contract.event_topic("InitiatedValidatorRegistration")
    asked = {
        "fromBlock": "0x0",
        "address": made.facts["manager"],
        "topics": [f"0x{topic.hex()}", f"0x{validation_id.hex()}"],
    }
    (log,) = call(made.facts["rpc"], "eth_getLogs", asked)
    return decode_data(log["data"])[:32]


def test_create_says_when_the_node_does_not_run_the_chain(
    node: RunningNode, tmp_path: Path
) -> None:
    wrong = tmp_path / "genesis.json"
    wrong.write_text("{}")

    with pytest.raises(ServerDied):
        node.manage("l1", "create", "Wrong", f"--genesis={wrong}", WITHOUT_CONTRACT)

    assert "the node does not run its chain: parsing genesis: " in node.log("manage-l1")
    assert "`l1 delete Wrong` gives up" in node.log("manage-l1")
    node.manage("l1", "delete", "Wrong")
    with pytest.raises(ServerDied):
        node.manage("l1", "delete", "Wrong")
    assert "There is no L1 Wrong" in node.log("manage-l1")


def test_a_deleted_l1_runs_no_longer_and_its_name_is_free(node: RunningNode) -> None:
    create_again = ("l1", "create", "Gone", "--chain-id=9011", WITHOUT_CONTRACT)
    first = create(node, *create_again)
    file = node.directory / "data" / "chains" / f"{first.facts['blockchain']}.sqlite3"
    assert file.exists()

    assert first.facts["blockchain"] in node.manage("l1", "delete", "Gone")

    assert not file.exists()
    with pytest.raises((Unreachable, RpcError)):
        call(first.facts["rpc"], "eth_chainId")
    with PlatformClient(node.port) as client:
        status = client.call("platform.getBlockchainStatus", blockchainID=first.facts["blockchain"])
        assert status == {"status": "Created"}
    assert first.shown()["deleted"]
    again = create(node, *create_again)
    assert again.facts["l1"] != first.facts["l1"]
    assert call(f"http://127.0.0.1:{node.port}/ext/bc/Gone/rpc", "eth_chainId") == hex(9011)
    node.manage("l1", "delete", "Gone")


def test_the_artifact_is_the_source_compiled() -> None:
    script = runpy.run_path(str(HERE.parents[1] / "scripts" / "compile_manager.py"))

    assert script["compiled"]() == contract.artifact(), "run scripts/compile_manager.py"

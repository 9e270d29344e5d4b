"""The node's keystore as in the specification's examples: a user, a key, a validator, a subnet."""

import time
from typing import Any

import pytest

from primitives.keys import EWOQ_KEY, format_private_key
from tests.e2e.checked import CheckedNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_rows import check_platform_rows
from tests.e2e.platform_sdk import (
    DAY,
    DELEGATED,
    OLD,
    SOON,
    STAKE,
    Sdk,
    new_node_id,
    new_validator,
    soon,
)
from tests.e2e.platform_wallet import UNIT, address, fund, new_keys
from tests.servers.client import RpcFault

EWOQ = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
USER = {"username": "anna", "password": "ewoqvmRQ-7Zpm.correct"}
SUBNET_WEIGHT = 30
SPECIFIED: dict[str, Any] = {
    "txID": None,
    "startTime": None,
    "endTime": None,
    "stakeAmount": str(STAKE),
    "nodeID": None,
    "delegationFee": "2.5000",
    "connected": False,
    "uptime": "1.0000",
}
"""The record of a validator in the specification; None for values that the test determines."""


class Story:
    """A separate node whose clock is moved, and a keystore user with the ewoq key."""

    def __init__(self, node: CheckedNode, client: PlatformClient) -> None:
        self.node = node
        self.client = client
        self._moved = 0

    def now(self) -> int:
        """Return the node's time."""
        return int(time.time()) + self._moved

    def travel(self, until: int) -> None:
        """Move the clock to just after a time."""
        seconds = until - self.now() + 1
        self.node.manage("time_travel", f"{seconds}s")
        self._moved += seconds

    def act(self, method: str, **params: Any) -> str:
        """Let the node build, sign and issue a transaction; return its ID when it is committed."""
        issued = self.client.call(f"platform.{method}", **params, **USER, **{"from": [EWOQ]})
        assert issued.keys() == {"txID", "changeAddr"}
        assert issued["changeAddr"] == EWOQ
        assert self.client.wait([issued["txID"]]) == ["Committed"]
        tx_id: str = issued["txID"]
        return tx_id

    def current(self, **params: Any) -> list[dict[str, Any]]:
        """Return current validators."""
        found: list[dict[str, Any]] = self.client.call("platform.getCurrentValidators", **params)[
            "validators"
        ]
        return found

    def pending(self, **params: Any) -> list[str]:
        """Return the transactions that added the pending validators and delegators."""
        found = self.client.call("platform.getPendingValidators", **params)
        return [item["txID"] for item in [*found["validators"], *found["delegators"]]]


def test_from_a_user_to_a_rewarded_validator_of_a_subnet(fresh: CheckedNode) -> None:
    rewarded, delegating, control = (address(key) for key in new_keys(3))
    node_id = str(new_node_id())
    with PlatformClient(fresh.port) as client:
        story = Story(fresh, client)
        assert client.call("keystore.createUser", **USER) == {}
        key = format_private_key(EWOQ_KEY)
        assert client.call("platform.importKey", **USER, privateKey=key) == {"address": EWOQ}
        funds = client.balance(EWOQ)

        start = story.now() + SOON
        end = start + 15 * DAY
        validating = story.act(
            "addValidator",
            nodeID=node_id,
            startTime=start,
            endTime=end,
            stakeAmount=STAKE,
            rewardAddress=rewarded,
            delegationFeeRate=2.5,
        )
        delegating_tx = story.act(
            "addDelegator",
            nodeID=node_id,
            startTime=start,
            endTime=end,
            stakeAmount=DELEGATED,
            rewardAddress=delegating,
        )
        assert story.pending(nodeIDs=[node_id]) == [validating, delegating_tx]
        assert story.current(nodeIDs=[node_id]) == []
        assert client.balance(EWOQ) == funds - STAKE - DELEGATED

        story.travel(start)
        assert story.pending() == []
        (record,) = story.current(nodeIDs=[node_id])
        assert {name: record[name] for name in SPECIFIED} == SPECIFIED | {
            "txID": validating,
            "startTime": str(start),
            "endTime": str(end),
            "nodeID": node_id,
        }
        assert [item["txID"] for item in record["delegators"]] == [delegating_tx]

        subnet = story.act("createSubnet", controlKeys=[EWOQ, control], threshold=1)
        (made,) = client.call("platform.getSubnets", ids=[subnet])["subnets"]
        assert (sorted(made["controlKeys"]), made["threshold"]) == (sorted([EWOQ, control]), "1")
        begin = story.now() + SOON
        joining = story.act(
            "addSubnetValidator",
            nodeID=node_id,
            subnetID=subnet,
            startTime=begin,
            endTime=end - DAY,
            weight=SUBNET_WEIGHT,
        )
        assert story.pending(subnetID=subnet) == [joining]
        story.travel(begin)
        assert [other["txID"] for other in story.current(subnetID=subnet)] == [joining]

        story.travel(end)
        assert story.current(subnetID=subnet) == []
        assert story.current(nodeIDs=[node_id]) == []
        of_delegation = int(record["delegators"][0]["potentialReward"])
        paid = client.balance(rewarded) + client.balance(delegating)
        assert paid == int(record["potentialReward"]) + of_delegation
        assert client.balance(rewarded) > int(record["potentialReward"]) > 0
        for tx_id, count in ((validating, "2"), (delegating_tx, "1")):
            assert client.call("platform.getRewardUTXOs", txID=tx_id)["numFetched"] == count
        fees = client.burned(validating, delegating_tx, subnet, joining)
        assert funds - client.balance(EWOQ) == fees > 0
    with fresh.database() as ask:
        check_platform_rows(ask)


def test_secrets_are_written_nowhere_and_a_user_outlives_a_restart(fresh: CheckedNode) -> None:
    (key,) = new_keys(1)
    text = format_private_key(key)
    with PlatformClient(fresh.port) as client:
        client.call("keystore.createUser", **USER)
        client.call("platform.importKey", **USER, privateKey=text)
        wrong = USER | {"password": "not-" + USER["password"]}
        with pytest.raises(RpcFault) as refused:
            client.call("platform.exportKey", **wrong, address=address(key))
        assert USER["password"] not in refused.value.message
    fresh.restart()
    with PlatformClient(fresh.port) as client:
        assert client.call("platform.listAddresses", **USER) == {"addresses": [address(key)]}
        exported = client.call("platform.exportKey", **USER, address=address(key))
        assert exported == {"privateKey": text}
    fresh.stop()
    secrets = (USER["password"].encode(), text.encode(), key, key.hex().encode())
    for file in fresh.directory.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not [secret for secret in secrets if secret in content], file


def test_an_old_sdk_has_the_node_sign(node: CheckedNode) -> None:
    (key,) = new_keys(1)
    fund(node, [(key, 100 * UNIT)])
    start = soon()
    with PlatformClient(node.port) as client:
        own = client.node_id()
    found = Sdk(OLD, node, key).run(
        "keystore",
        username="an old client",
        password=USER["password"],
        validator=new_validator(start, "") | {"nodeID": own, "weight": SUBNET_WEIGHT},
    )
    mine = [address(key), found["second"]]
    assert (found["address"], found["addresses"]) == (address(key), mine)
    assert found["exportedKey"]
    assert (found["status"], found["validatingStatus"]) == ("Committed", "Committed")
    (subnet,) = found["subnets"]
    assert subnet["id"] == found["subnetID"]
    assert (sorted(subnet["controlKeys"]), subnet["threshold"]) == (sorted(mine), "2")
    (pending,) = found["pending"]["validators"]
    assert (pending["txID"], pending["weight"]) == (found["validating"], str(SUBNET_WEIGHT))
    assert found["movedAddresses"] == mine
    assert set(found["users"]) - set(found["usersLeft"]) == {"an old client"}
    assert "an old client again" in found["usersLeft"]

"""Stakers start, stay and end while the node's clock is moved; SDKs add them and read the results."""

from typing import Any

import pytest

from tests.e2e.checked import CheckedNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_sdk import (
    ALL,
    DELEGATED,
    OLD,
    SHARES,
    SOON,
    STAKE,
    Sdk,
    hexed,
    new_validator,
    soon,
)
from tests.e2e.platform_wallet import UNIT, address, fund, new_keys

EVM = "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"
RECORD = {
    "txID",
    "startTime",
    "endTime",
    "stakeAmount",
    "nodeID",
    "delegationFee",
    "connected",
    "uptime",
}
"""The fields that the specification requires in a validator's record."""


@pytest.mark.parametrize("library", ALL)
def test_stakers_begin_earn_and_leave(fresh: CheckedNode, library: str) -> None:
    key, rewarded, delegating = new_keys(3)
    fund(fresh, [(key, 5_000 * UNIT)])
    sdk, start = Sdk(library, fresh, key), soon()
    validator = new_validator(start, address(rewarded))
    delegator = {
        "start": start,
        "end": validator["end"],
        "weight": DELEGATED,
        "rewards": [address(delegating)],
    }
    if library != OLD:  # with these SDKs, stakers without a start time start immediately
        validator["start"] = delegator["start"] = 0

    found = sdk.run("staking", validator=validator, delegator=delegator)
    txs = [found["validating"]["txID"], found["delegating"]["txID"]]
    for value in (found["validating"], found["delegating"]):
        assert (value["status"], value["readBack"]) == ("Committed", True)
    assert found["stake"]["staked"] == str(STAKE + DELEGATED)
    assert sorted(map(int, found["stake"]["outputs"])) == [DELEGATED, STAKE]
    with PlatformClient(fresh.port) as client:
        left = int(found["before"]) - STAKE - DELEGATED - client.burned(*txs)
    assert int(found["after"]) == left
    assert tx_ids(found, "pending" if library == OLD else "current") == txs

    subnet = add_subnet(sdk, validator)
    fresh.manage("time_travel", f"{2 * SOON}s")
    now = sdk.run("stakersNow", txIDs=txs, nodeID=validator["nodeID"], subnetID=subnet)
    assert tx_ids(now, "current") == txs
    assert now["pending"] == {"validators": [], "delegators": []}
    assert [item["weight"] for item in now["ofSubnet"]] == ["20"]
    (record,) = now["current"]
    assert record.keys() >= RECORD
    assert record["stakeAmount"] == str(STAKE)
    assert (record["delegationFee"], record["uptime"]) == ("2.0000", "1.0000")
    assert int(record["endTime"]) == validator["end"]

    fresh.manage("time_travel", "16d")
    end = sdk.run("stakersNow", txIDs=txs, nodeID=validator["nodeID"], subnetID=subnet)
    assert (end["current"], end["ofSubnet"]) == ([], [])
    assert end["stake"] == {"staked": "0", "outputs": []}
    assert int(end["balance"]) == int(now["balance"]) + STAKE + DELEGATED
    own, shared, of_delegator = *end["rewards"][0], *end["rewards"][1]
    of_delegation = int(record["delegators"][0]["potentialReward"])
    assert int(own) == int(record["potentialReward"]) > 0
    assert int(shared) + int(of_delegator) == of_delegation
    assert abs(int(shared) - of_delegation * SHARES // 10**6) <= 1
    with PlatformClient(fresh.port) as client:
        assert client.balance(address(rewarded)) == int(own) + int(shared)
        assert client.balance(address(delegating)) == int(of_delegator)


def test_node_remains_a_validator_for_years(fresh: CheckedNode) -> None:
    with PlatformClient(fresh.port) as client:
        (before,) = client.call("platform.getCurrentValidators")["validators"]
        fresh.manage("time_travel", "1000d")
        (after,) = client.call("platform.getCurrentValidators")["validators"]
        assert after["nodeID"] == before["nodeID"]
        assert int(after["startTime"]) >= int(before["endTime"])
        rewards = client.call("platform.getRewardUTXOs", txID=before["txID"])
        assert rewards["numFetched"] == "1"


def add_subnet(sdk: Sdk, validator: dict[str, Any]) -> str:
    """Create a subnet with this validator, and return its ID."""
    owners, start = new_keys(2), soon()
    found = sdk.run(
        "subnet",
        owners=[hexed(key) for key in owners],
        validator={
            "nodeID": validator["nodeID"],
            "start": start,
            "end": validator["end"] - 60,
            "weight": 20,
        },
        chain={"name": "chain", "vmID": EVM, "genesis": {}},
    )
    assert found["validating"]["status"] == "Committed"
    subnet_id: str = found["made"]["txID"]
    return subnet_id


def tx_ids(found: dict[str, Any], phase: str) -> list[str]:
    """Return the IDs of the transactions that added the validator and its delegator."""
    if phase == "pending":
        validators, delegators = found["pending"]["validators"], found["pending"]["delegators"]
    else:
        validators = found["current"]
        delegators = [other for validator in validators for other in validator["delegators"]]
    return [item["txID"] for item in [*validators, *delegators]]

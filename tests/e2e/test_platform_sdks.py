"""SDKs from npm on the P-Chain of the running node: they build, sign, issue and read transactions."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.checked import CheckedNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_sdk import ALL, DAY, FEES, JS4, JS5, OLD, Sdk, hexed, soon
from tests.e2e.platform_wallet import UNIT, address, fund, new_keys

AMOUNT = 123_456
WEI = 10**12
"""Wei of one unit on this network."""
EVM = "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"

MakeSdk = Callable[[str], Sdk]
"""Creates an SDK by name, with a new key that owns 5,000 coins."""

transferring = pytest.mark.parametrize("library", [JS5, JS4])
"""The SDKs that have the transaction types added with Banff."""
everyone = pytest.mark.parametrize("library", ALL)


@pytest.fixture
def sdk(node: CheckedNode) -> MakeSdk:
    """Creates SDKs, each with its own key."""

    def make(library: str) -> Sdk:
        (key,) = new_keys(1)
        fund(node, [(key, 5_000 * UNIT)])
        return Sdk(library, node, key)

    return make


def assert_done(*found: dict[str, Any]) -> None:
    """Check that transactions were committed, and that the node returns their bytes."""
    for item in found:
        assert (item["status"], item["readBack"]) == ("Committed", True), item


def burned(found: dict[str, Any], amount: int) -> int:
    """Return the cost of a payment beyond its amount."""
    return int(found["before"]) - int(found["after"]) - amount


def burned_by(node: CheckedNode, tx_id: str) -> int:
    """Return what a transaction burns according to its bytes."""
    with PlatformClient(node.port) as client:
        return client.burned(tx_id)


@pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)
def test_a_transfer_arrives_on_every_profile(node: CheckedNode, sdk: MakeSdk) -> None:
    (receiver,) = new_keys(1)
    found = sdk(JS5).run("transfer", to=[address(receiver)], amount=AMOUNT)
    assert_done(found)
    assert found["outputs"] == [{"txID": found["txID"], "amount": str(AMOUNT)}]
    with PlatformClient(node.port) as client:
        assert client.balance(address(receiver)) == AMOUNT


@transferring
def test_a_library_finds_out_by_itself_what_the_network_is(sdk: MakeSdk, library: str) -> None:
    asked = sdk(library).run("context")
    found, expected = asked["found"], asked["expected"]

    assert found == {name: expected[name] for name in found}
    assert {"networkID", "hrp", "xBlockchainID", "cBlockchainID", "avaxAssetID"} <= found.keys()


def test_a_static_fee_is_all_that_version_4_pays(sdk: MakeSdk) -> None:
    (receiver,) = new_keys(1)
    found = sdk(JS4).run("transfer", to=[address(receiver)], amount=AMOUNT)
    assert_done(found)
    assert found["outputs"] == [{"txID": found["txID"], "amount": str(AMOUNT)}]
    assert burned(found, AMOUNT) == FEES["baseTxFee"]


@transferring
def test_two_who_sign_together_are_paid_and_pay(
    node: CheckedNode, sdk: MakeSdk, library: str
) -> None:
    partners, (receiver,) = new_keys(2), new_keys(1)
    found = sdk(library).run(
        "together",
        partners=[hexed(key) for key in partners],
        addresses=[address(key) for key in partners],
        to=[address(receiver)],
        amount=AMOUNT,
    )
    assert_done(found["funding"], found["spending"])
    assert int(found["spending"]["before"]) == 2 * AMOUNT
    assert burned(found["spending"], AMOUNT) == burned_by(node, found["spending"]["txID"]) > 0


@everyone
def test_an_export_waits_for_the_c_chain(node: CheckedNode, sdk: MakeSdk, library: str) -> None:
    (receiver,) = new_keys(1)
    to = address(receiver, "C")
    found = sdk(library).run("exported", to=[to], amount=AMOUNT)
    assert_done(found)
    assert burned(found, AMOUNT) == burned_by(node, found["txID"]) > 0
    with PlatformClient(node.port) as client:
        page = client.call("avax.getUTXOs", addresses=[to], sourceChain="P")
    assert page["numFetched"] == "1"


@transferring
def test_coins_go_to_the_c_chain_and_back(node: CheckedNode, sdk: MakeSdk, library: str) -> None:
    there, back = 3 * UNIT, UNIT
    found = sdk(library).run("crossed", amount=there, back=back)
    assert found["statuses"] == ["Committed", "Accepted", "Accepted", "Committed"]
    assert found["waiting"] == [str(there)]
    # The SDK's fee is whole units for each gas: one signature and one output use 11,230.
    fee = 11_230 * found["price"]
    assert int(found["start"]) == 0
    assert int(found["imported"]) == (there - fee) * WEI
    assert int(found["exported"]) == (there - fee - back - fee) * WEI
    assert found["nonce"] == 1
    assert found["returning"] == [str(back)]
    assert back - int(found["landed"]) == burned_by(node, found["landedBy"]) > 0
    assert found["readBack"]


@everyone
def test_a_subnet_gets_a_validator_and_a_blockchain(
    node: CheckedNode, sdk: MakeSdk, library: str
) -> None:
    owners, start = new_keys(2), soon()
    validator = {"nodeID": own_node(node), "start": start, "end": start + 2 * DAY, "weight": 20}
    found = sdk(library).run(
        "subnet",
        owners=[hexed(key) for key in owners],
        validator=validator,
        chain={"name": "chain", "vmID": EVM, "genesis": {"config": {"chainId": 99}}},
    )
    made, chained = found["made"], found["chained"]
    assert_done(made, found["validating"], chained)
    assert found["subnets"] == [
        {
            "id": made["txID"],
            "controlKeys": [address(key) for key in owners],
            "threshold": "2",
        }
    ]
    assert found["current"] == []
    (pending,) = found["pending"]["validators"]
    assert pending["txID"] == found["validating"]["txID"]
    assert (pending["nodeID"], pending["weight"]) == (validator["nodeID"], "20")
    assert (pending["startTime"], pending["endTime"]) == (str(start), str(start + 2 * DAY))
    assert found["chains"] == [
        {"id": chained["txID"], "name": "chain", "subnetID": made["txID"], "vmID": EVM}
    ]
    assert found["chainStatus"] == "Created"
    assert found["validatedBy"] == made["txID"]
    assert found["validates"] == [chained["txID"]]


@transferring
def test_a_subnet_s_validator_whose_start_is_0_begins_at_once(
    node: CheckedNode, sdk: MakeSdk, library: str
) -> None:
    """Current client code sends 0, because the reference implementation has ignored the start time for years."""
    (owner,), began = new_keys(1), int(time.time())
    validator = {"nodeID": own_node(node), "start": 0, "end": began + 2 * DAY, "weight": 20}
    found = sdk(library).run(
        "subnet",
        owners=[hexed(owner)],
        validator=validator,
        chain={"name": "chain", "vmID": EVM, "genesis": {}},
    )
    assert_done(found["validating"])
    (current,) = found["current"]
    assert current["txID"] == found["validating"]["txID"]
    assert began <= int(current["startTime"]) <= int(time.time())
    assert current["endTime"] == str(validator["end"])
    assert found["pending"] == {"validators": [], "delegators": []}


@transferring
def test_the_new_owner_of_a_subnet_takes_its_validator_out(
    node: CheckedNode, sdk: MakeSdk, library: str
) -> None:
    owners, heirs, start = new_keys(2), new_keys(1), soon()
    subnet = sdk(library)
    control = {"nodeID": own_node(node), "owners": [hexed(key) for key in owners]}
    made = subnet.run(
        "subnet",
        owners=control["owners"],
        validator={
            "nodeID": control["nodeID"],
            "start": start,
            "end": start + 2 * DAY,
            "weight": 1,
        },
        chain={"name": "other", "vmID": EVM, "genesis": {}},
    )
    found = subnet.run(
        "handedOver",
        **control,
        subnetID=made["made"]["txID"],
        heirs=[hexed(key) for key in heirs],
    )
    assert_done(found["handed"], found["removed"])
    (after,) = found["subnets"]
    assert (after["controlKeys"], after["threshold"]) == ([address(heirs[0])], "1")
    assert found["pending"] == {"validators": [], "delegators": []}


@everyone
def test_more_outputs_than_a_page_holds_are_read(
    node: CheckedNode, sdk: MakeSdk, library: str
) -> None:
    (owner,) = new_keys(1)
    for count in (550, 500):  # in two transactions, because one is limited to 64 KiB
        fund(node, [(owner, 1)] * count)
    found = sdk(library).run("paged", address=address(owner))
    assert found == {"pages": [1024, 26], "different": 1050}


@everyone
def test_what_is_spent_cannot_be_spent_again(sdk: MakeSdk, library: str) -> None:
    (receiver,) = new_keys(1)
    if library == OLD:  # this library has no transfers
        first, second = ({"owners": [hexed(key)]} for key in new_keys(2))
        found = sdk(library).run("spentTwice", kind="createSubnet", terms=first, other=second)
    else:
        terms = {"to": [address(receiver)], "threshold": 1, "amount": AMOUNT}
        other = {"amount": AMOUNT + 1}
        found = sdk(library).run("spentTwice", kind="transfer", terms=terms, other=other)
    assert found["status"] == "Committed"
    assert found["refusal"].startswith("couldn't issue tx: ")
    assert "failed to read consumed UTXO" in found["refusal"]
    assert found["refusal"].endswith("due to: not found")


def own_node(node: CheckedNode) -> str:
    """Return the ID of the node, which is a genesis validator."""
    with PlatformClient(node.port) as client:
        return client.node_id()

"""platform.addValidator, addDelegator, createSubnet, addSubnetValidator, createBlockchain, and AVAX."""

from typing import Any

import pytest
from django.db import transaction

from jsonrpc.errors import JsonRpcError
from platform_app.apps import platform_chain
from platform_app.config import DAY, UNIT
from primitives.addresses import format_address
from primitives.checksummed import encode
from primitives.ids import AVM_ID, EVM_ID, ID, SECP256K1_FX_ID, NodeID
from primitives.keys import VMRQ_KEY, address_of, format_private_key
from shared_app.models import SharedOutput
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.shared_outputs import receive
from tests.integration.platform_app.api.conftest import EWOQ_TEXT
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal

NODE = NodeID(b"n" * 20)
OTHER = format_address("P", "local", platform.ADDRESSES[1])
VMRQ = format_address("P", "local", address_of(VMRQ_KEY))


@pytest.fixture
def staker(pchain: PChain, alice: dict[str, str]) -> dict[str, Any]:
    """The params of addValidator in the specification."""
    return {
        **alice,
        "nodeID": str(NODE),
        "startTime": pchain.now + 60,
        "endTime": pchain.now + 60 + 14 * DAY,
        "stakeAmount": 2_000 * UNIT,
        "rewardAddress": OTHER,
        "delegationFeeRate": 10,
        "from": [EWOQ_TEXT],
    }


def status(rpc: Rpc, answer: dict[str, str]) -> str:
    return rpc("platform.getTxStatus", txID=answer["txID"])["status"]


def test_a_validator_is_pending_and_then_current(
    pchain: PChain, rpc: Rpc, staker: dict[str, Any]
) -> None:
    answer = rpc("platform.addValidator", **staker)
    assert answer == {"txID": answer["txID"], "changeAddr": EWOQ_TEXT}
    assert status(rpc, answer) == "Processing"
    pchain.wait(1)
    assert status(rpc, answer) == "Committed"
    (pending,) = rpc("platform.getPendingValidators")["validators"]
    assert (pending["txID"], pending["delegationFee"]) == (answer["txID"], "10.0000")
    pchain.wait(60)

    (record,) = rpc("platform.getCurrentValidators", nodeIDs=[str(NODE)])["validators"]
    assert record["stakeAmount"] == "2000000000"
    assert record["rewardOwner"]["addresses"] == [OTHER]
    assert record["startTime"] == str(staker["startTime"])


@pytest.mark.parametrize("start", [0, None, "0"])
def test_times_and_amounts_can_be_texts_and_start_is_optional(
    pchain: PChain, rpc: Rpc, staker: dict[str, Any], start: Any
) -> None:
    texts = {
        "endTime": str(staker["endTime"]),
        "stakeAmount": None,
        "weight": "2500000000",
        "delegationFeeRate": "2.5",
        "startTime": start,
    }
    rpc("platform.addValidator", **{**staker, **texts})
    pchain.wait(1)

    assert rpc("platform.getPendingValidators")["validators"] == []
    (record,) = rpc("platform.getCurrentValidators", nodeIDs=[str(NODE)])["validators"]
    assert record["startTime"] == str(pchain.now)
    assert (record["weight"], record["delegationFee"]) == ("2500000000", "2.5000")


def test_a_delegator_to_this_node_by_default(
    pchain: PChain, rpc: Rpc, staker: dict[str, Any]
) -> None:
    terms = {**staker, "stakeAmount": 25_000_000, "nodeID": None, "changeAddr": OTHER}
    answer = rpc("platform.addDelegator", **terms)
    assert answer["changeAddr"] == OTHER
    pchain.wait(1)
    pchain.wait(60)

    (record,) = rpc("platform.getCurrentValidators", nodeIDs=[str(pchain.node_id)])["validators"]
    (delegator,) = record["delegators"]
    assert (delegator["txID"], delegator["stakeAmount"]) == (answer["txID"], "25000000")
    assert rpc("platform.getBalance", address=OTHER)["balance"] != "0"


def test_a_subnet_with_a_validator_and_a_blockchain(
    pchain: PChain, rpc: Rpc, alice: dict[str, str]
) -> None:
    subnet = rpc("platform.createSubnet", **alice, controlKeys=[OTHER, EWOQ_TEXT], threshold=1)
    assert list(subnet) == ["txID", "changeAddr"]
    pchain.wait(1)
    (shown, _) = rpc("platform.getSubnets")["subnets"]
    assert shown["id"] == subnet["txID"]
    assert sorted(shown["controlKeys"]) == sorted([OTHER, EWOQ_TEXT])

    validator = rpc(
        "platform.addSubnetValidator",
        **alice,
        subnetID=subnet["txID"],
        startTime=pchain.now + 60,
        endTime=pchain.now + 60 + DAY,
        weight=30,
        nodeID=str(pchain.node_id),
    )
    pchain.wait(1)
    created = rpc(
        "platform.createBlockchain",
        **alice,
        subnetID=subnet["txID"],
        vmID="avm",
        name="Mine",
        genesisData=encode(b"genesis"),
    )
    pchain.wait(1)
    assert status(rpc, validator) == status(rpc, created) == "Committed"
    assert rpc("platform.validates", subnetID=subnet["txID"]) == {
        "blockchainIDs": [created["txID"]]
    }
    body = rpc("platform.getTx", txID=created["txID"], encoding="json")["tx"]["unsignedTx"]
    assert (body["vmID"], body["fxIDs"]) == (str(AVM_ID), [str(SECP256K1_FX_ID)])


def test_coins_are_not_stranded_on_their_way_to_the_x_chain(
    rpc: Rpc, alice: dict[str, str], settings: Any
) -> None:
    settings.NODE = updated(settings.NODE, chains=("P", "C"))
    before = rpc("platform.getBalance", address=EWOQ_TEXT)

    to = format_address("X", "local", platform.ADDRESSES[1])
    words = refusal(rpc, "platform.exportAVAX", **alice, amount=5 * UNIT, to=to)

    assert words.startswith("this node runs no X-Chain (NODE_CHAINS), so the coins that ")
    assert rpc("platform.getBalance", address=EWOQ_TEXT) == before


@pytest.mark.parametrize(
    "where",
    [
        {"to": format_address("C", "local", platform.ADDRESSES[1])},
        {"to": str(platform.ADDRESSES[1]), "targetChain": "C"},
    ],
    ids=["C", "targetChain"],
)
def test_coins_leave_for_the_c_chain(
    pchain: PChain, rpc: Rpc, alice: dict[str, str], where: dict[str, str]
) -> None:
    issued = rpc("platform.exportAVAX", **alice, amount=5 * UNIT, **where)
    pchain.build()

    tx_id = ID.parse(issued["txID"])
    (waiting,) = SharedOutput.objects.filter(tx_id=tx_id)
    assert (waiting.amount, waiting.destination_chain) == (5 * UNIT, pchain.network.c_chain_id)


def test_import_credits_funds_of_another_chain(
    pchain: PChain, rpc: Rpc, alice: dict[str, str]
) -> None:
    sent = platform.utxo(7 * UNIT, EWOQ, asset_id=pchain.asset_id)
    with transaction.atomic():
        receive(platform_chain().db, pchain.network.x_chain_id, [sent], height=1)
    imported = rpc("platform.importAVAX", **alice, sourceChain="X", to=OTHER)
    pchain.wait(1)
    assert status(rpc, imported) == "Committed"
    assert rpc("platform.getBalance", address=OTHER)["balance"] == str(7 * UNIT - 1000)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rewardAddress": None}, "argument 'rewardAddress' not provided"),
        ({"startTime": 1}, "start time must be at least 20s in the future"),
        ({"startTime": 1 << 40}, "start time is too far in the future"),
        ({"delegationFeeRate": 100.5},
         "argument 'delegationFeeRate' must be between 0 and 100, inclusive"),
        ({"delegationFeeRate": "-1"},
         "argument 'delegationFeeRate' must be between 0 and 100, inclusive"),
        ({"rewardAddress": "x"}, "problem while parsing reward address: couldn't parse address "
         '"x": no separator found in address'),
        ({"from": ["x"]}, "couldn't parse address \"x\": no separator found in address"),
        ({"changeAddr": "x"}, "couldn't parse changeAddr: couldn't parse address "
         '"x": no separator found in address'),
        ({"password": "another"},
         'problem retrieving user "alice": incorrect password: user "alice"'),
        ({"from": [OTHER]}, "user has no keys or funds"),
        ({"stakeAmount": 2**63}, "couldn't create tx: couldn't generate tx inputs/outputs: "
         "provided keys have balance (unlocked, locked) (0, 30000000000000) but need "
         "(0, 9223372036854775808)"),
        ({"stakeAmount": 1_000 * UNIT}, "weight of this validator is too low"),
        ({"delegationFeeRate": 1}, "staker charges an insufficient delegation fee"),
    ],
)  # fmt: skip
def test_validators_that_are_refused(
    rpc: Rpc, staker: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    assert refusal(rpc, "platform.addValidator", **{**staker, **changes}).startswith(words)


def test_delegators_that_are_refused(pchain: PChain, rpc: Rpc, staker: dict[str, Any]) -> None:
    def why(**changes: Any) -> str:
        return refusal(rpc, "platform.addDelegator", **{**staker, **changes})

    own = {"nodeID": str(pchain.node_id)}
    assert why(rewardAddress="") == "argument 'rewardAddress' not provided"
    assert why(rewardAddress="x").startswith("problem parsing 'rewardAddress': ")
    assert why(**own, stakeAmount=24_999_999).startswith("weight of this validator is too low")
    assert why(stakeAmount=25_000_000) != ""


def test_subnet_validators_that_are_refused(
    pchain: PChain, rpc: Rpc, staker: dict[str, Any]
) -> None:
    def why(**changes: Any) -> str:
        return refusal(rpc, "platform.addSubnetValidator", **{**staker, **changes})

    unknown = str(platform.SUBNET_ID)
    assert why() == "argument 'subnetID' not provided"
    assert why(subnetID=unknown, startTime=1) == "start time must be at least 20s in the future"
    assert why(subnetID="0") == (
        "problem parsing subnetID \"0\": base58 decoding error: invalid character '0'"
    )
    assert why(subnetID=str(platform.PRIMARY_NETWORK_ID)) == (
        "subnet validator attempts to validate primary network"
    )
    assert why(subnetID=unknown) == (
        "couldn't create tx: couldn't authorize tx's subnet restrictions: "
        f"failed to fetch subnet {unknown}: not found"
    )
    x_chain = str(pchain.network.x_chain_id)
    assert why(subnetID=x_chain) == (
        "couldn't create tx: couldn't authorize tx's subnet restrictions: "
        "expected tx type *txs.CreateSubnetTx but got *txs.CreateChainTx"
    )


def test_subnet_controlled_by_other_keys(pchain: PChain, rpc: Rpc, alice: dict[str, str]) -> None:
    subnet = rpc("platform.createSubnet", **alice, controlKeys=[OTHER], threshold=1)
    pchain.wait(1)
    assert refusal(
        rpc, "platform.createBlockchain", **alice, subnetID=subnet["txID"], vmID="evm", name="x"
    ) == ("couldn't create tx: couldn't authorize tx's subnet restrictions: can't sign")
    words = refusal(rpc, "platform.createSubnet", **alice, controlKeys=[OTHER], threshold=2)
    assert words == "couldn't create tx: output is unspendable"


def test_blockchains_that_are_refused(rpc: Rpc, alice: dict[str, str]) -> None:
    terms = {
        **alice, "subnetID": str(platform.SUBNET_ID), "vmID": str(EVM_ID), "name": "x",
        "genesisData": "",
    }  # fmt: skip

    def why(**changes: Any) -> str:
        return refusal(rpc, "platform.createBlockchain", **{**terms, **changes})

    assert why(name="", vmID="") == "argument 'name' not given"
    assert why(vmID=None) == "argument 'vmID' not given"
    assert why(genesisData="0x00") == (
        "problem parsing genesis data: input string is smaller than the checksum size"
    )
    assert why(vmID="nope") == "no VM with ID 'nope' found"
    assert why(fxIDs=["secp256k1fx", "nope"]) == "no FX with ID 'nope' found"
    assert why(subnetID=None) == "new blockchain can't be validated by primary network"


def test_transfers_that_are_refused(rpc: Rpc, alice: dict[str, str]) -> None:
    def why(method: str, **params: Any) -> str:
        return refusal(rpc, method, **alice, **params)

    assert why("platform.exportAVAX", to=EWOQ_TEXT) == "argument 'amount' must be > 0"
    assert why("platform.exportAVAX", amount=1, to="x", targetChain="Z") == (
        "there is no ID with alias: Z"
    )
    assert why("platform.exportAVAX", amount=1, to="0", targetChain="X") == (
        "base58 decoding error: invalid character '0'"
    )
    assert why("platform.importAVAX", sourceChain="Z", to=EWOQ_TEXT) == (
        'problem parsing chainID "Z": there is no ID with alias: Z'
    )
    assert why("platform.importAVAX", sourceChain="X", to="x").startswith(
        "couldn't parse argument 'to' to an address: couldn't parse address"
    )
    assert why("platform.importAVAX", sourceChain="X", to=EWOQ_TEXT) == (
        "no spendable funds were found"
    )


def test_from_restricts_whose_coins_are_spent(
    pchain: PChain, rpc: Rpc, alice: dict[str, str]
) -> None:
    rpc("platform.importKey", **alice, privateKey=format_private_key(VMRQ_KEY))
    empty = rpc("platform.createAddress", **alice)["address"]
    assert "but need (100000, 0)" in refusal(
        rpc, "platform.createSubnet", **alice, **{"from": [empty]}, controlKeys=[OTHER], threshold=1
    )
    answer = rpc(
        "platform.createSubnet", **alice, **{"from": [empty, EWOQ_TEXT]},
        controlKeys=[OTHER], threshold=1,
    )  # fmt: skip
    assert answer["changeAddr"] == EWOQ_TEXT


@pytest.mark.parametrize(
    "changes",
    [
        {"nodeID": "x"}, {"startTime": -1}, {"endTime": 1.5}, {"stakeAmount": "x"},
        {"delegationFeeRate": "ten"}, {"delegationFeeRate": "NaN"}, {"from": EWOQ_TEXT},
        {"delegationFeeRate": True}, {"username": 5},
    ],
)  # fmt: skip
def test_arguments_of_another_form(
    rpc: Rpc, staker: dict[str, Any], changes: dict[str, Any]
) -> None:
    with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
        rpc("platform.addValidator", **{**staker, **changes})

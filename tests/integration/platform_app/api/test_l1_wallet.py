"""platform.convertSubnetToL1, registerL1Validator, setL1ValidatorWeight, increaseL1ValidatorBalance, disableL1Validator."""

from collections.abc import Callable
from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.selectors.stakers import signers_at
from platform_app.services import l1_manager
from platform_app.services.l1_manager import sign_for_manager
from platform_app.txs.l1 import PChainOwner
from platform_app.txs.warp import (
    L1ValidatorWeight,
    RegisterL1Validator,
    SubnetToL1Conversion,
    initial_validation_id,
    statement_of,
)
from primitives.addresses import format_address
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, NodeID
from primitives.warp import parse_signed, verify_message
from tests.builders import platform
from tests.integration.platform_app.api.conftest import EWOQ_TEXT
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal

SECOND = NodeID(b"s" * 20)
OTHER = format_address("P", "local", platform.ADDRESSES[1])
MANAGER = "0x" + "09" * 20

Act = Callable[..., ID]


@pytest.fixture
def act(pchain: PChain, rpc: Rpc, alice: dict[str, str]) -> Act:
    """Call a method with alice's keys; return the ID of its transaction, which is in a block."""

    def act(method: str, **given: Any) -> ID:
        issued = rpc(f"platform.{method}", **alice, **given)
        assert issued == {"txID": issued["txID"], "changeAddr": EWOQ_TEXT}
        pchain.wait(1)
        assert rpc("platform.getTxStatus", txID=issued["txID"]) == {"status": "Committed"}
        return ID.parse(issued["txID"])

    return act


@pytest.fixture
def l1(act: Act) -> ID:
    """An L1 whose only validator is this node, with a balance of one coin."""
    subnet = act("createSubnet", controlKeys=[EWOQ_TEXT], threshold=1)
    act(
        "convertSubnetToL1",
        subnetID=str(subnet),
        managerChainID="C",
        managerAddress=MANAGER,
        validators=[{"weight": 100, "balance": str(UNIT)}],
    )
    return subnet


def signer(number: int) -> dict[str, str]:
    proof = platform.proof_of_possession(number)
    return {
        "publicKey": "0x" + proof.public_key.hex(),
        "proofOfPossession": "0x" + proof.proof_of_possession.hex(),
    }


def test_the_life_of_an_l1_without_an_sdk(pchain: PChain, rpc: Rpc, act: Act, l1: ID) -> None:
    first = str(initial_validation_id(l1, 0))
    subnet = rpc("platform.getSubnet", subnetID=str(l1))
    assert (subnet["isPermissioned"], subnet["managerAddress"]) == (False, MANAGER)
    assert subnet["managerChainID"] == str(pchain.network.c_chain_id)
    shown = rpc("platform.getL1Validator", validationID=first)
    assert (shown["nodeID"], shown["weight"]) == (str(pchain.node_id), "100")
    assert shown["balance"] == str(UNIT)
    assert shown["remainingBalanceOwner"]["addresses"] == [EWOQ_TEXT]

    act(
        "registerL1Validator",
        subnetID=str(l1),
        balance=5,
        validator={
            "nodeID": str(SECOND),
            "weight": 20,
            "signer": signer(2),
            "remainingBalanceOwner": {"addresses": [OTHER]},
            "deactivationOwner": {"threshold": 1, "addresses": [EWOQ_TEXT, OTHER]},
        },
    )
    records = rpc("platform.getCurrentValidators", subnetID=str(l1))["validators"]
    (second,) = [one for one in records if one["nodeID"] == str(SECOND)]
    assert (second["weight"], second["balance"]) == ("20", "5")
    pchain.wait(9)  # nobody pays for it: it becomes inactive on the way
    pchain.wait(9)
    assert rpc("platform.getL1Validator", validationID=second["validationID"])["balance"] == "0"

    act("increaseL1ValidatorBalance", validationID=second["validationID"], balance=1_000)
    assert rpc("platform.getL1Validator", validationID=second["validationID"])["balance"] == "1000"
    act("setL1ValidatorWeight", validationID=second["validationID"], weight=33)
    shown = rpc("platform.getL1Validator", validationID=second["validationID"])
    assert (shown["weight"], shown["minNonce"]) == ("33", "1")

    assert rpc("platform.getBalance", address=OTHER)["balance"] == "0"
    act("disableL1Validator", validationID=second["validationID"])
    assert rpc("platform.getL1Validator", validationID=second["validationID"])["balance"] == "0"
    assert rpc("platform.getBalance", address=OTHER)["balance"] == "998"
    act("setL1ValidatorWeight", validationID=second["validationID"], weight=0)
    assert refusal(rpc, "platform.getL1Validator", validationID=second["validationID"]) == (
        f'fetching L1 validator "{second["validationID"]}" failed: not found'
    )


def test_an_l1s_validators_count_as_those_of_its_subnet(
    pchain: PChain, rpc: Rpc, act: Act, l1: ID
) -> None:
    unpaid = {"nodeID": str(SECOND), "weight": 20, "signer": signer(2)}
    act("registerL1Validator", subnetID=str(l1), balance=0, validator=unpaid)
    own, empty = str(pchain.node_id), str(EMPTY_NODE_ID)

    assert rpc("platform.getTotalStake", subnetID=str(l1)) == {"stake": "120", "weight": "120"}
    drawn = rpc("platform.sampleValidators", subnetID=str(l1), size=120)["validators"]
    assert sorted(drawn) == sorted([own] * 100 + [empty] * 20)


def test_messages_that_were_signed_elsewhere_are_used(
    pchain: PChain, rpc: Rpc, act: Act, l1: ID
) -> None:
    proof, owner = platform.proof_of_possession(2), PChainOwner(1, (EWOQ,))
    request = RegisterL1Validator(
        l1, bytes(SECOND), proof.public_key, pchain.now + 60, owner, owner, 7
    )
    signed = sign_for_manager(platform_chain(), l1, request)
    act(
        "registerL1Validator",
        message="0x" + signed.hex(),
        proofOfPossession=signer(2)["proofOfPossession"],
        balance=0,
    )
    validation = str(request.validation_id)
    assert rpc("platform.getL1Validator", validationID=validation)["weight"] == "7"

    signed = sign_for_manager(platform_chain(), l1, L1ValidatorWeight(request.validation_id, 5, 8))
    act("setL1ValidatorWeight", message=signed.hex())
    shown = rpc("platform.getL1Validator", validationID=validation)
    assert (shown["weight"], shown["minNonce"]) == ("8", "6")


def test_what_cannot_be_done_is_refused(
    rpc: Rpc, alice: dict[str, str], l1: ID, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, nobody = str(initial_validation_id(l1, 0)), str(platform.some_id("nobody"))

    def words(method: str, **given: Any) -> str:
        return refusal(rpc, f"platform.{method}", **alice, **given)

    conversion = {"subnetID": str(l1), "managerChainID": "C", "managerAddress": MANAGER}
    assert words("convertSubnetToL1", **conversion, validators=[{"weight": 1}]) == (
        f'"{l1}" is immutable'
    )
    assert words("convertSubnetToL1", **conversion) == (
        "couldn't create tx: conversion must include at least one validator"
    )
    assert words("convertSubnetToL1", **{**conversion, "managerChainID": "Q"}).startswith(
        'problem parsing managerChainID "Q": '
    )
    assert words("convertSubnetToL1", subnetID=str(l1), managerChainID="C") == (
        "argument 'managerAddress' not given"
    )
    other = {"nodeID": str(SECOND), "weight": 1}
    assert words("convertSubnetToL1", **conversion, validators=[other]) == (
        f"argument 'signer' not given for {SECOND}, which is not this node"
    )
    assert words("convertSubnetToL1", **conversion, validators=[{"signer": {}}]).startswith(
        "couldn't unmarshal an argument"
    )
    assert words("registerL1Validator", subnetID=str(l1), validator={"weight": 1}) == (
        "L1 validator contains duplicate subnetID + nodeID pair"
    )
    assert words("registerL1Validator", subnetID=nobody, validator={"weight": 1}) == (
        f"subnet {nobody} has not been converted to an L1"
    )
    assert words("registerL1Validator", message="0x00") == (
        "argument 'proofOfPossession' must have 96 bytes"
    )
    assert words("setL1ValidatorWeight", message="0x00").startswith(
        "couldn't create tx: error calculating complexity: "
    )
    assert words("setL1ValidatorWeight", validationID=first) == "argument 'weight' not given"
    assert words("setL1ValidatorWeight", validationID=nobody, weight=1) == (
        f"failed to fetch L1 validator {nobody}: not found"
    )
    assert words("setL1ValidatorWeight", validationID=first, weight=0) == (
        "attempting to remove the last L1 validator from a converted subnet"
    )
    assert words("increaseL1ValidatorBalance", validationID=first) == (
        "argument 'balance' must be > 0"
    )
    assert words("increaseL1ValidatorBalance", validationID=nobody, balance=1) == "not found"
    assert words("disableL1Validator", validationID=nobody) == (
        f"couldn't create tx: failed to fetch L1 validator {nobody}: not found"
    )

    monkeypatch.setattr(l1_manager, "LOCAL", 5)
    unsigned = (
        "argument 'message' not given: only on the local network this node signs it for the manager"
    )
    assert words("registerL1Validator", subnetID=str(l1), validator={"weight": 1}) == unsigned
    assert words("setL1ValidatorWeight", validationID=first, weight=1) == unsigned


def test_a_validator_is_disabled_by_its_owner_only(
    rpc: Rpc, alice: dict[str, str], act: Act, l1: ID
) -> None:
    act(
        "registerL1Validator",
        subnetID=str(l1),
        balance=1_000,
        validator={
            "nodeID": str(SECOND), "weight": 1, "signer": signer(2),
            "deactivationOwner": {"addresses": [OTHER]},
        },
    )  # fmt: skip
    records = rpc("platform.getCurrentValidators", subnetID=str(l1))["validators"]
    (second,) = [one for one in records if one["nodeID"] == str(SECOND)]
    assert refusal(
        rpc, "platform.disableL1Validator", **alice, validationID=second["validationID"]
    ) == ("couldn't create tx: couldn't authorize tx's disable restrictions: can't sign")


def test_statements_about_an_l1_are_signed(pchain: PChain, rpc: Rpc, act: Act, l1: ID) -> None:
    conversion = platform_chain().state().l1_validators.conversion(l1)
    assert conversion is not None
    conversion_height = platform_chain().tip().height
    message = statement_of(12345, SubnetToL1Conversion(conversion.conversion_id))
    given = {"message": "0x" + message.raw.hex(), "justification": "0x" + bytes(l1).hex()}

    for subnet in (PRIMARY_NETWORK_ID, l1):
        answer = rpc("platform.aggregateSignatures", **given, signingSubnetID=str(subnet))
        signed = parse_signed(bytes.fromhex(answer["signedMessage"][2:]))
        assert signed.message == message
        verify_message(signed, 12345, signers_at(platform_chain(), subnet, None))

    def words(**changes: Any) -> str:
        return refusal(rpc, "platform.aggregateSignatures", **{**given, **changes})

    nobody = platform.some_id("nobody")
    assert words(justification="0x" + bytes(nobody).hex()) == (
        f'subnet "{nobody}" has not been converted'
    )
    assert words(signingSubnetID=str(nobody)) == f"subnet {nobody} has no validators"
    assert words(quorumPercentage=101) == ("argument 'quorumPercentage' must be between 1 and 100")
    assert words(message="0x00").startswith("failed to parse warp unsigned message: ")
    act(
        "registerL1Validator",
        subnetID=str(l1),
        validator={"nodeID": str(SECOND), "weight": 50, "balance": 1_000, "signer": signer(2)},
    )
    assert words(signingSubnetID=str(l1)) == (
        "failed to collect a threshold of signatures: "
        "signature weight is insufficient: 67*150 > 100*100"
    )
    assert "signedMessage" in rpc(
        "platform.aggregateSignatures", **given, signingSubnetID=str(l1), quorumPercentage="60"
    )
    before, current = conversion_height, platform_chain().tip().height
    answer = rpc(
        "platform.aggregateSignatures",
        **given,
        signingSubnetID=str(l1),
        pChainHeight=str(before),
    )
    signed = parse_signed(bytes.fromhex(answer["signedMessage"][2:]))
    verify_message(signed, 12345, signers_at(platform_chain(), l1, before))
    assert words(signingSubnetID=str(l1), pChainHeight="0") == f"subnet {l1} has no validators"
    assert words(pChainHeight=str(current + 1)).startswith(
        f"failed to get validator set at {current + 1}: "
    )

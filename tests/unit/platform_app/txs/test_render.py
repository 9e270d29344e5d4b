"""The JSON format in cases where it is not derived directly from the fields."""

import json
from base64 import b64decode

import pytest
from hypothesis import given, settings

from platform_app.config import UNIT
from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import EmptySigner, Tx, UnsignedTx
from platform_app.txs.render import render, render_tx
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ShortID
from tests.builders.platform import (
    ADDRESS,
    NODE_ID,
    SUBNET_ID,
    every_type,
    output,
    proof_of_possession,
    signed,
    spend,
    unsigned,
    utxo,
)
from tests.builders.platform_strategies import transactions


def address(short_id: ShortID) -> str:
    return f"P-{short_id.hex()}"


def test_a_signed_transaction_has_id_and_credentials() -> None:
    tx = signed()

    shown = render_tx(tx, address)

    assert list(shown) == ["unsignedTx", "credentials", "id"]
    assert shown["id"] == str(tx.tx_id)
    assert shown["credentials"] == [{"signatures": [f"0x{tx.raw[-65:].hex()}"]}]


def test_nothing_names_the_type() -> None:
    assert list(render(unsigned(), address)) == [
        "networkID", "blockchainID", "outputs", "inputs", "memo",
    ]  # fmt: skip


def test_locked_outputs_hold_outputs() -> None:
    shown = render(output(UNIT, stakeable_until=5), address)

    assert shown["output"] == {
        "locktime": 5,
        "output": {
            "addresses": [f"P-{ADDRESS.hex()}"],
            "amount": UNIT,
            "locktime": 0,
            "threshold": 1,
        },
    }
    assert shown["fxID"] == "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ"


def test_locked_inputs_hold_inputs() -> None:
    shown = render(spend(utxo(UNIT, stakeable_until=5)), address)

    assert shown["input"] == {
        "locktime": 5,
        "input": {"amount": UNIT, "signatureIndices": [0]},
    }


def test_genesis_data_is_base64() -> None:
    shown = render(unsigned(CreateChainTx, genesis_data=b"\xff\xfe\0"), address)

    assert shown["genesisData"] == "//4A"
    assert b64decode(shown["genesisData"]) == b"\xff\xfe\0"


def test_a_proof_of_possession_is_text_in_a_signer_and_numbers_in_a_registration() -> None:
    proof = proof_of_possession()

    validator = render(unsigned(staking.AddPermissionlessValidatorTx), address)
    registration = render(unsigned(l1.RegisterL1ValidatorTx), address)

    assert validator["signer"] == {
        "publicKey": f"0x{proof.public_key.hex()}",
        "proofOfPossession": f"0x{proof.proof_of_possession.hex()}",
    }
    assert registration["proofOfPossession"] == list(proof.proof_of_possession)


def test_no_signer_is_an_empty_object() -> None:
    shown = render(unsigned(staking.AddPermissionlessValidatorTx, signer=EmptySigner()), address)

    assert shown["signer"] == {}


def test_owners_within_l1_data_have_bare_addresses() -> None:
    (validator,) = render(unsigned(l1.ConvertSubnetToL1Tx), address)["validators"]

    assert validator["deactivationOwner"] == {"threshold": 1, "addresses": [str(ADDRESS)]}
    assert validator["nodeID"] == f"0x{NODE_ID.hex()}"


def test_a_validator_of_a_subnet_names_it() -> None:
    shown = render(unsigned(subnets.AddSubnetValidatorTx), address)

    assert list(shown["validator"]) == ["nodeID", "start", "end", "weight", "subnetID"]
    assert shown["validator"]["nodeID"] == str(NODE_ID)
    assert shown["validator"]["subnetID"] == str(SUBNET_ID)


def test_chain_name_with_invalid_utf8_is_rendered() -> None:
    shown = render(unsigned(CreateChainTx, chain_name="a\udcff"), address)

    assert shown["chainName"] == "a\N{REPLACEMENT CHARACTER}"
    json.dumps(shown).encode()


@pytest.mark.parametrize("cls", every_type(), ids=lambda cls: cls.__name__)
def test_each_type_can_be_shown(cls: type[UnsignedTx]) -> None:
    assert json.loads(json.dumps(render_tx(signed(cls), address)))["id"]


@settings(deadline=None)
@given(transactions())
def test_any_transaction_can_be_shown(tx: Tx) -> None:
    assert json.dumps(render_tx(tx, address), ensure_ascii=False).encode()

"""Syntactic rules of transactions that are parsed and shown, but never executed here."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.txs import l1, subnets
from platform_app.txs.errors import TxSyntaxReason
from primitives.ids import EMPTY_ID, PRIMARY_NETWORK_ID
from tests.builders.platform import ADDRESS, ASSET_ID, NODE_ID, unsigned
from tests.builders.reasons import raises
from tests.builders.refusals import FORGED, Refusal, verify_unsigned
from utxo.errors import InvalidTx, UtxoReason


def l1_validator(**changes: Any) -> tuple[l1.ConvertSubnetToL1Validator, ...]:
    """Return the validators of a conversion with the changes."""
    (made,) = unsigned(l1.ConvertSubnetToL1Tx).validators
    return (replace(made, **changes),)


TRANSFORMATIONS = [
    ({"asset_id": ASSET_ID}, "asset ID can't be AVAX"),
    ({"initial_supply": 0}, "initial supply must be non-0"),
    ({"initial_supply": 2_001}, "initial supply can't be greater than maximum supply"),
    (
        {"min_consumption_rate": 120_001},
        "min consumption rate must be less than or equal to max consumption rate",
    ),
    (
        {"max_consumption_rate": 1_000_001},
        "max consumption rate must be less than or equal to 1000000",
    ),
    ({"min_validator_stake": 0}, "min validator stake must be non-0"),
    (
        {"min_validator_stake": 1_001, "max_validator_stake": 1_500},
        "min validator stake must be less than or equal to initial supply",
    ),
    (
        {"min_validator_stake": 501},
        "min validator stake must be less than or equal to max validator stake",
    ),
    (
        {"max_validator_stake": 2_001},
        "max validator stake must be less than or equal to max supply",
    ),
    ({"min_stake_duration": 0}, "min stake duration must be non-0"),
    (
        {"max_stake_duration": 1},
        "min stake duration must be less than or equal to max stake duration",
    ),
    (
        {"min_delegation_fee": 1_000_001},
        "min delegation fee must be less than or equal to 1000000",
    ),
    ({"min_delegator_stake": 0}, "min delegator stake must be non-0"),
    ({"max_validator_weight_factor": 0}, "max validator weight factor must be non-0"),
    (
        {"uptime_requirement": 1_000_001},
        "uptime requirement must be less than or equal to 1000000",
    ),
]
CONVERSIONS = [
    Refusal(
        subnets.TransformSubnetTx,
        {"subnet_id": PRIMARY_NETWORK_ID},
        TxSyntaxReason.TRANSFORM_PRIMARY_NETWORK,
        "cannot transform primary network",
    ),
    Refusal(
        subnets.TransformSubnetTx,
        {"asset_id": EMPTY_ID},
        UtxoReason.EMPTY_ASSET_ID,
        "empty asset ID is not valid",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"subnet_id": PRIMARY_NETWORK_ID},
        TxSyntaxReason.CONVERT_PERMISSIONLESS,
        "cannot convert a permissionless subnet",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"address": bytes(4097)},
        TxSyntaxReason.MANAGER_ADDRESS_TOO_LONG,
        "address is too long",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"validators": ()},
        TxSyntaxReason.NO_L1_VALIDATORS,
        "conversion must include at least one validator",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"validators": l1_validator() * 2},
        TxSyntaxReason.L1_VALIDATORS_NOT_SORTED,
        "conversion validators must be sorted and unique",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"validators": l1_validator(weight=0)},
        TxSyntaxReason.L1_WEIGHT_ZERO,
        "validator weight must be non-zero",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"validators": l1_validator(node_id=bytes(NODE_ID) + b"\1")},
        TxSyntaxReason.NODE_ID_SIZE,
        "invalid hash length: expected 20 bytes but got 21",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"validators": l1_validator(node_id=bytes(20))},
        TxSyntaxReason.EMPTY_NODE_ID,
        "validator nodeID cannot be empty",
    ),
    Refusal(
        l1.ConvertSubnetToL1Tx,
        {"validators": l1_validator(signer=FORGED)},
        TxSyntaxReason.INVALID_PROOF_OF_POSSESSION,
        "invalid proof of possession",
    ),
    *(
        Refusal(
            l1.ConvertSubnetToL1Tx,
            {"validators": l1_validator(**{name: l1.PChainOwner(2, (ADDRESS,))})},
            UtxoReason.UNSPENDABLE_OUTPUT,
            "output is unspendable",
        )
        for name in ("remaining_balance_owner", "deactivation_owner")
    ),
    Refusal(
        l1.IncreaseL1ValidatorBalanceTx,
        {"balance": 0},
        TxSyntaxReason.BALANCE_ZERO,
        "balance must be greater than 0",
    ),
]


@pytest.mark.parametrize("refusal", CONVERSIONS, ids=lambda refusal: refusal.name)
def test_a_broken_rule_is_named(refusal: Refusal) -> None:
    refusal.verify()


@pytest.mark.parametrize(("changes", "words"), TRANSFORMATIONS)
def test_limits_of_a_transformation_must_agree(changes: dict[str, Any], words: str) -> None:
    with raises(TxSyntaxReason.INVALID_TRANSFORMATION, kind=InvalidTx) as refused:
        verify_unsigned(unsigned(subnets.TransformSubnetTx, **changes))

    assert str(refused.value) == words

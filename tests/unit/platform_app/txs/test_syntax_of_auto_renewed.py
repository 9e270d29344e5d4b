"""Syntactic rules of transactions about auto-renewed validators (etna.md 9)."""

from typing import Any

import pytest

from platform_app.txs.base import EmptySigner
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.l1 import (
    AddAutoRenewedValidatorTx,
    RewardAutoRenewedValidatorTx,
    SetAutoRenewedValidatorConfigTx,
)
from platform_app.txs.syntax import verify_syntax
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID
from tests.builders.platform import (
    ADDRESSES,
    ASSET_ID,
    CONFIG,
    KEY,
    NODE_ID,
    OTHER_ASSET_ID,
    output,
    outputs,
    signed,
    unsigned,
)
from tests.builders.reasons import raises
from tests.builders.refusals import FORGED, Refusal, owned, owner, verify_unsigned
from utxo.errors import InvalidTx, UtxoReason

MAX = 2**64 - 1
RIGHTS = "verifying signer, rewards owners or validator authority"
RESTAKED = "a staker can only restake at most 1000000 shares from rewards"


def added(changes: dict[str, Any], reason: Any, words: str) -> Refusal:
    return Refusal(AddAutoRenewedValidatorTx, changes, reason, words)


FIRST: list[tuple[dict[str, Any], Any, str]] = [
    ({"stake": ()}, TxSyntaxReason.NO_STAKE, "no stake"),
    (
        {"delegation_shares": 1_000_001},
        TxSyntaxReason.TOO_MANY_SHARES,
        "a staker can only require at most 1000000 shares from delegators",
    ),
    (
        {"auto_compound_reward_shares": 1_000_001},
        TxSyntaxReason.TOO_MANY_RESTAKED_SHARES,
        RESTAKED,
    ),
    ({"period": 0}, TxSyntaxReason.MISSING_PERIOD, "missing period"),
    (
        {"node_id": bytes(NODE_ID)[1:]},
        TxSyntaxReason.NODE_ID_SIZE,
        "invalid hash length: expected 20 bytes but got 19",
    ),
    (
        {"node_id": bytes(EMPTY_NODE_ID)},
        TxSyntaxReason.EMPTY_NODE_ID,
        "validator nodeID cannot be empty",
    ),
    (
        {"network_id": 1},
        TxSyntaxReason.BASE_NOT_VERIFIED,
        "verifying BaseTx: tx has wrong network ID",
    ),
    (
        {"signer": FORGED},
        TxSyntaxReason.RIGHTS_NOT_VERIFIED,
        f"{RIGHTS}: invalid proof of possession",
    ),
    *(
        (
            {name: owner(2, ADDRESSES[0])},
            TxSyntaxReason.RIGHTS_NOT_VERIFIED,
            f"{RIGHTS}: output is unspendable",
        )
        for name in ("validation_rewards_owner", "delegation_rewards_owner", "validator_authority")
    ),
    ({"signer": EmptySigner()}, TxSyntaxReason.MISSING_SIGNER, "missing signer"),
    (
        {"stake": (owned(2, ADDRESSES[0]),)},
        TxSyntaxReason.STAKE_NOT_VERIFIED,
        "verifying output: output is unspendable",
    ),
    (
        {"stake": (output(1, asset_id=OTHER_ASSET_ID),)},
        TxSyntaxReason.INVALID_STAKED_ASSET,
        "invalid staked asset",
    ),
    ({"stake": outputs(MAX, 1)}, UtxoReason.SUM_OVERFLOW, "overflow"),
    ({"stake": outputs(1, 2)[::-1]}, UtxoReason.OUTPUTS_NOT_SORTED, "outputs not sorted"),
]
"""The refusals of an AddAutoRenewedValidatorTx in the order of the checks."""
AUTO_RENEWED = [
    *(added(*refusal) for refusal in FIRST),
    Refusal(
        SetAutoRenewedValidatorConfigTx,
        {"tx_id": EMPTY_ID, "network_id": 1},
        TxSyntaxReason.MISSING_TX_ID,
        "missing tx id",
    ),
    Refusal(
        SetAutoRenewedValidatorConfigTx,
        {"auto_compound_reward_shares": 1_000_001, "network_id": 1},
        TxSyntaxReason.TOO_MANY_RESTAKED_SHARES,
        RESTAKED,
    ),
    Refusal(
        SetAutoRenewedValidatorConfigTx,
        {"network_id": 1},
        TxSyntaxReason.WRONG_NETWORK_ID,
        "tx has wrong network ID",
    ),
    Refusal(
        RewardAutoRenewedValidatorTx,
        {"tx_id": EMPTY_ID, "timestamp": 0},
        TxSyntaxReason.MISSING_TX_ID,
        "missing tx id",
    ),
    Refusal(
        RewardAutoRenewedValidatorTx,
        {"timestamp": 0},
        TxSyntaxReason.MISSING_TIMESTAMP,
        "missing timestamp",
    ),
]


@pytest.mark.parametrize("refusal", AUTO_RENEWED, ids=lambda refusal: refusal.name)
def test_a_broken_rule_is_named(refusal: Refusal) -> None:
    refusal.verify()


@pytest.mark.parametrize("place", range(len(FIRST) - 1))
def test_the_first_broken_rule_is_named(place: int) -> None:
    (first, reason, words), (second, *_) = FIRST[place : place + 2]
    added({**second, **first}, reason, words).verify()


def test_the_fields_of_a_proposal_are_checked_before_its_credentials() -> None:
    tx = signed(RewardAutoRenewedValidatorTx, keys=[[KEY]], timestamp=0)
    with raises(TxSyntaxReason.MISSING_TIMESTAMP, kind=InvalidTx):
        verify_syntax(tx, CONFIG, ASSET_ID)


def test_period_zero_and_all_shares_are_well_formed_changes() -> None:
    tx = unsigned(SetAutoRenewedValidatorConfigTx, period=0, auto_compound_reward_shares=1_000_000)
    verify_unsigned(tx)

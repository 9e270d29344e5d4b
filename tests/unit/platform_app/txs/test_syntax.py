"""Syntactic rules of base fields, inputs, outputs, chains and transfers, and valid edge cases."""

from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest

from platform_app.config import UNIT
from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import BaseTx, EmptySigner, LockIn, LockOut, Tx, UnsignedTx
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.subnets import CreateChainTx, ExportTx, ImportTx
from platform_app.txs.syntax import verify_syntax
from primitives.ids import EMPTY_ID, NFT_FX_ID, PRIMARY_NETWORK_ID, PROPERTY_FX_ID, SECP256K1_FX_ID
from tests.builders.platform import (
    ADDRESSES,
    ASSET_ID,
    CONFIG,
    OTHER_ASSET_ID,
    SUBNET_ID,
    every_type,
    output,
    outputs,
    owners,
    some_id,
    spend,
    spend_all,
    transfer_output,
    unsigned,
    utxo,
)
from tests.builders.reasons import raises
from tests.builders.refusals import Refusal, owned, verify_unsigned
from tests.unit.platform_app.txs.test_syntax_of_auto_renewed import AUTO_RENEWED
from tests.unit.platform_app.txs.test_syntax_of_l1s import CONVERSIONS
from tests.unit.platform_app.txs.test_syntax_of_stakers import STAKING, SUBNETS
from utxo.components import (
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
)
from utxo.errors import InvalidTx, UtxoReason

MAX = 2**64 - 1
STAKE = CONFIG.min_validator_stake
LOW, HIGH = ADDRESSES[0], ADDRESSES[1]


def signed_by(*indices: int) -> TransferableInput:
    return TransferableInput(some_id("funds"), 0, ASSET_ID, TransferInput(1, indices))


BASE = [
    Refusal(BaseTx, {"network_id": 1}, TxSyntaxReason.WRONG_NETWORK_ID, "tx has wrong network ID"),
    Refusal(
        BaseTx,
        {"blockchain_id": some_id("X")},
        TxSyntaxReason.WRONG_BLOCKCHAIN_ID,
        "tx has wrong chain ID",
    ),
    Refusal(
        BaseTx,
        {"memo": bytes(257)},
        TxSyntaxReason.MEMO_TOO_LONG,
        "memo exceeds maximum length: 257 > 256",
    ),
]
OUTPUTS = [
    ((owned(2, LOW),), UtxoReason.UNSPENDABLE_OUTPUT, "output is unspendable"),
    ((owned(0, LOW),), UtxoReason.UNOPTIMIZED_OUTPUT, "output representation should be optimized"),
    ((owned(1, HIGH, LOW),), UtxoReason.ADDRESSES_NOT_SORTED, "addresses not sorted and unique"),
    ((owned(1, LOW, LOW),), UtxoReason.ADDRESSES_NOT_SORTED, "addresses not sorted and unique"),
    ((output(0),), UtxoReason.OUTPUT_WITHOUT_VALUE, "output has no value"),
    ((output(asset_id=EMPTY_ID),), UtxoReason.EMPTY_ASSET_ID, "empty asset ID is not valid"),
    ((output(stakeable_until=0),), TxSyntaxReason.INVALID_LOCKTIME, "invalid locktime"),
    ((output(0, stakeable_until=5),), UtxoReason.OUTPUT_WITHOUT_VALUE, "output has no value"),
    (
        (TransferableOutput(ASSET_ID, LockOut(5, LockOut(6, transfer_output()))),),
        TxSyntaxReason.NESTED_LOCK,
        "shouldn't nest stakeable locks",
    ),
    (outputs(1, 2)[::-1], UtxoReason.OUTPUTS_NOT_SORTED, "outputs not sorted"),
    (
        (output(1, stakeable_until=5), output(1)),
        UtxoReason.OUTPUTS_NOT_SORTED,
        "outputs not sorted",
    ),
    (
        tuple(
            sorted(
                (output(), output(asset_id=OTHER_ASSET_ID)),
                key=lambda made: made.asset_id,
                reverse=True,
            )
        ),
        UtxoReason.OUTPUTS_NOT_SORTED,
        "outputs not sorted",
    ),
]
INPUTS = [
    ((signed_by(1, 0),), UtxoReason.INDICES_NOT_SORTED, "address indices not sorted and unique"),
    ((signed_by(1, 1),), UtxoReason.INDICES_NOT_SORTED, "address indices not sorted and unique"),
    ((spend(utxo(0)),), UtxoReason.INPUT_WITHOUT_VALUE, "input has no value"),
    ((spend(utxo(asset_id=EMPTY_ID)),), UtxoReason.EMPTY_ASSET_ID, "empty asset ID is not valid"),
    ((spend(utxo(stakeable_until=0)),), TxSyntaxReason.INVALID_LOCKTIME, "invalid locktime"),
    (
        (replace(spend(utxo()), input=LockIn(5, LockIn(6, TransferInput(1, ())))),),
        TxSyntaxReason.NESTED_LOCK,
        "shouldn't nest stakeable locks",
    ),
    (
        spend_all(utxo(), utxo(number=1))[::-1],
        UtxoReason.INPUTS_NOT_SORTED,
        "inputs not sorted and unique",
    ),
    (spend_all(utxo(), utxo()), UtxoReason.INPUTS_NOT_SORTED, "inputs not sorted and unique"),
]
CHAINS = [
    Refusal(
        CreateChainTx,
        {"subnet_id": PRIMARY_NETWORK_ID},
        TxSyntaxReason.CHAIN_ON_PRIMARY_NETWORK,
        "new blockchain can't be validated by primary network",
    ),
    Refusal(
        CreateChainTx,
        {"chain_name": "a" * 129},
        TxSyntaxReason.CHAIN_NAME_TOO_LONG,
        "name too long",
    ),
    *(
        Refusal(
            CreateChainTx,
            {"chain_name": name},
            TxSyntaxReason.ILLEGAL_CHAIN_NAME,
            "illegal name character",
        )
        for name in ("a-b", "ä", "a\n", "²", "\udcff")
    ),
    Refusal(CreateChainTx, {"vm_id": EMPTY_ID}, TxSyntaxReason.INVALID_VM_ID, "invalid VM ID"),
    *(
        Refusal(
            CreateChainTx,
            {"fx_ids": fx_ids},
            TxSyntaxReason.FX_IDS_NOT_SORTED,
            "feature extensions IDs must be sorted and unique",
        )
        for fx_ids in (
            (SECP256K1_FX_ID, NFT_FX_ID, PROPERTY_FX_ID),
            (SECP256K1_FX_ID, SECP256K1_FX_ID),
        )
    ),
    Refusal(
        CreateChainTx,
        {"genesis_data": bytes(1024 * 1024 + 1)},
        TxSyntaxReason.GENESIS_TOO_LONG,
        "genesis too long",
    ),
    Refusal(
        ImportTx,
        {"imported_inputs": ()},
        TxSyntaxReason.NO_IMPORTED_INPUTS,
        "tx has no imported inputs",
    ),
    Refusal(
        ImportTx,
        {"imported_inputs": spend_all(utxo(), utxo())},
        UtxoReason.INPUTS_NOT_SORTED,
        "inputs not sorted and unique",
    ),
    Refusal(
        ExportTx, {"exported_outputs": ()}, TxSyntaxReason.NO_EXPORTED_OUTPUTS, "no export outputs"
    ),
    Refusal(
        ExportTx,
        {"exported_outputs": (output(stakeable_until=5),)},
        TxSyntaxReason.LOCKED_EXPORT,
        "wrong locktime reported",
    ),
    Refusal(
        ExportTx,
        {"exported_outputs": outputs(1, 2)[::-1]},
        UtxoReason.OUTPUTS_NOT_SORTED,
        "outputs not sorted",
    ),
]


@pytest.mark.parametrize("refusal", [*BASE, *CHAINS], ids=lambda refusal: refusal.name)
def test_a_broken_rule_is_named(refusal: Refusal) -> None:
    refusal.verify()


@pytest.mark.parametrize(("made", "reason", "words"), OUTPUTS)
def test_outputs_must_be_well_formed(
    made: tuple[TransferableOutput, ...], reason: StrEnum, words: str
) -> None:
    with raises(reason, kind=InvalidTx) as refused:
        verify_unsigned(unsigned(BaseTx, outputs=made))

    assert str(refused.value) == words


@pytest.mark.parametrize(("made", "reason", "words"), INPUTS)
def test_inputs_must_be_well_formed(
    made: tuple[TransferableInput, ...], reason: StrEnum, words: str
) -> None:
    with raises(reason, kind=InvalidTx) as refused:
        verify_unsigned(unsigned(BaseTx, inputs=made))

    assert str(refused.value) == words


@pytest.mark.parametrize("cls", every_type(), ids=lambda cls: cls.__name__)
def test_a_well_formed_transaction_of_each_type_passes(cls: type[UnsignedTx]) -> None:
    verify_unsigned(unsigned(cls))


@pytest.mark.parametrize(
    "cls",
    [staking.AdvanceTimeTx, staking.RewardValidatorTx, l1.RewardAutoRenewedValidatorTx],
    ids=lambda cls: cls.__name__,
)
def test_unsigned_transaction_with_credentials_is_refused(cls: type[UnsignedTx]) -> None:
    with raises(TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS, kind=InvalidTx) as refused:
        verify_syntax(Tx(unsigned(cls), (SignatureCredential(()),), b"", 0), CONFIG, ASSET_ID)

    assert str(refused.value) == "should have the same number of credentials as inputs"


@pytest.mark.parametrize(
    "changes",
    [
        {"memo": bytes(256)},
        {"outputs": outputs(1, 1)},
        {"outputs": (output(), output(stakeable_until=5))},
        {"outputs": (owned(0),)},
        {"outputs": (owned(2, LOW, HIGH),)},
        {"outputs": (), "inputs": ()},
        {"inputs": (spend(utxo(stakeable_until=5)),)},
        {"inputs": (signed_by(0, 5),)},
        {"outputs": (output(MAX), output(MAX))},
    ],
    ids="-".join,
)
def test_boundary_values_are_accepted(changes: dict[str, Any]) -> None:
    verify_unsigned(unsigned(BaseTx, **changes))


@pytest.mark.parametrize(
    ("cls", "changes"),
    [
        (CreateChainTx, {"chain_name": "a" * 128}),
        (CreateChainTx, {"chain_name": ""}),
        (CreateChainTx, {"fx_ids": ()}),
        (CreateChainTx, {"genesis_data": bytes(1024 * 1024)}),
        (staking.AddValidatorTx, {"shares": 1_000_000}),
        (
            staking.AddPermissionlessValidatorTx,
            {
                "subnet_id": SUBNET_ID,
                "signer": EmptySigner(),
                "stake": (output(STAKE, asset_id=OTHER_ASSET_ID),),
            },
        ),
        (staking.AddValidatorTx, {"stake": outputs(UNIT, STAKE - UNIT)}),
        (l1.ConvertSubnetToL1Tx, {"address": bytes(4096)}),
    ],
)
def test_other_edges_pass_too(cls: type[UnsignedTx], changes: dict[str, Any]) -> None:
    verify_unsigned(unsigned(cls, **changes))


NOT_OF_SYNTAX = {
    TxSyntaxReason.UNSUPPORTED_TYPE, TxSyntaxReason.INVALID_WARP_MESSAGE,
    UtxoReason.INSUFFICIENT_INPUTS,
}  # fmt: skip
"""Reasons of checks other than `verify_syntax`."""


def test_every_reason_of_syntax_is_reached_here() -> None:
    lists = (BASE, CHAINS, STAKING, SUBNETS, CONVERSIONS, AUTO_RENEWED)
    reached = {refusal.reason for refusals in lists for refusal in refusals}
    reached |= {reason for _, reason, _ in [*OUTPUTS, *INPUTS]}
    reached |= {
        TxSyntaxReason.INVALID_TRANSFORMATION,
        TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS,
    }

    expected = {*TxSyntaxReason, *UtxoReason} - NOT_OF_SYNTAX
    assert reached == expected


def test_subnet_owners_can_be_any_addresses() -> None:
    verify_unsigned(
        unsigned(subnets.CreateSubnetTx, owner=owners(*ADDRESSES, threshold=3, locktime=MAX))
    )

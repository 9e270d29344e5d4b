"""Syntactic rules of base fields, inputs, outputs, chains and transfers, and valid edge cases."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.config import UNIT
from platform_app.txs import errors, l1, staking, subnets
from platform_app.txs.base import BaseTx, Tx, UnsignedTx
from platform_app.txs.components import EmptySigner, LockIn, LockOut
from platform_app.txs.subnets import CreateChainTx, ExportTx, ImportTx
from platform_app.txs.syntax import verify_syntax
from primitives.ids import (
    EMPTY_ID,
    NFT_FX_ID,
    PRIMARY_NETWORK_ID,
    PROPERTY_FX_ID,
    SECP256K1_FX_ID,
)
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
from tests.builders.refusals import Refusal, owned, verify_unsigned
from tests.unit.platform_app.txs.test_syntax_of_l1s import CONVERSIONS
from tests.unit.platform_app.txs.test_syntax_of_stakers import STAKING, SUBNETS
from utxo.components import (
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
)
from utxo.errors import (
    AddressesNotSorted,
    EmptyAssetId,
    IndicesNotSorted,
    InputsNotSorted,
    InputWithoutValue,
    InvalidSyntax,
    InvalidTx,
    OutputsNotSorted,
    OutputWithoutValue,
    UnoptimizedOutput,
    UnspendableOutput,
)

MAX = 2**64 - 1
STAKE = CONFIG.min_validator_stake
LOW, HIGH = ADDRESSES[0], ADDRESSES[1]


def signed_by(*indices: int) -> TransferableInput:
    return TransferableInput(some_id("funds"), 0, ASSET_ID, TransferInput(1, indices))


BASE = [
    Refusal(BaseTx, {"network_id": 1}, errors.WrongNetworkId, "tx has wrong network ID"),
    Refusal(
        BaseTx, {"blockchain_id": some_id("X")}, errors.WrongBlockchainId, "tx has wrong chain ID"
    ),
    Refusal(
        BaseTx,
        {"memo": bytes(257)},
        errors.MemoTooLong,
        "memo exceeds maximum length: 257 > 256",
    ),
]
OUTPUTS = [
    ((owned(2, LOW),), UnspendableOutput, "output is unspendable"),
    ((owned(0, LOW),), UnoptimizedOutput, "output representation should be optimized"),
    ((owned(1, HIGH, LOW),), AddressesNotSorted, "addresses not sorted and unique"),
    ((owned(1, LOW, LOW),), AddressesNotSorted, "addresses not sorted and unique"),
    ((output(0),), OutputWithoutValue, "output has no value"),
    ((output(asset_id=EMPTY_ID),), EmptyAssetId, "empty asset ID is not valid"),
    ((output(stakeable_until=0),), errors.InvalidLocktime, "invalid locktime"),
    ((output(0, stakeable_until=5),), OutputWithoutValue, "output has no value"),
    (
        (TransferableOutput(ASSET_ID, LockOut(5, LockOut(6, transfer_output()))),),
        errors.NestedLock,
        "shouldn't nest stakeable locks",
    ),
    (outputs(1, 2)[::-1], OutputsNotSorted, "outputs not sorted"),
    ((output(1, stakeable_until=5), output(1)), OutputsNotSorted, "outputs not sorted"),
    (
        tuple(
            sorted(
                (output(), output(asset_id=OTHER_ASSET_ID)),
                key=lambda made: made.asset_id,
                reverse=True,
            )
        ),
        OutputsNotSorted,
        "outputs not sorted",
    ),
]
INPUTS = [
    ((signed_by(1, 0),), IndicesNotSorted, "address indices not sorted and unique"),
    ((signed_by(1, 1),), IndicesNotSorted, "address indices not sorted and unique"),
    ((spend(utxo(0)),), InputWithoutValue, "input has no value"),
    ((spend(utxo(asset_id=EMPTY_ID)),), EmptyAssetId, "empty asset ID is not valid"),
    ((spend(utxo(stakeable_until=0)),), errors.InvalidLocktime, "invalid locktime"),
    (
        (replace(spend(utxo()), input=LockIn(5, LockIn(6, TransferInput(1, ())))),),
        errors.NestedLock,
        "shouldn't nest stakeable locks",
    ),
    (
        spend_all(utxo(), utxo(number=1))[::-1],
        InputsNotSorted,
        "inputs not sorted and unique",
    ),
    (spend_all(utxo(), utxo()), InputsNotSorted, "inputs not sorted and unique"),
]
CHAINS = [
    Refusal(
        CreateChainTx,
        {"subnet_id": PRIMARY_NETWORK_ID},
        errors.ChainOnPrimaryNetwork,
        "new blockchain can't be validated by primary network",
    ),
    Refusal(CreateChainTx, {"chain_name": "a" * 129}, errors.ChainNameTooLong, "name too long"),
    *(
        Refusal(
            CreateChainTx, {"chain_name": name}, errors.IllegalChainName, "illegal name character"
        )
        for name in ("a-b", "ä", "a\n", "²", "\udcff")
    ),
    Refusal(CreateChainTx, {"vm_id": EMPTY_ID}, errors.InvalidVmId, "invalid VM ID"),
    *(
        Refusal(
            CreateChainTx,
            {"fx_ids": fx_ids},
            errors.FxIdsNotSorted,
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
        errors.GenesisTooLong,
        "genesis too long",
    ),
    Refusal(
        ImportTx, {"imported_inputs": ()}, errors.NoImportedInputs, "tx has no imported inputs"
    ),
    Refusal(
        ImportTx,
        {"imported_inputs": spend_all(utxo(), utxo())},
        InputsNotSorted,
        "inputs not sorted and unique",
    ),
    Refusal(ExportTx, {"exported_outputs": ()}, errors.NoExportedOutputs, "no export outputs"),
    Refusal(
        ExportTx,
        {"exported_outputs": (output(stakeable_until=5),)},
        errors.LockedExport,
        "wrong locktime reported",
    ),
    Refusal(
        ExportTx,
        {"exported_outputs": outputs(1, 2)[::-1]},
        OutputsNotSorted,
        "outputs not sorted",
    ),
]


@pytest.mark.parametrize("refusal", [*BASE, *CHAINS], ids=lambda refusal: refusal.name)
def test_a_broken_rule_is_named(refusal: Refusal) -> None:
    refusal.verify()


@pytest.mark.parametrize(("made", "error", "words"), OUTPUTS)
def test_outputs_must_be_well_formed(
    made: tuple[TransferableOutput, ...], error: type[InvalidTx], words: str
) -> None:
    with pytest.raises(error) as refused:
        verify_unsigned(unsigned(BaseTx, outputs=made))

    assert str(refused.value) == words


@pytest.mark.parametrize(("made", "error", "words"), INPUTS)
def test_inputs_must_be_well_formed(
    made: tuple[TransferableInput, ...], error: type[InvalidTx], words: str
) -> None:
    with pytest.raises(error) as refused:
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
def test_what_nobody_signs_has_no_credentials(cls: type[UnsignedTx]) -> None:
    with pytest.raises(errors.CredentialsDifferFromInputs) as refused:
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
def test_what_stands_at_the_edge_passes(changes: dict[str, Any]) -> None:
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


def test_every_reason_of_syntax_is_reached_here() -> None:
    lists = (BASE, CHAINS, STAKING, SUBNETS, CONVERSIONS)
    reached = {refusal.error for refusals in lists for refusal in refusals}
    reached |= {error for _, error, _ in [*OUTPUTS, *INPUTS]}
    reached |= {errors.InvalidTransformation, errors.CredentialsDifferFromInputs}

    assert reached == set(leaves(InvalidSyntax))


def leaves(root: type[Exception]) -> list[type[Exception]]:
    """Return the classes that have no subclasses."""
    modules = {errors.__name__, InvalidTx.__module__}
    below = [cls for cls in root.__subclasses__() if cls.__module__ in modules]
    return [leaf for cls in below for leaf in leaves(cls)] if below else [root]


def test_owners_may_be_anybody() -> None:
    verify_unsigned(
        unsigned(subnets.CreateSubnetTx, owner=owners(*ADDRESSES, threshold=3, locktime=MAX))
    )

"""The flow check against the reference implementation's own table (pchain.md 5.2)."""

from enum import StrEnum
from typing import Any

import pytest

from platform_app.executor.errors import TxStateReason
from platform_app.executor.spend import Spent, verify_flow, verify_spend
from platform_app.txs.base import BaseTx, LockIn, LockOut
from platform_app.txs.codec import build
from primitives.ids import PRIMARY_NETWORK_ID, ShortID
from tests.builders import platform, platform_state
from tests.conformance.pchain_vectors import cases
from utxo.components import (
    UTXO,
    Input,
    OutputOwners,
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
    UtxoOutput,
)
from utxo.errors import InvalidTx, UtxoReason
from utxo.spending import SignerRecovery

ASSETS = {"ASSET_A": platform.ASSET_ID, "ASSET_B": platform.OTHER_ASSET_ID}
REASONS: dict[str, StrEnum] = {
    "ErrInsufficientUnlockedFunds": TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
    "ErrInsufficientLockedFunds": TxStateReason.INSUFFICIENT_LOCKED_FUNDS,
    "errAssetIDMismatch": TxStateReason.ASSET_MISMATCH,
    "errLockedFundsNotMarkedAsLocked": TxStateReason.LOCKED_FUNDS_NOT_MARKED,
    "errLocktimeMismatch": TxStateReason.LOCKTIME_MISMATCH,
    "errWrongNumberUTXOs": TxStateReason.UTXO_MISSING,
    "secp256k1.ErrInvalidSig": TxStateReason.TRANSFER_NOT_VERIFIED,
    "safemath.ErrOverflow": UtxoReason.SUM_OVERFLOW,
}


def read_output(case: dict[str, Any]) -> UtxoOutput:
    if case["type"] == "LockOut":
        return LockOut(case["locktime"], read_output(case["output"]))
    addresses = tuple(ShortID(bytes.fromhex(address)) for address in case["addresses"])
    owners = OutputOwners(case["locktime"], case["threshold"], addresses)
    return TransferOutput(case["amount"], owners)


def read_input(case: dict[str, Any]) -> Input:
    if case["type"] == "LockIn":
        return LockIn(case["locktime"], read_input(case["input"]))
    return TransferInput(case["amount"], tuple(case["signatureIndices"]))


def read_utxos(case: dict[str, Any]) -> list[UTXO]:
    return [
        UTXO(platform.some_id("spent"), index, ASSETS[one["assetID"]], read_output(one["output"]))
        for index, one in enumerate(case["utxos"])
    ]


def read_inputs(case: dict[str, Any]) -> tuple[TransferableInput, ...]:
    return tuple(
        TransferableInput(
            platform.some_id("spent"), index, ASSETS[one["assetID"]], read_input(one["input"])
        )
        for index, one in enumerate(case["inputs"])
    )


def read_outputs(case: dict[str, Any]) -> tuple[TransferableOutput, ...]:
    return tuple(
        TransferableOutput(ASSETS[item["assetID"]], read_output(item["output"]))
        for item in case["outputs"]
    )


def read_credentials(case: dict[str, Any]) -> tuple[SignatureCredential, ...]:
    return tuple(
        SignatureCredential(tuple(map(bytes.fromhex, item["signatures"])))
        for item in case["credentials"]
    )


def check(case: dict[str, Any]) -> None:
    """Run the check on a state; a case may ask to omit one output from it."""
    produced = {ASSETS[name]: amount for name, amount in case["extraUnlockedProduced"].items()}
    inputs, credentials = read_inputs(case), read_credentials(case)
    utxos = read_utxos(case)
    if len(utxos) < len(inputs):
        tx = build(
            BaseTx(platform.NETWORK_ID, PRIMARY_NETWORK_ID, read_outputs(case), inputs, b""),
            credentials,
        )
        verify_spend(tx, platform_state.state(*utxos), platform_state.env(now=case["now"]))
        return
    spent = map(Spent, inputs, utxos, credentials)
    verify_flow(SignerRecovery(bytes(32)), spent, read_outputs(case), produced, now=case["now"])


@pytest.mark.parametrize("case", cases("flow_check", expectedError=None))
def test_a_valid_flow_is_accepted(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.parametrize("case", cases("flow_check", expectedError=...))
def test_an_invalid_flow_is_refused_for_the_same_reason(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidTx) as refused:
        check(case)

    assert refused.value.reason is REASONS[case["expectedError"]]

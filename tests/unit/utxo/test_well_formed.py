"""Well-formed lists of inputs and outputs, on a chain that has no stakeable locks."""

import pytest

from primitives.ids import EMPTY_ID
from tests.builders.reasons import raises
from tests.builders.utxos import (
    ADDRESSES,
    CODEC,
    COIN,
    OTHER_COIN,
    coin,
    owners,
    spending,
    transferable,
)
from utxo.components import Input, TransferableOutput, UtxoOutput
from utxo.errors import InvalidTx, UtxoReason
from utxo.well_formed import sort_outputs, verify_transferable_inputs, verify_transferable_outputs

OUTPUTS = sort_outputs(
    [transferable(5), transferable(4), transferable(4), transferable(1, OTHER_COIN)], CODEC
)


class OwnRule(InvalidTx):
    """A rule that only one chain has."""


def test_outputs_are_sorted_by_asset_and_bytes() -> None:
    coins = [output for output in OUTPUTS if output.asset_id == COIN]

    assert coins == [transferable(4), transferable(4), transferable(5)]
    verify_transferable_outputs(OUTPUTS, CODEC)
    with raises(UtxoReason.OUTPUTS_NOT_SORTED, kind=InvalidTx):
        verify_transferable_outputs(OUTPUTS[::-1], CODEC)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (transferable(0), UtxoReason.OUTPUT_WITHOUT_VALUE),
        (transferable(1, EMPTY_ID), UtxoReason.EMPTY_ASSET_ID),
        (TransferableOutput(COIN, coin(1, owners(threshold=2))), UtxoReason.UNSPENDABLE_OUTPUT),
        (TransferableOutput(COIN, coin(1, owners(threshold=0))), UtxoReason.UNOPTIMIZED_OUTPUT),
        (
            TransferableOutput(COIN, coin(1, owners(*ADDRESSES[::-1]))),
            UtxoReason.ADDRESSES_NOT_SORTED,
        ),
    ],
)
def test_malformed_outputs_are_rejected(output: TransferableOutput, reason: UtxoReason) -> None:
    with raises(reason, kind=InvalidTx):
        verify_transferable_outputs([output], CODEC)


def test_inputs_are_sorted_and_unique() -> None:
    inputs = [spending(5, 0, number=1), spending(5, 0, 2, number=2)]

    verify_transferable_inputs(inputs)
    for wrong in (inputs[::-1], inputs[:1] * 2):
        with raises(UtxoReason.INPUTS_NOT_SORTED, kind=InvalidTx):
            verify_transferable_inputs(wrong)


def test_malformed_inputs_are_rejected() -> None:
    with raises(UtxoReason.INPUT_WITHOUT_VALUE, kind=InvalidTx):
        verify_transferable_inputs([spending(0, 0)])
    with raises(UtxoReason.EMPTY_ASSET_ID, kind=InvalidTx):
        verify_transferable_inputs([spending(1, 0, asset_id=EMPTY_ID)])
    with raises(UtxoReason.INDICES_NOT_SORTED, kind=InvalidTx):
        verify_transferable_inputs([spending(1, 1, 0)])


def test_chain_can_pass_its_own_rule_for_outputs_and_inputs() -> None:
    def refuse(_: UtxoOutput | Input) -> None:
        raise OwnRule(UtxoReason.OUTPUT_WITHOUT_VALUE)

    with pytest.raises(OwnRule):
        verify_transferable_outputs([transferable(5)], CODEC, refuse)
    with pytest.raises(OwnRule):
        verify_transferable_inputs([spending(5, 0)], refuse)

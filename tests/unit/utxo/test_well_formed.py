"""Well-formed lists of inputs and outputs, on a chain that has no stakeable locks."""

import pytest

from primitives.ids import EMPTY_ID
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
from utxo import errors
from utxo.components import Input, TransferableOutput, UtxoOutput
from utxo.well_formed import (
    sort_outputs,
    verify_transferable_inputs,
    verify_transferable_outputs,
)

OUTPUTS = sort_outputs(
    [transferable(5), transferable(4), transferable(4), transferable(1, OTHER_COIN)], CODEC
)


class OwnRule(errors.InvalidComponent):
    """A rule that only one chain has."""


def test_outputs_are_sorted_by_asset_and_bytes() -> None:
    coins = [output for output in OUTPUTS if output.asset_id == COIN]

    assert coins == [transferable(4), transferable(4), transferable(5)]
    verify_transferable_outputs(OUTPUTS, CODEC)
    with pytest.raises(errors.OutputsNotSorted):
        verify_transferable_outputs(OUTPUTS[::-1], CODEC)


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (transferable(0), errors.OutputWithoutValue),
        (transferable(1, EMPTY_ID), errors.EmptyAssetId),
        (TransferableOutput(COIN, coin(1, owners(threshold=2))), errors.UnspendableOutput),
        (TransferableOutput(COIN, coin(1, owners(threshold=0))), errors.UnoptimizedOutput),
        (
            TransferableOutput(COIN, coin(1, owners(*ADDRESSES[::-1]))),
            errors.AddressesNotSorted,
        ),
    ],
)
def test_malformed_outputs_are_rejected(
    output: TransferableOutput, error: type[errors.InvalidComponent]
) -> None:
    with pytest.raises(error):
        verify_transferable_outputs([output], CODEC)


def test_inputs_are_sorted_and_unique() -> None:
    inputs = [spending(5, 0, number=1), spending(5, 0, 2, number=2)]

    verify_transferable_inputs(inputs)
    for wrong in (inputs[::-1], inputs[:1] * 2):
        with pytest.raises(errors.InputsNotSorted):
            verify_transferable_inputs(wrong)


def test_malformed_inputs_are_rejected() -> None:
    with pytest.raises(errors.InputWithoutValue):
        verify_transferable_inputs([spending(0, 0)])
    with pytest.raises(errors.EmptyAssetId):
        verify_transferable_inputs([spending(1, 0, asset_id=EMPTY_ID)])
    with pytest.raises(errors.IndicesNotSorted):
        verify_transferable_inputs([spending(1, 1, 0)])


def test_a_chain_can_pass_its_own_rule_for_one_output_or_input() -> None:
    def refuse(_: UtxoOutput | Input) -> None:
        raise OwnRule

    with pytest.raises(OwnRule):
        verify_transferable_outputs([transferable(5)], CODEC, refuse)
    with pytest.raises(OwnRule):
        verify_transferable_inputs([spending(5, 0)], refuse)

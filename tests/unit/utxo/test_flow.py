"""Consumed and produced amounts by asset."""

import pytest

from primitives.uint64 import MAX
from tests.builders.reasons import raises
from tests.builders.utxos import COIN, OTHER_COIN
from utxo.errors import InvalidTx, UtxoReason
from utxo.spending import AssetFlow

FEE = {COIN: 2}


def test_outputs_and_fee_are_covered_exactly() -> None:
    flow = AssetFlow(FEE)
    flow.consume(COIN, 4)
    flow.consume(COIN, 3)
    flow.produce(COIN, 5)

    flow.verify()
    assert list(flow.shortages()) == []


def test_the_remainder_is_burned() -> None:
    flow = AssetFlow()
    flow.consume(COIN, 4)
    flow.produce(COIN, 1)

    flow.verify()


def test_one_asset_does_not_pay_for_another() -> None:
    flow = AssetFlow(FEE)
    flow.consume(COIN, 9)
    flow.produce(OTHER_COIN, 1)

    with raises(
        UtxoReason.INSUFFICIENT_INPUTS, kind=InvalidTx, match=r"^insufficient funds$"
    ) as refused:
        flow.verify()

    assert (refused.value.values["asset_id"], refused.value.values["missing"]) == (OTHER_COIN, 1)


def test_without_inputs_the_fee_is_missing() -> None:
    flow = AssetFlow(FEE)

    assert list(flow.shortages()) == [(COIN, 2)]


@pytest.mark.parametrize("add", [AssetFlow.consume, AssetFlow.produce])
def test_a_sum_must_fit_into_64_bits(add) -> None:
    flow = AssetFlow()
    add(flow, COIN, MAX)
    flow.verify_sums()
    add(flow, COIN, 1)

    with raises(UtxoReason.SUM_OVERFLOW, kind=InvalidTx, match=r"^overflow$"):
        flow.verify()


def test_the_amounts_of_the_fee_are_not_changed() -> None:
    AssetFlow(FEE).produce(COIN, 5)

    assert FEE == {COIN: 2}

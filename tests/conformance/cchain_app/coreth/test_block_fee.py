"""The block gas cost that tips have to cover, from Apricot phase 4 to Fortuna."""

from typing import Any

import pytest

from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.window import cost_after, verify_block_fee
from tests.builders.reasons import raises
from tests.conformance.coreth_vectors import cases

_COSTS = [case for case in cases("block_fee") if case.values[0].get("op") == "cost"]
_FEES = [case for case in cases("block_fee") if "op" not in case.values[0]]


def _number(value: str | int | None) -> int | None:
    return None if value is None else int(value)


@pytest.mark.parametrize("case", _COSTS)
def test_cost(case: dict[str, Any]) -> None:
    assert (
        cost_after(_number(case["parent"]), int(case["step"]), int(case["seconds"]))
        == case["result"]
    )


def _verify(case: dict[str, Any]) -> None:
    tip = min(case["feeCap"] - case["baseFee"], case["tip"])
    verify_block_fee(
        _number(case["baseFee"]),
        _number(case["requiredBlockGasCost"]),
        [(tip, case["gasUsed"])],
        int(case["extraContribution"] or 0),
    )


@pytest.mark.parametrize("case", _FEES)
def test_fee(case: dict[str, Any]) -> None:
    if case["error"] is None:
        _verify(case)
        return
    with pytest.raises(BlockRefused) as caught:
        _verify(case)
    assert str(caught.value) == f"engine finalization check failed: {case['error']}"


def test_tips_that_buy_too_little() -> None:
    with raises(CorethReason.BLOCK_FEE, kind=BlockRefused, match="expected 50000 but got 21000"):
        verify_block_fee(25, 50_000, [(25, 21_000)])
    verify_block_fee(25, 50_000, [(25, 21_000)], contribution=25 * 29_000)


def test_values_that_are_missing() -> None:
    with raises(CorethReason.FEE_WITHOUT_BASE_FEE, kind=BlockRefused, match="<nil>"):
        verify_block_fee(None, 1, [])
    with raises(CorethReason.FEE_WITHOUT_COST, kind=BlockRefused, match="<nil>"):
        verify_block_fee(1, None, [])

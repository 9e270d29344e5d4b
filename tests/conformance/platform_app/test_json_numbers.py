"""The JSON format of numbers with a fraction, compared to the vectors."""

from typing import Any

import pytest

from platform_app.api import wire
from tests.conformance.pchain_vectors import cases


@pytest.mark.parametrize("case", cases("json_numbers", kind="float"))
def test_a_float_has_four_digits(case: dict[str, Any]) -> None:
    assert f'"{wire.four_digits(case["value"])}"' == case["json"]


@pytest.mark.parametrize("case", cases("json_numbers", kind="delegationFee"))
def test_a_delegation_fee_is_reckoned_with_32_bits(case: dict[str, Any]) -> None:
    assert f'"{wire.fee_percent(case["shares"])}"' == case["json"]

"""Amounts of a token among the arguments of its contract's calls, events and errors."""

import pytest

from cchain_app.transaction_log.declarations import Declaration
from explorer_app.names.amounts import TokenUnit, answer_with_amount, with_amounts
from explorer_app.names.decoding import DecodedArgument, decode_call
from tests.builders.bytecode import words

GOLD = TokenUnit(18, "GLD")
SOMEBODY = b"\x22" * 20


def amounts(
    declaration_text: str, *values: int | bytes, unit: TokenUnit | None = GOLD
) -> list[str]:
    declaration = Declaration.parse(declaration_text)
    call = decode_call(declaration, declaration.selector + words(*values), guess=False)
    decoded = with_amounts(call, unit)
    assert decoded is not None
    return [argument.amount for argument in decoded.arguments]


@pytest.mark.parametrize(
    ("declaration", "values", "expected"),
    [
        ("transfer(address,uint256)", (SOMEBODY, 301 * 10**18), ["", "301 GLD"]),
        ("approve(address guy, uint256 limit)", (SOMEBODY, 2**256 - 1), ["", "unlimited GLD"]),
        ("transferFrom(address,address,uint256)", (SOMEBODY, SOMEBODY, 1), ["", "", "0.000000000000000001 GLD"]),
        ("pay(uint256 _amount, uint256 deadline)", (5 * 10**17, 99), ["0.5 GLD", ""]),
        ("Short(address sender, uint256 balance, uint256 needed)", (SOMEBODY, 0, 10**18), ["", "0 GLD", "1 GLD"]),
        ("vote(uint8 value)", (1,), [""]),
    ],
)  # fmt: skip
def test_amounts_are_recognized_by_position_or_name(
    declaration: str, values: tuple[int | bytes, ...], expected: list[str]
) -> None:
    assert amounts(declaration, *values) == expected


def test_a_contract_without_a_unit_has_no_amounts() -> None:
    assert amounts("transfer(address,uint256)", SOMEBODY, 5, unit=None) == ["", ""]
    assert amounts("transfer(address,uint256)", SOMEBODY, 5, unit=TokenUnit(1, "")) == ["", "0.5"]
    assert with_amounts(None, GOLD) is None


@pytest.mark.parametrize(
    ("function", "type_", "amount"),
    [
        ("totalSupply", "uint256", "2 GLD"),
        ("balanceOf", "uint256", "2 GLD"),
        ("balanceOf", "uint8", ""),
        ("deadline", "uint256", ""),
    ],
)
def test_answers_of_standard_functions_are_amounts(function: str, type_: str, amount: str) -> None:
    (answer,) = answer_with_amount(function, (DecodedArgument("", type_, str(2 * 10**18)),), GOLD)
    assert answer.amount == amount

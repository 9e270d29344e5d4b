"""Amounts of a token among the arguments of calls, events and errors of its contract. Pure."""

from dataclasses import replace
from typing import Final, NamedTuple

from adminkit.formats import format_units
from explorer_app.names.decoding import DecodedArgument, DecodedCall

_TYPE: Final = "uint256"
_UNLIMITED: Final = 2**256 - 1

_NAMES: Final = frozenset(
    [
        "allowance",
        "amount",
        "available",
        "balance",
        "held",
        "needed",
        "required",
        "supply",
        "tokens",
        "value",
        "wad",
        "wanted",
    ]
)
"""Names of parameters that are amounts, in lower case without underscores."""

_POSITIONS: Final = {
    "approve(address,uint256)": 1,
    "transfer(address,uint256)": 1,
    "transferFrom(address,address,uint256)": 2,
    "Approval(address,address,uint256)": 2,
    "Transfer(address,address,uint256)": 2,
}
"""Positions of the amounts in the functions and events of ERC-20, whatever the parameters' names are."""


_ANSWERS: Final = frozenset({"allowance", "balanceOf", "totalSupply"})
"""Functions of ERC-20 that return an amount."""


class TokenUnit(NamedTuple):
    """The unit of an ERC-20's amounts."""

    decimals: int
    symbol: str
    """Empty if the token has none."""

    def amount(self, units: int) -> str:
        """Return an exact amount with the symbol; the largest number, which allowances have, as `unlimited`."""
        number = "unlimited" if units == _UNLIMITED else format_units(units, 10**self.decimals)
        return f"{number} {self.symbol}".rstrip()


def with_amounts(call: DecodedCall | None, unit: TokenUnit | None) -> DecodedCall | None:
    """Return a call, event or error of a token's contract with the amounts among its arguments; None for None.

    Args:
        call: The decoded call, event or error.
        unit: The token's unit; None if the contract is no ERC-20 or its decimals are unknown.
    """
    if call is None or unit is None:
        return call
    position = _POSITIONS.get(call.signature)
    arguments = (
        replace(argument, amount=unit.amount(int(argument.value)))
        if isinstance(argument.value, str) and _is_amount(argument, is_standard=index == position)
        else argument
        for index, argument in enumerate(call.arguments)
    )
    return replace(call, arguments=tuple(arguments))


def answer_with_amount(
    function: str, values: tuple[DecodedArgument, ...], unit: TokenUnit | None
) -> tuple[DecodedArgument, ...]:
    """Return the answer of a token's function with its amount, if it is a standard one that returns an amount."""
    if unit is None or function not in _ANSWERS or len(values) != 1 or values[0].type != _TYPE:
        return values
    return (replace(values[0], amount=unit.amount(int(str(values[0].value)))),)


def _is_amount(argument: DecodedArgument, *, is_standard: bool) -> bool:
    if argument.type != _TYPE:
        return False
    return is_standard or argument.name.strip("_").lower() in _NAMES

"""The continuous fee of L1 validators (pchain.md 11.2). This chain has none of them: n is always 0.

The price, in the smallest unit per second, is shown by platform.getValidatorFeeState. Nobody calls
`charge` while there are no such validators: the reference's conformance vectors hold it to the rule.
"""

from typing import NamedTuple

from platform_app.config import ValidatorFeeConfig
from platform_app.executor.fees import gas_price
from primitives.uint64 import MAX


class Charge(NamedTuple):
    """What some seconds cost one validator."""

    cost: int
    excess: int
    """The excess after them."""


def validator_price(config: ValidatorFeeConfig, excess: int) -> int:
    """Return what one second costs one validator."""
    return gas_price(config.min_price, excess, config.excess_conversion)


def charge(config: ValidatorFeeConfig, *, validators: int, excess: int, seconds: int) -> Charge:
    """Return what so many seconds cost each of the active validators, at most 2^64 - 1.

    The excess drifts by as much in each second, so prices go one way: where the first and the last one
    of a time are the same, all between are.
    """
    drift = validators - config.target

    def excess_after(second: int) -> int:
        return min(MAX, max(0, excess + drift * second))

    def price_in(second: int) -> int:
        return validator_price(config, excess_after(second))

    def cost_between(first: int, first_price: int, last: int, last_price: int) -> int:
        if first_price == last_price or last - first == 1:
            return last_price * (last - first)
        middle = (first + last) // 2
        price = price_in(middle)
        return cost_between(first, first_price, middle, price) + cost_between(
            middle, price, last, last_price
        )

    cost = cost_between(0, price_in(0), seconds, price_in(seconds))
    return Charge(min(cost, MAX), excess_after(seconds))

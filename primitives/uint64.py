"""Unsigned integers of 64 bits: sums that must not overflow."""

MAX = 2**64 - 1


class Overflow(Exception):
    """A result of more than 64 bits."""

    def __init__(self) -> None:
        super().__init__("overflow")


def add(*numbers: int) -> int:
    """Return the sum of non-negative numbers.

    Raises:
        Overflow: The sum has more than 64 bits.
    """
    return _verify(sum(numbers))


def _verify(number: int) -> int:
    if number > MAX:
        raise Overflow
    return number

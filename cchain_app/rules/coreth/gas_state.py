"""Gas capacity and base fee of a block since Fortuna (ACP-176), in integers of 64 bits (coreth.md 5.1, 5.2).

A header's extra data begins with the state after its block.
"""

from enum import StrEnum
from typing import Final, NamedTuple, Self

from chainvm.port import MILLISECONDS
from primitives import uint64
from primitives.reasons import ErrorWithReason

STATE_SIZE: Final = 24
"""Bytes of a state."""
MIN_TARGET: Final = 1_000_000
"""Gas per second."""
TARGET_CONVERSION: Final = 33_554_432
MAX_TARGET_EXCESS: Final = 1_024_950_627
"""The least excess whose target is the highest number of 64 bits."""
MAX_TARGET_EXCESS_CHANGE: Final = 32_768
"""Maximum change of the target excess by one block."""
MAX_CAPACITY_SECONDS: Final = 10
"""Seconds of the highest rate's half that the capacity can hold."""
MIN_GAS_PRICE: Final = 1
"""Wei."""
_RATE_PER_TARGET: Final = 2
_PRICE_CONVERSION_PER_TARGET: Final = 87


class GasStateReason(StrEnum):
    """Why a state cannot be read or advanced."""

    TOO_SHORT = "insufficient length for fee state: expected at least 24 bytes but got {size} bytes"
    INSUFFICIENT_CAPACITY = "insufficient capacity: capacity ({capacity}) < gas ({gas})"


class GasStateError(ErrorWithReason):
    """A state that cannot be read, or gas that is more than its capacity."""


def price(least: int, excess: int, conversion: int) -> int:
    """Return an approximation of least · e^(excess ÷ conversion), at most 2^64 - 1.

    Args:
        least: The result without excess.
        excess: The exponent's numerator.
        conversion: Its denominator, not 0.
    """
    limit = conversion * uint64.MAX
    total, term, step = 0, least * conversion, 1
    while term > 0:
        total += term
        if total >= limit:
            return uint64.MAX
        term = term * excess // conversion // step
        step += 1
    return total // conversion


def least_excess(wanted: int, least: int, conversion: int, most: int) -> int:
    """Return the least excess whose `price` is at least `wanted`; at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if price(least, middle, conversion) >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def moved(excess: int, wanted: int, step: int) -> int:
    """Return an excess moved towards the wanted one, by at most `step`."""
    return max(excess - step, min(excess + step, wanted))


class GasState(NamedTuple):
    """The gas that may be used, and the excesses that determine price and target."""

    capacity: int = 0
    """Gas that may be used now."""
    excess: int = 0
    """Gas used above the target; it determines the price."""
    target_excess: int = 0
    """Determines the target; proposers vote on it."""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read the state at the beginning of a header's extra data.

        Raises:
            GasStateError: There are fewer bytes than a state has.
        """
        if len(data) < STATE_SIZE:
            raise GasStateError(GasStateReason.TOO_SHORT, size=len(data))
        return cls(*(int.from_bytes(data[at : at + 8], "big") for at in (0, 8, 16)))

    @property
    def raw(self) -> bytes:
        """The state's bytes."""
        return b"".join(value.to_bytes(8, "big") for value in self)

    @property
    def target(self) -> int:
        """Gas per second at which the price does not move."""
        return price(MIN_TARGET, self.target_excess, TARGET_CONVERSION)

    @property
    def max_capacity(self) -> int:
        """The highest capacity, which is the gas limit of the next block."""
        return min(self.target * MAX_CAPACITY_SECONDS, uint64.MAX)

    @property
    def gas_price(self) -> int:
        """The base fee in wei."""
        conversion = min(self.target * _PRICE_CONVERSION_PER_TARGET, uint64.MAX)
        return price(MIN_GAS_PRICE, self.excess, conversion)

    def advanced_seconds(self, seconds: int) -> Self:
        """Return the state after some seconds without a block (Fortuna)."""
        return self._advanced(self.target, seconds)

    def advanced_milliseconds(self, milliseconds: int) -> Self:
        """Return the state after some milliseconds without a block (since Granite)."""
        return self._advanced(self.target // MILLISECONDS, milliseconds)

    def seconds_for(self, gas: int) -> int:
        """Return how many seconds the capacity needs to gain some gas (Fortuna)."""
        return _quotient_up(gas, self.target * _RATE_PER_TARGET)

    def milliseconds_for(self, gas: int) -> int:
        """Return how many milliseconds the capacity needs to gain some gas (since Granite)."""
        return _quotient_up(gas, self.target // MILLISECONDS * _RATE_PER_TARGET)

    def _advanced(self, target: int, time: int) -> Self:
        rate = min(target * _RATE_PER_TARGET, uint64.MAX)
        gained = min(rate * time, uint64.MAX)
        return self._replace(
            capacity=min(self.capacity + gained, uint64.MAX, self.max_capacity),
            excess=max(self.excess - min(target * time, uint64.MAX), 0),
        )

    def consumed(self, gas: int) -> Self:
        """Return the state after some gas was used.

        Raises:
            GasStateError: It is more than the capacity.
        """
        if gas > self.capacity:
            raise GasStateError(
                GasStateReason.INSUFFICIENT_CAPACITY, capacity=self.capacity, gas=gas
            )
        return self._replace(
            capacity=self.capacity - gas, excess=min(self.excess + gas, uint64.MAX)
        )

    def voted(self, wanted: int) -> Self:
        """Return the state with the target excess moved towards the wanted one; the price stays about the same."""
        voted = self._replace(
            target_excess=moved(self.target_excess, wanted, MAX_TARGET_EXCESS_CHANGE)
        )
        return voted._replace(
            capacity=min(self.capacity, voted.max_capacity),
            excess=min(self.excess * voted.target // self.target, uint64.MAX),
        )


def _quotient_up(value: int, divisor: int) -> int:
    return -(-value // divisor)


def desired_target_excess(target: int) -> int:
    """Return the target excess to vote for if a node wants this gas per second."""
    return least_excess(target, MIN_TARGET, TARGET_CONVERSION, MAX_TARGET_EXCESS)

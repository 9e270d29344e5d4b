"""The least time between two blocks since Granite, on which proposers vote (ACP-226; coreth.md 5.4)."""

from typing import Final

from cchain_app.rules.coreth.gas_state import least_excess, moved, price

FIRST_EXCESS: Final = 7_970_124
"""The excess in the first block of Granite: two seconds."""
MAX_EXCESS: Final = 46_516_320
"""The least excess whose delay is the highest number of 64 bits."""
MAX_EXCESS_CHANGE: Final = 200
"""Maximum change of the excess by one block."""
_CONVERSION: Final = 2**20
_LEAST: Final = 1


def delay_of(excess: int) -> int:
    """Return the least time to the next block, in milliseconds."""
    return price(_LEAST, excess, _CONVERSION)


def excess_after(excess: int, wanted: int) -> int:
    """Return the excess of the block after one with this excess, moved towards the wanted one."""
    return moved(excess, wanted, MAX_EXCESS_CHANGE)


def desired_excess(milliseconds: int) -> int:
    """Return the excess to vote for if a node wants this delay."""
    return least_excess(milliseconds, _LEAST, _CONVERSION, MAX_EXCESS)

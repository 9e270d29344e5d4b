"""Chain names for code that serves both chains: pointers, the network, metrics.

A node may take part in only some of them (NODE_CHAINS).
"""

from enum import StrEnum
from typing import Final

from django.conf import settings

NAME_LENGTH: Final = 32
"""Most characters of a chain's name in rows."""

MISSING_VOTES = (
    "this node is a validator and does not take part in the C-Chain (NODE_CHAINS=P): the network's C-Chain and "
    "X-Chain miss the votes of its stake, and may stop for that; see docs/network.md"
)
"""Warning about a validator in a network whose validators vote on blocks."""


class Chain(StrEnum):
    """The two chains of a node. The value is the letter in their URL paths."""

    P = "P"
    C = "C"

    @property
    def is_here(self) -> bool:
        """Whether this node takes part in the chain."""
        return self in settings.NODE.chains

    @property
    def absence(self) -> str:
        """Message for requests about the chain if this node does not take part in it."""
        return f"this node does not take part in the {self}-Chain (NODE_CHAINS)"


def present() -> tuple[Chain, ...]:
    """Return the chains that this node takes part in."""
    return tuple(chain for chain in Chain if chain.is_here)

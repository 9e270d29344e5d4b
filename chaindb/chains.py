"""Which chain is meant where both have the same machinery: pointers, the network, figures.

A node need not take part in all of them (NODE_CHAINS).
"""

from enum import StrEnum

from django.conf import settings

MISSING_VOTES = (
    "this node is a validator and does not take part in the C-Chain (NODE_CHAINS=P): the network's C-Chain and "
    "X-Chain miss the votes of its stake, and may stop for that; see docs/network.md"
)
"""Warning about a validator on a network whose validators vote."""


class Chain(StrEnum):
    """The two chains of a node, by the letter of their paths."""

    P = "P"
    C = "C"

    @property
    def is_here(self) -> bool:
        """Whether this node takes part in the chain."""
        return self in settings.NODE.chains

    @property
    def absence(self) -> str:
        """What is said of the chain where it is asked for and this node does not take part in it."""
        return f"this node does not take part in the {self}-Chain (NODE_CHAINS)"


def present() -> tuple[Chain, ...]:
    """Return the chains that this node takes part in."""
    return tuple(chain for chain in Chain if chain.is_here)

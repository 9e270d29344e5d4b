"""The names of chains, for code that serves any chain: events, the network, health, metrics.

A chain's name is its first alias. Rows, events, metrics, logs and paths contain it. NODE_CHAINS may leave out chains of
the primary network.
"""

from collections.abc import Collection
from typing import Final

from django.conf import settings

P_CHAIN: Final = "P"
C_CHAIN: Final = "C"

NAME_LENGTH: Final = 32
"""Most characters of a chain's name in rows."""

MISSING_VOTES = (
    "this node is a validator and does not take part in the C-Chain (NODE_CHAINS=P): the network's C-Chain and "
    "X-Chain miss the votes of its stake, and may stop for that; see docs/network.md"
)
"""Warning about a validator in a network whose validators vote on blocks."""


def takes_part(name: str, chains: Collection[str]) -> bool:
    """Return whether a node with these NODE_CHAINS takes part in a chain; further chains are always included."""
    return name in chains or name not in {P_CHAIN, C_CHAIN}


def is_left_out(name: str) -> bool:
    """Return whether NODE_CHAINS leaves out a chain, in which this node then does not take part."""
    return not takes_part(name, settings.NODE.common.chains)


def absence(name: str) -> str:
    """Return the message for requests about a chain that this node does not take part in."""
    return f"this node does not take part in the {title(name)} (NODE_CHAINS)"


def title(name: str) -> str:
    """Return a chain's name as people see it: P-Chain."""
    return f"{name}-Chain"

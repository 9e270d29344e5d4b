"""What outer blocks ask of the P-Chain: `proposervm.ports.ValidatorState` over its accepted blocks."""

from collections.abc import Mapping
from typing import NamedTuple

from network_app.proposervm.verification import Proposers
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted
from primitives.ids import NodeID

LAG = 30
"""Seconds by which the P-Chain height that blocks name is behind, so that others know it too."""


class _Minimum(NamedTuple):
    """A height, and the times (Unix seconds) for which it is the one to name: from, and before."""

    height: int
    since: int
    until: int


class PlatformValidators:
    """Who may propose, by the heights of the P-Chain. Threads share it.

    Args:
        chain: The P-Chain.
        proposers: Returns the weights of those who may, as of a height.
    """

    def __init__(self, chain: PlatformChain, proposers: Proposers) -> None:
        self._chain = chain
        self._proposers = proposers
        self._minimum = _Minimum(0, 0, 0)

    def current_height(self) -> int:
        """Return the height of the last accepted P-Chain block."""
        return self._chain.tip().height

    def minimum_height(self, now: int) -> int:
        """Return a height that every node has by now (Unix seconds): the one that blocks name.

        It is remembered as long as no later block can be old enough.
        """
        known = self._minimum
        if not known.since <= now < known.until:
            known = self._minimum = self._read_minimum(now)
        return known.height

    def height_at(self, time: int) -> int:
        """Return the height that a block of this time (Unix seconds) names."""
        return accepted.height_at(self._chain, time - LAG) or 0

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        """Return the weights of those who may propose as of a height.

        Raises:
            HeightNotReached: It is above the last accepted one.
        """
        return self._proposers(height)

    def _read_minimum(self, now: int) -> _Minimum:
        height = self.height_at(now)
        # What is accepted from now on is of now, and old enough in half a minute.
        following = accepted.block_at(self._chain, height + 1)
        return _Minimum(height, now, LAG + (now if following is None else following.time))

"""Draws the validators of a poll: units of stake, without replacement (snowman.md 7)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from random import Random

from primitives.ids import NodeID

WIDTH = 128
"""Random bits per unit: twice the bits of any stake, so that all units are equally likely."""
MASK = (1 << WIDTH) - 1


def sample(weights: Mapping[NodeID, int], k: int, random: Random) -> Counter[NodeID] | None:
    """Return how often each node was drawn; None if the total stake is below `k` units.

    Args:
        weights: The current validators' stake in nAVAX, including this node.
        k: Number of units to draw.
        random: The generator; must be unpredictable, or the sample is predictable.
    """
    ends = list(accumulate(weights.values()))
    total = ends[-1] if ends else 0
    if total < k:
        return None
    drawn: set[int] = set()
    while missing := k - len(drawn):
        # Draw all bits in one call: each call asks the system for secure random numbers, which is slow.
        bits = random.getrandbits(missing * WIDTH)
        drawn.update((bits >> WIDTH * place & MASK) % total for place in range(missing))
    nodes = list(weights)
    return Counter(nodes[bisect_right(ends, unit)] for unit in drawn)

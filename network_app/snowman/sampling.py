"""Whom a poll asks: units of stake, drawn without replacement (snowman.md 7)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from random import Random

from primitives.ids import NodeID

WIDTH = 128
"""Bits of which a unit is drawn: twice those of any stake, so that all units are drawn as often."""
MASK = (1 << WIDTH) - 1


def sample(weights: Mapping[NodeID, int], k: int, random: Random) -> Counter[NodeID] | None:
    """Return who was drawn and how often; None where there are fewer units of stake than are drawn.

    Args:
        weights: The current validators' stake in nAVAX, this node's included.
        k: How many units are drawn.
        random: The generator; whoever foresees it foresees who is asked.
    """
    ends = list(accumulate(weights.values()))
    total = ends[-1] if ends else 0
    if total < k:
        return None
    drawn: set[int] = set()
    while missing := k - len(drawn):
        # All at once: the system is asked for numbers that nobody foresees, which takes time.
        bits = random.getrandbits(missing * WIDTH)
        drawn.update((bits >> WIDTH * place & MASK) % total for place in range(missing))
    nodes = list(weights)
    return Counter(nodes[bisect_right(ends, unit)] for unit in drawn)

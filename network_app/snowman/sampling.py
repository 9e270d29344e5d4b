"""Whom a poll asks: units of stake, drawn without replacement (snowman.md 7)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from random import Random

from primitives.ids import NodeID


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
    while len(drawn) < k:
        drawn.add(random.randrange(total))
    nodes = list(weights)
    return Counter(nodes[bisect_right(ends, unit)] for unit in drawn)

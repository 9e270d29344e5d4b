"""Polls: draw the sampled validators by stake, collect their votes, and detect when further votes change nothing.

Units of stake are drawn without replacement (snowman.md 7); early termination: snowman.md 6.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from random import Random

from network_app.snowman.parameters import SnowParameters
from network_app.snowman.trie import number_of
from primitives.ids import ID, NodeID

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


ParentOf = Callable[[ID], ID | None]
"""Returns the parent of a processing block; None for any other."""

Votes = Counter[ID]
"""Votes by block."""


class Reason(StrEnum):
    """The reason why a poll is finished."""

    EXHAUSTED = "exhausted"
    """No votes are outstanding."""
    EARLY_FAIL = "early_fail"
    """All outstanding votes together can no longer make the poll successful."""
    EARLY_ALPHA = "early_alpha"
    """The outstanding votes can no longer change the result."""


@dataclass(slots=True)
class Poll:
    """The votes of one sample.

    Args:
        parameters: The quorums.
        outstanding: Number of times each node was drawn; nodes that have answered are removed.
        parent_of: Looks up parents in the tree of processing blocks.
    """

    parameters: SnowParameters
    outstanding: Counter[NodeID]
    parent_of: ParentOf
    votes: Votes = field(default_factory=Counter)
    reason: Reason | None = None
    """Why the poll is finished; None while it is open."""

    def vote(self, node_id: NodeID, block_id: ID) -> None:
        """Count a node's vote as often as it was drawn; ignore nodes not drawn or already counted."""
        number = self.outstanding.pop(node_id, 0)
        if number:
            self.votes[block_id] += number
            self._update_reason()

    def drop(self, node_id: NodeID) -> None:
        """Note that a node will not vote."""
        if self.outstanding.pop(node_id, 0):
            self._update_reason()

    def _update_reason(self) -> None:
        self.reason = self.reason or self._finished()

    def _finished(self) -> Reason | None:
        outstanding = self.outstanding.total()
        if not outstanding:
            return Reason.EXHAUSTED
        preference = self.parameters.alpha_preference
        confidence = self.parameters.alpha_confidence
        if self.votes.total() + outstanding < preference:
            return Reason.EARLY_FAIL
        counts = list(_counts(self.votes, self.parent_of))
        settled = all(
            count + outstanding < preference
            or preference <= count < confidence - outstanding
            or count >= confidence
            for count in counts
        )
        return Reason.EARLY_ALPHA if counts and settled else None


class PollSet:
    """The open polls by request ID; their results are returned in the order in which they were opened.

    Args:
        parameters: The quorums.
        parent_of: Looks up parents in the tree of processing blocks.
    """

    def __init__(self, parameters: SnowParameters, parent_of: ParentOf) -> None:
        self._parameters = parameters
        self._parent_of = parent_of
        self._polls: dict[int, Poll] = {}
        self.finished: Counter[Reason] = Counter()
        """Number of finished polls by reason."""

    def __len__(self) -> int:
        return len(self._polls)

    @property
    def open(self) -> Mapping[int, Poll]:
        """The open polls by request ID, oldest first."""
        return self._polls

    def add(self, request_id: int, sampled: Counter[NodeID]) -> bool:
        """Open a poll; return False if one with this ID exists."""
        if request_id in self._polls:
            return False
        self._polls[request_id] = Poll(self._parameters, Counter(sampled), self._parent_of)
        return True

    def vote(self, request_id: int, node_id: NodeID, block_id: ID) -> list[Votes]:
        """Count a node's vote; return the votes of the polls that finish, oldest first."""
        poll = self._polls.get(request_id)
        if poll is not None:
            poll.vote(node_id, block_id)
        return self._results()

    def drop(self, request_id: int, node_id: NodeID) -> list[Votes]:
        """Note that a node will not vote; return the votes of the polls that finish, oldest first."""
        poll = self._polls.get(request_id)
        if poll is not None:
            poll.drop(node_id)
        return self._results()

    def _results(self) -> list[Votes]:
        results: list[Votes] = []
        for request_id, poll in list(self._polls.items()):
            if poll.reason is None:
                break
            self.finished[poll.reason] += 1
            results.append(poll.votes)
            del self._polls[request_id]
        return results


def _counts(votes: Votes, parent_of: ParentOf) -> Iterator[int]:
    """Yield all counts that the tree compares with the quorums and that more votes could improve.

    For each block this is the number of votes for it and its descendants. If several children of a block
    have votes, it is also the number of votes for each group of children that share their first bits.
    """
    weights: Counter[ID] = Counter()
    children: dict[ID, set[ID]] = {}
    for block_id, number in votes.items():
        current: ID | None = block_id
        while current is not None:
            weights[current] += number
            parent = parent_of(current)
            if parent is not None:
                children.setdefault(parent, set()).add(current)
            current = parent
    yield from weights.values()
    for siblings in children.values():
        if len(siblings) > 1:
            yield from _shared_prefixes(
                {number_of(sibling): weights[sibling] for sibling in siblings}
            )


def _shared_prefixes(weights: Mapping[int, int]) -> Iterator[int]:
    """Yield the sum of the weights at each bit where IDs branch, except at the first bit of an ID."""
    waiting = [dict(weights)]
    while waiting:
        group = waiting.pop()
        if len(group) < 2:
            continue
        first = next(iter(group))
        different = 0
        for item in group:
            different |= item ^ first
        lowest = different & -different
        if lowest != 1:
            yield sum(group.values())
        waiting += (
            {number: weight for number, weight in group.items() if number & lowest == side}
            for side in (0, lowest)
        )

"""Polls: the votes of those who were asked once, and when waiting for more can change nothing (snowman.md 6)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from network_app.snowman.parameters import Parameters
from network_app.snowman.trie import number_of
from primitives.ids import ID, NodeID

ParentOf = Callable[[ID], ID | None]
"""Returns the parent of a processing block; None of any other."""

Votes = Counter[ID]
"""Votes by block."""


class Reason(StrEnum):
    """Why a poll is finished."""

    EXHAUSTED = "exhausted"
    """Nobody is outstanding."""
    EARLY_FAIL = "early_fail"
    """All that are outstanding together cannot make it a success any more."""
    EARLY_ALPHA = "early_alpha"
    """Those that are outstanding can improve no count."""


@dataclass(slots=True)
class Poll:
    """The votes of one sample.

    Args:
        parameters: How many must agree.
        outstanding: Who was drawn, and how often; whoever has answered leaves it.
        parent_of: Of the tree of processing blocks.
    """

    parameters: Parameters
    outstanding: Counter[NodeID]
    parent_of: ParentOf
    votes: Votes = field(default_factory=Counter)
    reason: Reason | None = None
    """Why it is finished; None while it is not."""

    def vote(self, node_id: NodeID, block_id: ID) -> None:
        """Count a node's vote as often as it was drawn; one that was not, or has spoken, has none."""
        number = self.outstanding.pop(node_id, 0)
        if number:
            self.votes[block_id] += number
            self._look()

    def drop(self, node_id: NodeID) -> None:
        """Note that a node will not vote."""
        if self.outstanding.pop(node_id, 0):
            self._look()

    def _look(self) -> None:
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
    """The open polls by request ID; their results come out in the order in which they began.

    Args:
        parameters: How many must agree.
        parent_of: Of the tree of processing blocks.
    """

    def __init__(self, parameters: Parameters, parent_of: ParentOf) -> None:
        self._parameters = parameters
        self._parent_of = parent_of
        self._polls: dict[int, Poll] = {}
        self.finished: Counter[Reason] = Counter()
        """How many polls have ended for which reason."""

    def __len__(self) -> int:
        return len(self._polls)

    @property
    def open(self) -> Mapping[int, Poll]:
        """The open polls by request ID, in the order in which they began."""
        return self._polls

    def add(self, request_id: int, sampled: Counter[NodeID]) -> bool:
        """Open a poll; False when there is one with this ID."""
        if request_id in self._polls:
            return False
        self._polls[request_id] = Poll(self._parameters, Counter(sampled), self._parent_of)
        return True

    def vote(self, request_id: int, node_id: NodeID, block_id: ID) -> list[Votes]:
        """Count a node's vote; return the votes of the polls that come out, oldest first."""
        poll = self._polls.get(request_id)
        if poll is not None:
            poll.vote(node_id, block_id)
        return self._results()

    def drop(self, request_id: int, node_id: NodeID) -> list[Votes]:
        """Note that a node will not vote; return the votes of the polls that come out, oldest first."""
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
    """Return all counts that a poll of the tree would look at: those that more votes could improve.

    For each block the votes for it and what follows it; for several children of one block also those
    for the ones that have their first bits in common.
    """
    weights: Counter[ID] = Counter()
    children: dict[ID, set[ID]] = {}
    for block_id, number in votes.items():
        one: ID | None = block_id
        while one is not None:
            weights[one] += number
            parent = parent_of(one)
            if parent is not None:
                children.setdefault(parent, set()).add(one)
            one = parent
    yield from weights.values()
    for siblings in children.values():
        if len(siblings) > 1:
            yield from _shared_prefixes({number_of(one): weights[one] for one in siblings})


def _shared_prefixes(weights: Mapping[int, int]) -> Iterator[int]:
    """Return the sum of the weights at each point where IDs branch, but for one at their first bit."""
    waiting = [dict(weights)]
    while waiting:
        group = waiting.pop()
        if len(group) < 2:
            continue
        first = next(iter(group))
        different = 0
        for one in group:
            different |= one ^ first
        lowest = different & -different
        if lowest != 1:
            yield sum(group.values())
        waiting += (
            {one: n for one, n in group.items() if one & lowest == side} for side in (0, lowest)
        )

"""Who of those that take turns says that nothing of theirs is missing here, and when it was asked.

Without voting a block is final where it is made. So nobody takes over from others whose slots have passed
before they have said, asked since, that they made nothing: a block that is long on its way would be
contradicted (`turns`). Pure.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from network_app.ports import Standing
from primitives.ids import NodeID

ABSENT = 6.0
"""Seconds after a question without an answer: who says nothing for so long is not waited for."""
APART = 30.0
"""Seconds after which nobody is waited for that says all the while that it has more: a node on a fork, or
one that claims blocks which it does not have, must not hold up the others."""


class Call(NamedTuple):
    """One question to all."""

    number: int
    asked_at: float
    """Unix seconds."""


@dataclass(slots=True)
class _Member:
    """What one says; seconds of a steady clock, if nothing else is said."""

    last: int = 0
    """Number of the latest call that it has answered."""
    agreed_at: float | None = None
    """Unix seconds at which that was asked, if it agreed."""
    silent_since: float | None = None
    """When the first of the questions was asked that it has not answered."""
    differs_since: float | None = None

    def is_silent(self, now: float) -> bool:
        return self.silent_since is not None and now - self.silent_since > ABSENT

    def standing(self, now: float) -> Standing:
        apart = self.differs_since is not None and now - self.differs_since > APART
        return Standing(self.agreed_at, waited_for=not (apart or self.is_silent(now)))


class Roll:
    """The answers of nodes that take turns with this one.

    Args:
        clock: Steady seconds.
        now: Unix seconds.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._now = now
        self._members: dict[NodeID, _Member] = {}
        self._number = 0

    def call(self, present: Collection[NodeID]) -> Call:
        """Note that these are asked now, all that are connected.

        Who has left does not answer: it is waited for no less than one that is silent.
        """
        clock = self._clock()
        self._number += 1
        for node_id in present:
            self._members.setdefault(node_id, _Member())
        for node_id, member in list(self._members.items()):
            if member.silent_since is None:
                member.silent_since = clock
            if node_id not in present and member.is_silent(clock):
                del self._members[node_id]
        return Call(self._number, self._now())

    def answered(self, node_id: NodeID, call: Call, *, agrees: bool) -> None:
        """Note an answer; `agrees`: it has accepted nothing that is missing here."""
        member = self._members.get(node_id)
        if member is None or call.number <= member.last:
            return
        member.last = call.number
        member.silent_since = None
        if agrees:
            member.agreed_at, member.differs_since = call.asked_at, None
            return
        member.agreed_at = None
        if member.differs_since is None:
            member.differs_since = self._clock()

    def standings(self) -> Mapping[NodeID, Standing] | None:
        """Return how all stand that were asked; None before the first call."""
        clock = self._clock()
        found = {node_id: member.standing(clock) for node_id, member in self._members.items()}
        return found if self._number else None

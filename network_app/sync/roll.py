"""Who of those that take turns has said that nothing is missing here, and when it was asked.

Without voting a block is final where it is made. So nobody takes over from another whose slot has passed
before that one has said, since, that it made nothing: a block that is long on its way would be
contradicted (`turns`). Pure.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from network_app.ports import Agreement
from primitives.ids import NodeID

ABSENT = 6.0
"""Seconds after a question without an answer: who says nothing for so long is not waited for."""
APART = 30.0
"""Seconds without agreement after which nobody is waited for, whatever it says: a node on a fork, or one
that claims blocks which it does not have, must not hold up the others."""


@dataclass(slots=True)
class _Member:
    """One that was asked. Unix seconds."""

    since: float
    """When it was last asked and agreed; before that, when it was asked first."""
    agreed: bool = False
    unanswered: float | None = None
    """When the first of the questions was asked that it has not answered."""


class Roll:
    """The answers of connected nodes that take turns with this one."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._members: dict[NodeID, _Member] = {}
        self._called = False

    def call(self, asked: Collection[NodeID]) -> float:
        """Note that these are asked now, all that are there, and return when that was."""
        now = self._clock()
        self._called = True
        self._members = {
            node_id: self._members.get(node_id) or _Member(since=now) for node_id in asked
        }
        for member in self._members.values():
            if member.unanswered is None:
                member.unanswered = now
        return now

    def answered(self, node_id: NodeID, asked_at: float, *, agrees: bool) -> None:
        """Note an answer; `agrees`: it has accepted nothing that is missing here."""
        member = self._members.get(node_id)
        if member is None:
            return
        member.unanswered = None
        if agrees:
            member.since = max(member.since, asked_at) if member.agreed else asked_at
            member.agreed = True

    def agreement(self) -> Agreement | None:
        """Return how many are waited for, and since when they agree; None before the first call."""
        if not self._called:
            return None
        now = self._clock()
        present = [one for one in self._members.values() if _is_present(one, now)]
        agree = all(one.agreed for one in present)
        since = min((one.since for one in present), default=None) if agree else None
        return Agreement(len(present), since)


def _is_present(member: _Member, now: float) -> bool:
    is_silent = member.unanswered is not None and now - member.unanswered > ABSENT
    return not is_silent and now - member.since <= APART

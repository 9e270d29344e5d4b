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
"""Seconds after which one is not waited for whose last answer is to a question before them."""
APART = 30.0
"""Seconds after which one is not waited for that says all the while that it has more, while nothing comes: a
node on a fork, or one that claims blocks which it does not have, must not hold up the others."""
FORGOTTEN = 60.0
"""Seconds after which one that has left is forgotten: until then it has to answer before it is waited for."""
PAUSE = 3.0
"""Seconds without a call after which all that was said is forgotten: it may be of long ago."""


class Call(NamedTuple):
    """One question to all."""

    number: int
    clock: float
    """Steady seconds."""
    asked_at: float
    """Unix seconds."""


@dataclass(slots=True)
class _Member:
    """What one says; seconds of a steady clock, if nothing else is said."""

    heard: float
    """When the latest question was asked that it has answered; before that, its first one."""
    last: int = 0
    """That question's number."""
    agreed_at: float | None = None
    """Unix seconds of that question, if it agreed."""
    differs: tuple[int, float] | None = None
    """At which of our heights it has had more, and since when."""

    def standing(self, now: float) -> Standing:
        is_apart = self.differs is not None and now - self.differs[1] > APART
        is_absent = now - self.heard > ABSENT
        return Standing(self.agreed_at, waited_for=not (is_apart or is_absent))


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
        self._last: Call | None = None

    def call(self, present: Collection[NodeID]) -> Call:
        """Note that these are asked now, all that are connected."""
        clock = self._clock()
        if self._is_old(clock):
            self._members.clear()
        for node_id in present:
            self._members.setdefault(node_id, _Member(heard=clock))
        for node_id, member in list(self._members.items()):
            if node_id not in present and clock - member.heard > FORGOTTEN:
                del self._members[node_id]
        number = 1 if self._last is None else self._last.number + 1
        self._last = Call(number, clock, self._now())
        return self._last

    def answered(self, node_id: NodeID, call: Call, *, theirs: int, ours: int) -> None:
        """Note an answer: the heights of its last accepted block and of ours."""
        member = self._members.get(node_id)
        if member is None or call.number <= member.last:
            return
        member.last, member.heard = call.number, call.clock
        if theirs <= ours:
            member.agreed_at, member.differs = call.asked_at, None
            return
        member.agreed_at = None
        if member.differs is None or member.differs[0] != ours:
            member.differs = ours, self._clock()

    def standings(self) -> Mapping[NodeID, Standing] | None:
        """Return how all stand that were asked; None before the first call, and after a pause."""
        clock = self._clock()
        if self._is_old(clock):
            return None
        return {node_id: member.standing(clock) for node_id, member in self._members.items()}

    def _is_old(self, clock: float) -> bool:
        return self._last is None or clock - self._last.clock > PAUSE

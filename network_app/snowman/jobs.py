"""Work that waits for blocks to be issued, or to be known never to be (snowman.md 8.1)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from primitives.ids import ID

J = TypeVar("J")


@dataclass(slots=True)
class _Waiting(Generic[J]):
    job: J
    missing: set[ID]
    abandoned: list[ID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ready(Generic[J]):
    """A job of which all that it waited for is settled."""

    job: J
    abandoned: tuple[ID, ...]
    """Of what it waited for, the blocks that will not be issued."""


class Jobs(Generic[J]):
    """Jobs by the blocks that they wait for; those of one block come out as they came in."""

    def __init__(self) -> None:
        self._of: dict[ID, list[_Waiting[J]]] = {}

    def __len__(self) -> int:
        """Return how many blocks are waited for."""
        return len(self._of)

    def waits_for(self, block_id: ID) -> bool:
        """Say whether any job waits for a block."""
        return block_id in self._of

    def add(self, job: J, dependencies: Iterable[ID]) -> Ready[J] | None:
        """Take a job; return it where it waits for nothing."""
        waiting = _Waiting(job, set(dependencies))
        if not waiting.missing:
            return Ready(job, ())
        for block_id in waiting.missing:
            self._of.setdefault(block_id, []).append(waiting)
        return None

    def fulfil(self, block_id: ID) -> list[Ready[J]]:
        """Note that a block was issued; return the jobs that wait for nothing more, in order."""
        return self._settle(block_id, abandoned=False)

    def abandon(self, block_id: ID) -> list[Ready[J]]:
        """Note that a block will not be issued; return the jobs that wait for nothing more, in order."""
        return self._settle(block_id, abandoned=True)

    def _settle(self, block_id: ID, *, abandoned: bool) -> list[Ready[J]]:
        ready: list[Ready[J]] = []
        for waiting in self._of.pop(block_id, ()):
            waiting.missing.discard(block_id)
            if abandoned:
                waiting.abandoned.append(block_id)
            if not waiting.missing:
                ready.append(Ready(waiting.job, tuple(waiting.abandoned)))
        return ready

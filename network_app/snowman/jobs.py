"""Jobs that wait for blocks until they are issued or abandoned (snowman.md 8.1)."""

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
    """A job whose dependencies are all issued or abandoned."""

    job: J
    abandoned: tuple[ID, ...]
    """The dependencies that will not be issued."""


class Jobs(Generic[J]):
    """Jobs by the blocks that they depend on; the jobs of a block are returned in the order of `add`."""

    def __init__(self) -> None:
        self._of: dict[ID, list[_Waiting[J]]] = {}

    def __len__(self) -> int:
        """Return the number of blocks that jobs wait for."""
        return len(self._of)

    def waits_for(self, block_id: ID) -> bool:
        """Return whether any job waits for a block."""
        return block_id in self._of

    def add(self, job: J, dependencies: Iterable[ID]) -> Ready[J] | None:
        """Add a job; return it immediately if it has no dependencies."""
        waiting = _Waiting(job, set(dependencies))
        if not waiting.missing:
            return Ready(job, ())
        for block_id in waiting.missing:
            self._of.setdefault(block_id, []).append(waiting)
        return None

    def fulfil(self, block_id: ID) -> list[Ready[J]]:
        """Note that a block was issued; return the jobs without further dependencies, in order."""
        return self._settle(block_id, abandoned=False)

    def abandon(self, block_id: ID) -> list[Ready[J]]:
        """Note that a block will not be issued; return the jobs without further dependencies, in order."""
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

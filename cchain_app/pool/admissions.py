"""Submissions that wait for each other: under load one commit is shared by all that waited for it. Pure."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cchain_app.pool.entry import Newcomer
from cchain_app.pool.errors import PoolRejection
from cchain_app.txs.errors import InvalidTransaction
from primitives.evm import Hash

Outcome = Hash | PoolRejection | InvalidTransaction
"""The hash of a transaction that is in the pool now, or why it is not."""

Write = Callable[[Sequence[Newcomer]], list[Outcome]]
"""Stores what the pool takes, all in one commit, and returns what became of each."""


@dataclass(slots=True)
class _Job:
    """The transactions of one submission, and in the end their outcomes."""

    newcomers: Sequence[Newcomer]
    outcomes: list[Outcome] = field(default_factory=list)
    error: BaseException | None = None
    done: bool = False


class AdmissionQueue:
    """Whoever comes first writes for all who have come by then; the others wait for it."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._waiting: list[_Job] = []

    def admit(self, newcomers: Sequence[Newcomer], write: Write) -> list[Outcome]:
        """Return what became of a submission's transactions, when they are written.

        Args:
            newcomers: The transactions, in order.
            write: The same for all submissions; theirs and those of others are written in one call.

        Raises:
            Exception: What the database raised; then nothing of the submission was stored.
        """
        job = _Job(newcomers)
        self._waiting.append(job)
        with self._writing:
            if not job.done:
                jobs, self._waiting = self._waiting, []
                _write(jobs, write)
        if job.error is not None:
            raise job.error
        return job.outcomes


def _write(jobs: list[_Job], write: Write) -> None:
    try:
        admitted = iter(write([one for job in jobs for one in job.newcomers]))
        for job in jobs:
            job.outcomes = [next(admitted) for _ in job.newcomers]
    except BaseException as error:  # each waiting thread raises it itself
        for job in jobs:
            job.error = error
    for job in jobs:
        job.done = True

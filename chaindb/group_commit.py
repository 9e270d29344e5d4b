"""Group commit: one database transaction for the work of several threads. Pure.

A transaction costs the same for one piece of work as for fifty. On SQLite there is a second reason:
a connection that waits for the write lock retries after longer and longer pauses. So many frequent
writers keep a rare one, like a block builder, from the lock for seconds.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chaindb.locks import QUEUE_SECONDS
from primitives.fair_lock import WaitedTooLong

W = TypeVar("W")
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class _Share(Generic[W, R]):
    """The work of one thread, and later its results."""

    work: Sequence[W]
    results: list[R] = field(default_factory=list)
    error: BaseException | None = None
    done: bool = False


class GroupCommit(Generic[W, R]):
    """A queue of work that threads share. One thread at a time commits all work queued so far."""

    def __init__(self) -> None:
        self._committing = threading.Lock()
        self._waiting: deque[_Share[W, R]] = deque()

    def run(self, work: Sequence[W], commit: Callable[[Sequence[W]], Sequence[R]]) -> list[R]:
        """Return the results of pieces of work, in order, once they are committed.

        Args:
            work: The pieces of work.
            commit: Runs pieces of work in order, in one transaction, and returns a result for each. It is the same
                function for all threads: one of them runs it for all.

        Raises:
            BaseException: The exception of `commit`. Then nothing of the joint transaction is stored,
                and each thread that took part raises it.
            WaitedTooLong: The work of other threads took `QUEUE_SECONDS`; this work was not started.
        """
        share: _Share[W, R] = _Share(work)
        self._waiting.append(share)
        if not self._committing.acquire(timeout=QUEUE_SECONDS):
            try:
                self._waiting.remove(share)
            except ValueError:  # another thread is committing it
                self._committing.acquire()
            else:
                raise WaitedTooLong
        try:
            if not share.done:
                self._do(self._brought(), commit)
        finally:
            self._committing.release()
        if share.error is not None:
            raise share.error
        return share.results

    def _brought(self) -> list[_Share[W, R]]:
        """Take all queued work; other threads may continue to queue more."""
        shares = []
        while self._waiting:
            shares.append(self._waiting.popleft())
        return shares

    def _do(
        self,
        shares: Sequence[_Share[W, R]],
        commit: Callable[[Sequence[W]], Sequence[R]],
    ) -> None:
        try:
            results = iter(commit([item for share in shares for item in share.work]))
            for share in shares:
                share.results = [next(results) for _ in share.work]
        except BaseException as error:
            for share in shares:
                share.error = error
        for share in shares:
            share.done = True

"""Work submitted while another thread commits is committed together; each thread gets its own results."""

import threading
from collections.abc import Sequence

import pytest

from chaindb import group_commit
from chaindb.group_commit import GroupCommit
from primitives.fair_lock import WaitedTooLong
from tests.integration.patience import SECONDS


class Slow:
    """A commit that doubles numbers; the first one waits until the test releases it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.hold = threading.Event()
        self.done: list[list[int]] = []
        self.fails = False

    def __call__(self, work: Sequence[int]) -> list[int]:
        if not self.done:
            self.begun.set()
            assert self.hold.wait(SECONDS)
        self.done.append(list(work))
        if self.fails and len(self.done) > 1:
            raise RuntimeError("the disk is full")
        return [2 * item for item in work]


def bring(
    group: GroupCommit[int, int], slow: Slow, works: Sequence[Sequence[int]]
) -> list[threading.Thread]:
    """Submit each piece of work from its own thread; return the threads with the results."""
    results: dict[int, object] = {}

    def run(place: int, work: Sequence[int]) -> None:
        try:
            results[place] = group.run(work, slow)
        except RuntimeError as error:
            results[place] = str(error)

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
        thread.results = results  # type: ignore[attr-defined]
    return threads


def waiting(group: GroupCommit[int, int]) -> int:
    """Return the number of threads whose work has not been started."""
    return len(group._waiting)  # there is no public way to learn that all of them wait


def brought_during_the_first(slow: Slow) -> dict[int, object]:
    """Submit one piece, and three more while it is committed; return the results of the three."""
    group: GroupCommit[int, int] = GroupCommit()
    (first,) = bring(group, slow, [[1]])
    assert slow.begun.wait(SECONDS)
    others = bring(group, slow, [[2, 3], [], [4]])
    while waiting(group) < len(others):
        pass
    slow.hold.set()
    for thread in (first, *others):
        thread.join(SECONDS)
    results: dict[int, object] = others[0].results  # type: ignore[attr-defined]
    return results


def test_what_comes_meanwhile_is_committed_together() -> None:
    slow = Slow()
    results = brought_during_the_first(slow)
    assert results == {0: [4, 6], 1: [], 2: [8]}
    first, together = slow.done
    assert first == [1]
    assert sorted(together) == [2, 3, 4]


def test_a_commit_that_fails_fails_for_all_that_took_part_and_for_nobody_later() -> None:
    slow = Slow()
    slow.fails = True
    assert brought_during_the_first(slow) == dict.fromkeys(range(3), "the disk is full")
    slow.fails = False
    assert GroupCommit[int, int]().run([7], slow) == [14]


def test_work_that_waits_too_long_for_others_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "QUEUE_SECONDS", 0.0)
    slow = Slow()
    group: GroupCommit[int, int] = GroupCommit()
    (first,) = bring(group, slow, [[1]])
    assert slow.begun.wait(SECONDS)
    with pytest.raises(WaitedTooLong):
        group.run([2], slow)
    slow.hold.set()
    first.join(SECONDS)
    assert slow.done == [[1]]


def test_a_thread_alone_waits_for_nobody() -> None:
    group: GroupCommit[int, int] = GroupCommit()
    added = [group.run([number], lambda work: [item + 1 for item in work]) for number in range(3)]
    assert added == [[1], [2], [3]]
    with pytest.raises(ZeroDivisionError):
        group.run([0], lambda work: [1 // item for item in work])

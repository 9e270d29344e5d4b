"""Parts that are created at their first use, once for all threads."""

import threading
from collections.abc import Callable

import pytest

from primitives.late import Late


class Whole:
    """An object with late parts."""

    def __init__(self, create: Callable[[], object]) -> None:
        self.late_lock = threading.RLock()
        self._create = create

    @Late
    def part(self) -> object:
        """A part."""
        return self._create()

    @Late
    def other(self) -> tuple[object]:
        """A part that needs the first one."""
        return (self.part,)


def test_a_part_is_created_at_its_first_use_and_kept() -> None:
    created: list[object] = []
    whole = Whole(lambda: created.append(object()) or created[-1])

    assert created == []
    assert whole.other == (whole.part,)
    assert whole.part is created[0]
    assert len(created) == 1
    assert Whole.part.__doc__ == "A part."


def test_threads_that_ask_together_get_the_same_part() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def create() -> object:
        begun.set()
        assert go_on.wait(60)
        return object()

    whole = Whole(create)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(whole.part)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    go_on.set()
    for thread in threads:
        thread.join(60)

    assert found == [whole.part] * 4


def test_a_creation_that_failed_is_tried_again() -> None:
    answers: list[object] = [OSError("no descriptors"), "made"]

    def create() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    whole = Whole(create)
    with pytest.raises(OSError, match="no descriptors"):
        whole.part  # noqa: B018
    assert whole.part == "made"

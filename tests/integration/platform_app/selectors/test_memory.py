"""What is remembered is never older than the rows, and never more than was agreed."""

import pytest

from platform_app import models
from platform_app.selectors.memory import StakerMemory, version
from tests.builders.platform_rows import begin

pytestmark = pytest.mark.django_db


def change_a_staker() -> None:
    row = models.Chain.objects.get()
    models.Chain.objects.update(stakers_height=row.stakers_height + 1)


def test_an_answer_that_was_read_while_a_block_came_is_read_again() -> None:
    begin()
    memory: StakerMemory[str, int] = StakerMemory(4)
    reads: list[int] = []

    def load() -> int:
        reads.append(version().stakers_height)
        if len(reads) == 1:
            change_a_staker()
        return reads[-1]

    assert memory.get("key", load) == 1
    assert reads == [0, 1]
    assert memory.get("key", load) == 1
    assert reads == [0, 1]


def test_everything_is_forgotten_when_a_staker_changes() -> None:
    begin()
    memory: StakerMemory[str, int] = StakerMemory(4)
    memory.get("first", lambda: 1)
    change_a_staker()

    assert memory.get("second", lambda: 2) == 2
    assert memory.get("first", lambda: 3) == 3


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    begin()
    memory: StakerMemory[int, int] = StakerMemory(2)
    for key in (1, 2, 1, 3):
        memory.get(key, lambda: 0)

    assert memory.get(1, lambda: 9) == 0
    assert memory.get(2, lambda: 9) == 9

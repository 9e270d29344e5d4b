"""Pending nonces in memory: valid until the pool or the head changes, also by another process."""

from types import SimpleNamespace
from typing import Any

import pytest

from cchain_app.memory import PoolMemory
from cchain_app.memory.chain import SHARED_SECONDS
from primitives.evm import Address

SENDER = Address(bytes(20))


class Page:
    """The count that the processes of a machine share."""

    def __init__(self) -> None:
        self.pool_changes = 0

    def count_pool_change(self) -> None:
        self.pool_changes += 1


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def state() -> Any:
    return SimpleNamespace(number=7)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def process(clock: Clock, page: Page | None) -> PoolMemory:
    memory = PoolMemory(senders=4, clock=clock)
    memory.shared = page
    return memory


def read(memory: PoolMemory, state: Any, nonce: int) -> None:
    """Keep a nonce as a reader of the rows does."""
    memory.remember_nonce(SENDER, nonce, memory.tag(state))


def known(memory: PoolMemory, state: Any) -> int | None:
    return memory.nonce(SENDER, memory.tag(state))


@pytest.mark.parametrize("page", [None, Page()])
def test_a_nonce_is_kept_until_the_pool_or_the_head_changes(
    clock: Clock, page: Page | None, state: Any
) -> None:
    memory = process(clock, page)
    read(memory, state, 3)
    assert known(memory, state) == 3

    memory.changed()
    assert known(memory, state) is None
    read(memory, state, 4)
    state.number = 8
    assert known(memory, state) is None
    read(memory, state, 5)
    memory.reset()
    assert known(memory, state) is None


def test_a_change_by_another_process_of_the_machine_is_seen_at_once(
    clock: Clock, state: Any
) -> None:
    page = Page()
    one, other = process(clock, page), process(clock, page)
    read(one, state, 3)
    before = other.tag(state)

    other.changed()

    assert known(one, state) is None
    other.remember_nonce(SENDER, 3, before)  # read before the change
    assert known(other, state) is None
    read(other, state, 4)
    assert known(other, state) == 4


def test_an_event_of_another_machine_ends_a_nonce(clock: Clock, state: Any) -> None:
    memory = process(clock, Page())
    read(memory, state, 3)

    memory.note_event()

    assert known(memory, state) is None


def test_a_nonce_beside_other_processes_is_kept_for_a_second(clock: Clock, state: Any) -> None:
    shared, alone = process(clock, Page()), process(clock, None)
    for memory in (shared, alone):
        read(memory, state, 3)

    clock.seconds += SHARED_SECONDS

    assert known(shared, state) is None
    assert known(alone, state) == 3


def test_nothing_is_kept_while_the_head_moves(clock: Clock, state: Any) -> None:
    memory = process(clock, Page())
    state.number = None

    read(memory, state, 3)

    assert len(memory) == 0

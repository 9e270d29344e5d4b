"""Cached answers are returned only while the chain is known to be unchanged, and are bounded."""

from collections.abc import Callable
from math import inf

import pytest

from platform_app.memory import answers
from platform_app.memory.answers import (
    ALWAYS,
    MAX_AGE,
    POLL_SECONDS,
    AnswerMemory,
    ChainPosition,
    Lifetime,
    key_of,
)

HERE = ChainPosition(b"genesis", b"block 1", 0, 0)
ELSEWHERE = {
    "a block": HERE._replace(block_id=b"block 2"),
    "earlier rows": HERE._replace(generation=1),
    "another chain": HERE._replace(genesis_hash=b"another"),
    "another clock": HERE._replace(clock_offset=60),
}
KEY = ("method", b"argument")
WALL = 1_000_000


class Scene:
    """A cache, the position of its chain, and its clocks."""

    def __init__(self, **limits: int) -> None:
        self.place: ChainPosition | None = HERE
        self.elapsed = 100.0
        self.wall = float(WALL)
        self.looks = 0
        self.memory = AnswerMemory(
            self._read, elapsed=lambda: self.elapsed, wall=lambda: self.wall, **limits
        )

    def _read(self) -> ChainPosition | None:
        self.looks += 1
        return self.place

    def read(
        self,
        text: bytes = b"text",
        key: tuple[object, ...] = KEY,
        lifetime: Lifetime = ALWAYS,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> bytes:
        """Read an answer in a thread, while something else happens."""

        def load() -> tuple[bytes, Lifetime]:
            meanwhile()
            return text, lifetime

        return self.memory.read(key, load)

    def known(self, *, lifetime: Lifetime = ALWAYS) -> None:
        """Read an answer so that it is cached, which needs a known position of the chain."""
        self.memory.check_rows()
        self.read(lifetime=lifetime)
        assert self.memory.get(KEY) == b"text"


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_answer_is_remembered_if_the_place_was_known_before_it_was_read(scene: Scene) -> None:
    assert scene.read() == b"text"
    assert scene.memory.get(KEY) is None
    assert scene.read() == b"text"
    assert scene.memory.get(KEY) == b"text"
    assert scene.memory.get(("method", b"another")) is None
    assert (scene.memory.asked.hits.read(), scene.memory.asked.misses.read()) == (1, 2)


def test_nothing_is_handed_out_long_after_the_last_look_at_the_rows(scene: Scene) -> None:
    scene.known()
    scene.elapsed += MAX_AGE * 0.99
    assert scene.memory.get(KEY) == b"text"
    scene.elapsed += MAX_AGE * 0.02
    assert scene.memory.get(KEY) is None
    assert not scene.memory.is_trusted()

    scene.memory.check_rows()
    assert scene.memory.get(KEY) == b"text"


def test_a_look_counts_from_when_it_began(scene: Scene) -> None:
    scene.known()
    read = scene.memory._read

    def slowly() -> ChainPosition | None:
        scene.elapsed += MAX_AGE
        return read()

    scene.memory._read = slowly
    scene.memory.check_rows()
    assert scene.memory.get(KEY) is None


def test_a_look_is_due_soon_while_answers_are_handed_out(scene: Scene) -> None:
    assert not scene.memory.is_due()
    scene.known()
    assert not scene.memory.is_due()
    scene.elapsed += POLL_SECONDS
    assert scene.memory.is_due()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_answers_are_dropped_when_the_chain_position_changes(scene: Scene, name: str) -> None:
    scene.known()
    scene.place = ELSEWHERE[name]
    assert scene.memory.check_rows() == ELSEWHERE[name]
    assert scene.memory.get(KEY) is None
    assert len(scene.memory) == scene.memory.size == 0

    scene.place = HERE
    scene.memory.check_rows()
    assert scene.memory.get(KEY) is None


@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_answer_that_was_read_while_the_chain_moved_is_not_remembered(
    scene: Scene, name: str
) -> None:
    scene.memory.check_rows()

    def move() -> None:
        scene.place = ELSEWHERE[name]

    assert scene.read(meanwhile=move) == b"text"
    assert scene.memory.get(KEY) is None
    assert scene.memory.is_trusted()


def test_nothing_is_handed_out_while_this_process_changes_the_chain(scene: Scene) -> None:
    scene.known()
    with scene.memory.changing():
        assert scene.memory.get(KEY) is None
        # The rows show the old position until the commit, so a check now must have no effect.
        assert scene.memory.check_rows() is None
        scene.read()
        scene.read()
        assert scene.memory.get(KEY) is None
    assert scene.memory.get(KEY) is None
    scene.known()


def test_a_change_that_fails_is_over(scene: Scene) -> None:
    scene.known()
    with pytest.raises(ZeroDivisionError), scene.memory.changing():
        raise ZeroDivisionError
    scene.known()


def test_a_read_that_began_before_a_change_is_not_remembered_after_it(scene: Scene) -> None:
    scene.memory.check_rows()

    def change() -> None:
        with scene.memory.changing():
            pass
        scene.memory.check_rows()  # another reader has checked meanwhile

    scene.read(meanwhile=change)
    assert scene.memory.get(KEY) is None


def test_a_look_that_began_before_a_change_learns_nothing(scene: Scene) -> None:
    scene.known()
    read = scene.memory._read

    def overtaken() -> ChainPosition | None:
        seen = read()
        with scene.memory.changing():
            scene.place = ELSEWHERE["a block"]
        return seen

    scene.memory._read = overtaken
    assert scene.memory.check_rows() is None
    assert not scene.memory.is_trusted()


def test_announced_block_drops_older_answers(scene: Scene) -> None:
    scene.known()
    scene.memory.accepted(HERE.block_id)
    assert scene.memory.get(KEY) == b"text"
    scene.memory.accepted(b"block 2")
    assert scene.memory.get(KEY) is None


def test_without_a_chain_nothing_is_remembered(scene: Scene) -> None:
    scene.place = None
    scene.read()
    scene.read()
    assert scene.memory.get(KEY) is None

    scene.place = HERE
    scene.known()
    scene.place = None
    scene.memory.check_rows()
    assert scene.memory.get(KEY) is None


def test_catching_up_checks_rows_after_a_later_block(scene: Scene) -> None:
    scene.memory.catch_up()
    assert scene.looks == 0  # there is no cached answer that could be outdated

    scene.known()
    scene.place = ELSEWHERE["a block"]
    scene.memory.catch_up()
    assert scene.memory.get(KEY) is None


def test_answer_expires_at_the_next_unlock_time(scene: Scene) -> None:
    scene.place = HERE._replace(clock_offset=50)
    scene.known(lifetime=Lifetime(since=WALL + 50, until=WALL + 60))
    scene.wall = WALL + 9.9
    assert scene.memory.get(KEY) == b"text"
    scene.wall = WALL + 10
    assert scene.memory.get(KEY) is None
    scene.wall = WALL - 0.1  # the machine's clock was set back
    assert scene.memory.get(KEY) is None


def test_changing_answer_expires_after_its_maximum_age(scene: Scene) -> None:
    def slowly() -> None:
        scene.elapsed += MAX_AGE / 2

    scene.memory.check_rows()
    scene.read(lifetime=Lifetime(seconds=1.0), meanwhile=slowly)
    scene.elapsed += 0.99 - MAX_AGE / 2
    scene.memory.check_rows()
    assert scene.memory.get(KEY) == b"text"
    scene.elapsed += 0.02
    scene.memory.check_rows()
    assert scene.memory.get(KEY) is None


def test_least_recently_used_answer_is_evicted_at_the_byte_limit() -> None:
    scene = Scene(max_bytes=5 * answers._ENTRY + 4 * 1000)
    scene.memory.check_rows()
    for number in range(4):
        scene.read(b"x" * 1000, key=(number,))
    assert len(scene.memory) == 4
    assert scene.memory.size == 4 * (1000 + answers._ENTRY + 8)

    scene.memory.get((0,))
    scene.read(b"x" * 1000, key=(4,))
    assert [scene.memory.get((number,)) is not None for number in range(5)] == [
        True, False, True, True, True,
    ]  # fmt: skip
    assert scene.memory.size == 4 * (1000 + answers._ENTRY + 8)


def test_an_answer_that_is_read_again_takes_its_own_place() -> None:
    scene = Scene(max_bytes=10_000)
    scene.memory.check_rows()
    for length in (1000, 3000, 2000):
        scene.read(b"x" * length)
    assert (len(scene.memory), scene.memory.size) == (
        1,
        2000 + answers._ENTRY + len("method") + len(b"argument"),
    )


def test_an_answer_that_is_too_long_is_not_remembered() -> None:
    scene = Scene(max_answer_bytes=2000)
    scene.memory.check_rows()
    assert len(scene.read(b"x" * 2000)) == 2000
    assert len(scene.memory) == 0


def test_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_ENTRIES", 3)
    scene = Scene()
    scene.memory.check_rows()
    for number in range(5):
        scene.read(key=(number,))
    assert len(scene.memory) == 3


def test_request_with_many_arguments_is_not_cached() -> None:
    address = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
    assert key_of("method", ([address], "", 5)) == ("method", (address,), "", 5)
    assert key_of("method", ([address] * 80, "")) is not None
    assert key_of("method", ([address] * 100, "")) is None
    assert Lifetime(-inf, inf, inf) == ALWAYS

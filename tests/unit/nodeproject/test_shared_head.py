"""Processes of one machine stay at the same head: announcements, and the need to check the rows."""

import asyncio
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cchain_app.memory.chain import BlockMemory, PoolMemory
from cchain_app.selectors import blocks
from nodeproject.web import shared_head
from nodeproject.web.shared_head import HeadPage, SharedHead, share_head

SECONDS = 60.0

Begin = Callable[..., "Process"]


class Rows:
    """The rows shared by all processes of a test."""

    def __init__(self) -> None:
        self.head = block(0, b"a")
        self.is_away = False


def block(number: int, mark: bytes) -> Any:
    return SimpleNamespace(number=number, hash=mark * 32, transactions=())


class Process:
    """A simulated process with its memory, which moves as with `Memory` and `catch_up`."""

    def __init__(self, rows: Rows, data: Path, *, has_endpoints: bool = True) -> None:
        self.rows = rows
        self.data = data
        self.looks = 0
        """The number of checks of the rows."""
        self.moves: list[int] = []
        """The heights reported to the first listener."""
        self.blocks = BlockMemory(blocks=8)
        self.blocks.on_head = lambda number, _begins: self.moves.append(number)
        self.pool = PoolMemory(senders=1)
        self.memory: Any = SimpleNamespace(blocks=self.blocks, pool=self.pool, on_rewind=None)
        self._accepted: list[Callable[[Any], object]] = []
        chain: Any = SimpleNamespace(memory=self.memory, process=self, on_accepted=self._accepted)
        shared = share_head(chain, data)
        assert shared is not None
        self.head = shared
        if has_endpoints:
            self.head.begin()
        self.blocks.reset(rows.head)

    def look(self) -> None:
        """Move to the head in the rows, as `catch_up` does."""
        if self.rows.is_away:
            raise OSError("the database is away")
        self.looks += 1
        known, head = self.blocks.head, self.rows.head
        assert known is not None
        if head.number < known.number or (head.number == known.number and head.hash != known.hash):
            self.blocks.reset(head)
        elif head.number > known.number:
            self.blocks.follow(head)

    def commit(self, head: Any) -> None:
        """Accept a block."""
        self.rows.head = head
        self.blocks.follow(head)
        for listener in self._accepted:
            listener([head])

    def go_back(self, head: Any) -> None:
        """Rewind the chain to an earlier block."""
        self.rows.head = head
        self.blocks.reset(head)
        self.memory.on_rewind()

    def told_height(self) -> int:
        """Return the height in the shared page."""
        return HeadPage.at(self.data / "followers" / "head").height

    async def known(self) -> int:
        """Return the height from which a request would be answered, as an endpoint determines it."""
        if not self.head.is_current():
            reached = asyncio.Event()
            self.head.when_current(reached.set)
            await asyncio.wait_for(reached.wait(), SECONDS)
        assert self.blocks.head is not None
        return self.blocks.head.number


async def settled_at(height: int, *processes: Process) -> None:
    """Check that all processes reach a height, even if one causes further checks in the others.

    After that, each block costs every other process a single check.
    """
    for _ in processes:
        assert {await other.known() for other in processes} == {height}
    assert all(element.head.is_current() for element in processes)
    first, *others = processes
    for number in range(height + 1, height + 4):
        looks = [process.looks for process in processes]
        first.commit(block(number, b"s"))
        assert first.told_height() == number
        assert {await entry.known() for entry in processes} == {number}
        assert [item.looks for item in processes] == [looks[0], *(1 + look for look in looks[1:])]
    assert len(others) == len(processes) - 1


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def begin(rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Return a function that starts a process."""
    monkeypatch.setattr(blocks, "catch_up", lambda chain: chain.process.look())
    return lambda **named: Process(rows, tmp_path, **named)


async def both_at(one: Process, other: Process, height: int) -> tuple[int, int]:
    """Check that both processes are at a height; return how often each had checked the rows by then."""
    assert [await one.known(), await other.known()] == [height] * 2
    assert [one.head.is_current(), other.head.is_current()] == [True] * 2
    return one.looks, other.looks


async def test_a_block_of_one_process_is_the_head_of_all(begin: Begin) -> None:
    one, other = begin(), begin()
    looks = await both_at(one, other, 0)

    one.commit(block(1, b"b"))

    assert [one.head.is_current(), other.head.is_current()] == [True, False]
    assert await both_at(one, other, 1) == (looks[0], looks[1] + 1)
    other.commit(block(2, b"c"))
    assert await both_at(one, other, 2) == (looks[0] + 1, looks[1] + 1)
    assert one.moves == other.moves == [0, 1, 2]


async def test_a_process_that_got_the_event_reads_nothing(begin: Begin) -> None:
    one, other = begin(), begin()
    looks = await both_at(one, other, 0)
    one.commit(block(1, b"b"))

    other.blocks.follow(other.rows.head)

    assert await both_at(one, other, 1) == looks


async def test_changes_of_the_pool_are_counted_for_all_processes(begin: Begin) -> None:
    one, other = begin(), begin()
    await both_at(one, other, 0)
    state: Any = SimpleNamespace(number=0)
    before = other.pool.tag(state)

    one.pool.changed()

    assert other.pool.tag(state) != before
    assert [one.head.is_current(), other.head.is_current()] == [True, True]


async def test_an_unpublished_head_of_a_killed_process_is_published_by_its_finder(
    begin: Begin, rows: Rows
) -> None:
    one, other = begin(), begin()
    await both_at(one, other, 0)
    rows.head = block(1, b"b")

    one.look()

    assert one.head.is_current()
    assert not other.head.is_current()
    await both_at(one, other, 1)


async def test_a_rewind_reaches_all_processes(begin: Begin, rows: Rows) -> None:
    one, other = begin(), begin()
    for number in (1, 2, 3):
        one.commit(block(number, b"b"))
        await both_at(one, other, number)
    rows.head = block(1, b"b")

    one.blocks.reset(rows.head)

    assert not other.head.is_current()
    await both_at(one, other, 1)
    one.commit(block(2, b"c"))
    await both_at(one, other, 2)
    assert other.blocks.head is rows.head


async def test_two_concurrent_publishers_both_read(begin: Begin, rows: Rows) -> None:
    one, other = begin(), begin()
    await both_at(one, other, 0)
    other.go_back(rows.head)

    one.commit(block(1, b"b"))

    assert [one.head.is_current(), other.head.is_current()] == [False, False]
    await settled_at(1, one, other)


@pytest.mark.parametrize("has_endpoints", [True, False])
async def test_a_rewind_to_the_same_height_is_reported_once(
    begin: Begin,
    rows: Rows,
    has_endpoints: bool,  # noqa: FBT001
) -> None:
    web, restoring = begin(), begin(has_endpoints=has_endpoints)
    await web.known()
    page = HeadPage.at(web.data / "followers" / "head")
    version, begun = page.version, page.begun

    restoring.go_back(rows.head)

    assert (page.version, page.begun) == (version + 1, begun + 1)
    assert not web.head.is_current()
    assert await web.known() == 0


async def test_if_the_rows_cannot_be_read_the_known_state_is_used(
    begin: Begin, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = begin(), begin()
    await both_at(one, other, 0)
    one.commit(block(1, b"b"))
    rows.is_away = True

    assert await other.known() == 0
    assert other.head.is_current(), "once for what was told, however long they are away"

    assert "could not be read: the database is away" in caplog.text
    rows.is_away = False
    one.commit(block(2, b"c"))
    assert await other.known() == 2


async def test_a_later_process_knows_published_heads(begin: Begin, rows: Rows) -> None:
    one = begin()
    one.commit(block(1, b"b"))
    one.go_back(rows.head)

    other = begin()

    assert await both_at(one, other, 1) == (1, 0), "what was told before it began is in the rows"
    rows.head = block(2, b"c")
    one.look()
    assert await both_at(one, other, 2) == (2, 1)


async def test_head_that_may_be_rewound_is_not_current(begin: Begin, rows: Rows) -> None:
    """A process reads a block, the chain is rewound, and only then the process announces the block."""
    one, slow, other = begin(), begin(), begin()
    for number in range(1, 7):
        one.commit(block(number, b"b"))
        await both_at(one, other, number)
    for number in range(1, 6):
        slow.blocks.follow(block(number, b"b"))
    stale = rows.head
    one.go_back(block(5, b"b"))
    slow.blocks.follow(stale)

    one.commit(block(6, b"c"))

    assert not other.head.is_current()
    await settled_at(6, one, slow, other)


@pytest.mark.parametrize("has_endpoints", [True, False])
async def test_a_process_that_starts_at_an_old_head_hides_no_block(
    begin: Begin,
    rows: Rows,
    has_endpoints: bool,  # noqa: FBT001
) -> None:
    one, other = begin(), begin()
    for number in range(1, 4):
        one.commit(block(number, b"b"))
        await both_at(one, other, number)
    slow, stale = begin(has_endpoints=has_endpoints), rows.head
    one.go_back(block(1, b"b"))
    slow.blocks.reset(stale)

    one.commit(block(2, b"c"))

    assert not other.head.is_current()
    await settled_at(2, one, other)


async def test_a_producer_without_endpoints_publishes_only_its_own_blocks(
    begin: Begin, rows: Rows
) -> None:
    web, other, producer = begin(), begin(), begin(has_endpoints=False)
    await both_at(web, other, 0)
    for number in range(1, 4):
        looks = web.looks, other.looks
        producer.commit(block(number, b"b"))
        assert await both_at(web, other, number) == (looks[0] + 1, looks[1] + 1)
    rows.head = block(4, b"b")
    producer.look()
    assert web.head.is_current(), "nobody has been answered by who has found it"
    producer.go_back(block(2, b"b"))
    await settled_at(2, web, other)
    producer.go_back(block(2, b"b"))
    await settled_at(2, other, web)


async def test_lagging_process_does_not_slow_others_down(begin: Begin, rows: Rows) -> None:
    one, other, third = begin(), begin(), begin()
    for number in range(1, 4):
        one.commit(block(number, b"b"))
        await both_at(one, other, number)
    third.blocks.reset(rows.head)  # as after more blocks than it follows one by one

    await settled_at(3, one, other, third)


class Panic(BaseException):
    """The exception of a native extension that panics."""


async def test_requests_continue_where_a_look_or_a_request_panics(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = begin(), begin()
    await both_at(one, other, 0)

    def panic(*_: object) -> None:
        raise Panic

    with monkeypatch.context() as patched:
        patched.setattr(other, "look", panic)
        one.commit(block(1, b"b"))
        assert await other.known() == 0
    one.commit(block(2, b"b"))
    other.head.when_current(panic)
    assert await other.known() == 2


async def test_a_slow_read_delays_no_other_request(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_head, "LOOK_SECONDS", 0.01)
    one, other = begin(), begin()
    await both_at(one, other, 0)
    let_go, looks = threading.Event(), []
    look = other.look

    def take_long() -> None:
        looks.append(1)
        assert let_go.wait(SECONDS)
        look()

    monkeypatch.setattr(other, "look", take_long)
    for number in (1, 2):
        one.commit(block(number, b"b"))
        assert await other.known() == 0
    assert len(looks) == 1, "one thread waits, not one for each block"
    let_go.set()
    monkeypatch.setattr(shared_head, "LOOK_SECONDS", SECONDS)
    one.commit(block(3, b"b"))
    assert await other.known() == 3


def test_processes_without_a_directory_share_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chain: Any = SimpleNamespace()
    assert share_head(chain, tmp_path / "nowhere") is None
    (tmp_path / "followers").write_text("a file")
    assert share_head(chain, tmp_path) is None
    assert "only known from events" in caplog.text


def test_concurrent_publications_are_all_counted(tmp_path: Path) -> None:
    page = HeadPage.at(tmp_path / "head")

    async def tell() -> None:
        await asyncio.gather(*(asyncio.to_thread(page.publish_head, 0, True) for _ in range(1_000)))

    asyncio.run(tell())

    assert (page.version, page.begun) == (1_000, 1_000)


def test_forked_processes_publish_one_after_the_other(tmp_path: Path) -> None:
    """Celery opens the shared page before it forks its workers."""
    page = HeadPage.at(tmp_path / "head")
    children = []
    for _ in range(3):
        if (child := os.fork()) == 0:
            for _ in range(2_000):
                page.publish_head(0, begins=True)
            os._exit(0)
        children.append(child)

    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert (page.version, page.begun) == (6_000, 6_000)


def test_head_page_is_allocated_on_disk(tmp_path: Path) -> None:
    """A process that writes to a hole of a mapped file is killed if the disk is full."""
    HeadPage.at(tmp_path / "head").publish_head(3)
    assert HeadPage.at(tmp_path / "head").height == 3
    found = (tmp_path / "head").stat()
    assert found.st_size == mmap.PAGESIZE <= 512 * found.st_blocks


def test_an_older_head_is_not_published_again(tmp_path: Path) -> None:
    page = HeadPage.at(tmp_path / "head")
    assert page.publish_head(7) == (1, 0)
    assert (page.publish_head(7), page.publish_head(6)) == (None, None)
    assert page.publish_head(6, True) == (2, 1)
    assert (page.version, page.height, page.begun) == (2, 6, 1)


def test_a_process_that_knows_no_head_has_to_look(tmp_path: Path) -> None:
    pool = PoolMemory(senders=1)
    memory: Any = SimpleNamespace(blocks=BlockMemory(blocks=2), pool=pool, on_rewind=None)
    chain: Any = SimpleNamespace(memory=memory, on_accepted=[])
    head = SharedHead(chain, HeadPage.at(tmp_path / "head"))
    assert not head.is_current()

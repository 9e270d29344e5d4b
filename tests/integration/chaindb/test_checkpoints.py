"""SQLite's write-ahead log is checkpointed beside the writers, during any reads and writes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest
from django.db import OperationalError, connections
from pytest_django import DjangoDbBlocker

from chaindb import checkpoints
from chaindb.checkpoints import MORE_PAGES, PAGES, Checkpointer
from chaindb.database import Database
from nodeproject.settings.databases import sqlite
from nodeproject.settings.node import NodeSettings

ALIAS = "checkpointed"
SECONDS = 60.0
HALF = PAGES // 2


class Scene:
    """An SQLite database with a table that is easily filled."""

    def __init__(self, path: Path) -> None:
        self.db = Database(ALIAS)
        self.log = Path(f"{path}-wal")
        self.db.execute("CREATE TABLE filled (bytes BLOB)")

    def fill(self, pages: int) -> None:
        """Write slightly more than the given number of pages."""
        with self.db.atomic():
            self.db.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
                " INSERT INTO filled SELECT zeroblob(4000) FROM n",
                [pages],
            )

    def salts(self) -> bytes:
        """Return the log's salts, which change when the log is restarted."""
        with self.log.open("rb") as file:
            return file.read(24)[16:]

    def rows(self) -> int:
        ((count,),) = self.db.rows("SELECT count(*) FROM filled")
        return int(count)


@pytest.fixture
def scene(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Scene]:
    path = tmp_path / "node.sqlite3"
    entry = {**deepcopy(connections["default"].settings_dict), **sqlite(path, NodeSettings())}
    connections.databases[ALIAS] = entry
    try:
        with django_db_blocker.unblock():  # the tests' own database is not used
            yield Scene(path)
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.databases[ALIAS]


@pytest.fixture
def reader(scene: Scene) -> Iterator["Reader"]:
    made = Reader(scene)
    yield made
    made.end()


class Reader:
    """A thread that reads a snapshot of the database until it is ended."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._reads, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._reads.wait(SECONDS)

    def end(self) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        with self._scene.db.consistent_read():
            self._scene.rows()
            self._reads.set()
            self._ends.wait(SECONDS)
        connections[ALIAS].close()


def test_long_wal_is_checkpointed_and_restarted_by_the_next_writer(scene: Scene) -> None:
    checkpointer, before = Checkpointer(scene.db), scene.salts()
    scene.fill(HALF)
    assert checkpointer.checkpoint_if_long() is False
    scene.fill(HALF)
    assert checkpointer.checkpoint_if_long() is True
    assert checkpointer.checkpoint_if_long() is False, "nothing has come since"
    scene.fill(1)
    assert scene.salts() != before
    scene.fill(HALF)
    assert checkpointer.checkpoint_if_long() is False, "what is behind a new log's end was copied"
    scene.fill(HALF)
    assert checkpointer.checkpoint_if_long() is True
    assert scene.rows() == 2 * PAGES + 1


def test_writers_wait_for_a_checkpoint_only_if_they_leave_no_gap(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpointer = Checkpointer(scene.db)
    turns: list[int] = []
    take_turn, run = scene.db.turn, scene.db.row

    @contextmanager
    def turn() -> Iterator[None]:
        turns.append(1)
        with take_turn():
            yield

    def beside_a_writer(sql: str) -> object:
        found = run(sql)
        checkpointer._committed.set()
        return found

    monkeypatch.setattr(scene.db, "row", beside_a_writer)
    scene.fill(PAGES)
    before = scene.salts()
    monkeypatch.setattr(scene.db, "turn", turn)
    assert checkpointer.checkpoint_if_long() is True
    assert turns == [1]

    monkeypatch.setattr(scene.db, "row", run)
    scene.fill(PAGES + 1)
    assert scene.salts() != before
    turns.clear()
    assert checkpointer.checkpoint_if_long() is True
    assert turns == []


def test_wal_with_a_reader_is_checkpointed_after_the_reader(scene: Scene, reader: Reader) -> None:
    checkpointer, before = Checkpointer(scene.db), scene.salts()
    scene.fill(PAGES)
    assert checkpointer.checkpoint_if_long() is True
    scene.fill(1)
    assert scene.salts() == before
    assert checkpointer.checkpoint_if_long() is False, "little has come since"
    reader.end()
    scene.fill(MORE_PAGES)
    assert checkpointer.checkpoint_if_long() is True
    scene.fill(1)
    assert scene.salts() != before


def test_unwritten_database_needs_no_checkpoint(scene: Scene) -> None:
    connections[ALIAS].close()  # closing the last connection removes the log
    assert not scene.log.exists()
    assert Checkpointer(scene.db).checkpoint_if_long() is False


def test_checkpoint_thread_runs_after_commits_and_survives_errors(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    failed, copied = threading.Event(), threading.Event()
    copy = scene.db.row

    def fail_once(sql: str) -> object:
        asked.append(sql)
        if len(asked) == 1:
            failed.set()
            raise OperationalError("disk I/O error")
        found = copy(sql)
        if len(asked) == 3:  # the second checkpoint after the failed one, which copies the rest
            copied.set()
        return found

    monkeypatch.setattr(checkpoints, "RETRY", 0)
    monkeypatch.setattr(scene.db, "row", fail_once)
    checkpointer, before = Checkpointer(scene.db), scene.salts()
    checkpointer.start()
    try:
        scene.fill(PAGES)
        assert failed.wait(SECONDS)
        scene.fill(1)
        assert copied.wait(SECONDS)
        scene.fill(1)
    finally:
        checkpointer.stop()
    assert scene.salts() != before
    assert set(asked) == {"PRAGMA wal_checkpoint(PASSIVE)"}
    assert "the write-ahead log is not copied: disk I/O error" in caplog.text


def test_checkpointer_is_notified_once_per_commit(scene: Scene) -> None:
    told: list[int] = []
    scene.db.after_writing = lambda: told.append(scene.rows())
    with scene.db.atomic(), scene.db.atomic():
        scene.db.execute("INSERT INTO filled VALUES ('')")
    with pytest.raises(OperationalError), scene.db.atomic():
        scene.db.execute("INSERT INTO nowhere VALUES ('')")
    assert told == [1]

"""Durability with SQLite: data that others may have seen is flushed to disk, other data may be flushed later."""

import os

import pytest
from django.db import connection, transaction

from chaindb import clock, database
from chaindb.database import Database
from tests.builders.modules import module_with

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were flushed."""
    found: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(database, "os", module_with(os, fsync=note))
    return found


@pytest.fixture
def log() -> list[str]:
    """The path of SQLite's log; PostgreSQL flushes its own log before it answers."""
    if connection.vendor != "sqlite":
        return []
    return [os.path.realpath(f"{connection.settings_dict['NAME']}-wal")]


def test_committed_data_is_flushed_to_disk(flushed: list[str], log: list[str]) -> None:
    with transaction.atomic():
        clock.move(7)
    Database().flush()
    assert flushed == log


def test_flush_without_writes_does_nothing(
    flushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", "/nowhere/node.sqlite3")
    Database().flush()
    assert flushed == []

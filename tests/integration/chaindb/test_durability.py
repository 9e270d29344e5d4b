"""What others may have seen is on the disk; what nobody has seen need not be at once, with SQLite."""

from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from chaindb.durability import on_disk

pytestmark = pytest.mark.django_db(transaction=True)


def level() -> str:
    """Return for what a commit waits, as the database names it."""
    question = "PRAGMA synchronous" if connection.vendor == "sqlite" else "SHOW synchronous_commit"
    with connection.cursor() as cursor:
        cursor.execute(question)
        return str(cursor.fetchone()[0])


@pytest.fixture
def usual() -> str:
    return "1" if connection.vendor == "sqlite" else "on"


@pytest.fixture
def full() -> str:
    return "2" if connection.vendor == "sqlite" else "on"


@pytest.fixture
def always(full: str) -> Iterator[None]:
    """A database whose commits always wait."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=2")
    yield
    connection.close()


def test_within_commits_wait_for_the_disk_and_after_it_no_longer(usual: str, full: str) -> None:
    with on_disk(), transaction.atomic():
        assert level() == full
    assert level() == usual


def test_whatever_is_raised_ends_it(usual: str) -> None:
    with pytest.raises(KeyError), on_disk():
        raise KeyError
    assert level() == usual


def test_within_a_transaction_the_outermost_one_decides(usual: str) -> None:
    with transaction.atomic(), on_disk():
        assert level() == usual
    assert level() == usual


def test_who_always_waits_goes_on_doing_so(full: str, always: None) -> None:
    with on_disk():
        assert level() == full
    assert level() == full

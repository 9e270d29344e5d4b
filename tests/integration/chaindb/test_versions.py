"""The versions of the program that have run on a database."""

import pytest

from chaindb import versions
from chaindb.database import Database
from chaindb.models import ProgramVersion


@pytest.mark.django_db
def test_each_version_is_recorded_once_with_its_first_run() -> None:
    db = Database()
    for version, now in (("0.10.0", 30), ("0.9.1", 10), ("0.10.0", 40)):
        versions.record(db, version, now)

    assert versions.recorded(db) == ["0.9.1", "0.10.0"]
    assert ProgramVersion.objects.get(version="0.10.0").first_run_at.timestamp() == 30


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("earlier", "later"), [("0.2.0", "0.3.0"), ("0.9.0", "0.10.0"), ("0.9.9", "1.0.0")]
)
def test_later_version_is_recognised(earlier: str, later: str) -> None:
    assert versions.is_later(later, earlier)
    assert not versions.is_later(earlier, later)


@pytest.mark.sqlite_only
def test_versions_that_differ_in_the_last_number_store_the_same() -> None:
    assert not versions.is_later("0.2.1", "0.2.0")
    assert not versions.is_later("0.2.0", "0.2.0")

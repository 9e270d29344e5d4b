"""The tables in backups and snapshots."""

import pytest

from nodeproject.copies.tables import (
    EVERYTHING,
    HELD_FIRST,
    SNAPSHOT,
    WITHOUT_PEOPLE,
    first_difference,
)


def test_a_backup_has_every_table_of_a_snapshot() -> None:
    assert set(SNAPSHOT.names()) < set(EVERYTHING.names())
    assert set(HELD_FIRST) < set(SNAPSHOT.names())


def test_tables_are_in_the_order_of_their_names() -> None:
    assert SNAPSHOT.names() == sorted(SNAPSHOT.names())
    assert [table.name for table in EVERYTHING.tables()] == EVERYTHING.names()


def test_a_backup_without_keys_has_no_tables_of_people() -> None:
    missing = set(EVERYTHING.names()) - set(WITHOUT_PEOPLE.names())

    assert {"auth_user", "platform_app_keystorekey"} < missing
    assert len(missing) == 8


def test_each_table_that_a_snapshot_leaves_out_exists() -> None:
    left_out = {
        name
        for name in set(EVERYTHING.names()) - set(SNAPSHOT.names())
        if name.startswith(("chaindb_", "network_app_", "explorer_app_"))
    }
    assert len(left_out) == 13


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        (("a.1",), ("a.1",), None),
        (("a.1", "b.1"), ("a.1",), "b.1"),
        (("b.2",), ("b.1", "b.2"), "b.1"),
    ],
)
def test_first_migration_of_one_side_only_is_found(
    one: tuple[str, ...], other: tuple[str, ...], difference: str | None
) -> None:
    assert first_difference(one, other) == difference

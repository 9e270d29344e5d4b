"""Rows of a table are read as plain values, and written back unchanged."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, models

from cchain_app.models import Account, DevelopmentSettings
from chaindb import rows
from chaindb.database import Database
from chaindb.rows import Table, UnknownColumn
from health_app.models import HealthChange
from nodeproject.copies import tables
from platform_app.models import UTXO, Staker, UTXOOwner

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)

COIN = {
    "tx_id": bytes(32), "output_index": 0, "asset_id": bytes(32), "amount": 1, "locktime": 0, "threshold": 1,
    "height": 0, "output": b"", "stakeable_locktime": 0,
}  # fmt: skip


@pytest.fixture
def database(db: None) -> Database:
    return Database()


def test_every_table_of_the_node_can_be_copied() -> None:
    found = tables.EVERYTHING.tables()
    assert len({table.name for table in found}) == len(found) > 60
    assert all(table.columns for table in found)


@pytest.mark.parametrize("part", [1, 2, 1_000])
def test_extreme_values_round_trip(
    database: Database, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "PART", part)
    table = Table(Account)
    largest = (b"\x02" * 20, 2**64 - 1, str(2**256 - 1), bytes(32))
    smallest = (b"\x01" * 20, 0, "0", b"\xff" * 32)
    between = (b"\x01" * 19 + b"\x02", 2**63, str(10**70), b"\x05" * 32)
    assert table.write(database, [largest, smallest, between]) == 3
    assert list(table.read(database)) == [smallest, between, largest]
    assert table.count(database) == 3
    account = Account.objects.get(address=b"\x02" * 20)
    assert (account.nonce, account.balance) == (2**64 - 1, 2**256 - 1)
    table.empty(database)
    assert table.count(database) == 0


@pytest.mark.skipif(
    connection.vendor != "postgresql",
    reason="the node collects statistics of tables on PostgreSQL alone",
)
def test_copied_rows_have_statistics_at_once(database: Database) -> None:
    table = Table(Account)
    table.write(database, [(bytes([place]) * 20, 0, "7", bytes(32)) for place in range(40)])

    found = (
        "SELECT most_common_vals::text FROM pg_stats WHERE tablename = %s AND attname = 'balance'"
    )
    assert database.rows(found, [table.name]) == [("{7}",)]


def test_times_json_and_booleans_round_trip(database: Database) -> None:
    table = Table(HealthChange)
    HealthChange.objects.create(
        name="C", healthy=False, error="stück \\N \t\n", message={"a": [1, None, "ä"]}, at=AT
    )
    (row,) = table.read(database)
    values = dict(zip(table.columns, row, strict=True))
    assert (values["healthy"], values["at"], values["error"]) == (False, AT, "stück \\N \t\n")
    table.empty(database)
    table.write(database, [row])
    found = HealthChange.objects.get()
    assert (found.message, found.at, found.healthy) == ({"a": [1, None, "ä"]}, AT, False)
    assert list(table.read(database)) == [row]


def test_null_values_round_trip(database: Database) -> None:
    table = Table(HealthChange)
    table.write(database, [(7, "C", True, "", None, AT)])
    assert HealthChange.objects.get().message is None
    assert list(table.read(database)) == [(7, "C", True, "", None, AT)]


def test_composite_key_columns_keep_their_order(database: Database) -> None:
    table = Table(UTXOOwner)
    made = [(bytes([byte]) * 20, bytes([other]) * 32) for byte in (2, 1) for other in (9, 3)]
    for address, utxo in made:
        coin = UTXO.objects.get_or_create(utxo_id=utxo, defaults=COIN)[0]
        UTXOOwner.objects.create(address=address, utxo=coin)
    assert table.columns == ("address", "utxo_id")
    assert list(table.read(database)) == sorted(made)


def test_row_that_violates_a_constraint_is_refused(database: Database) -> None:
    table = Table(HealthChange)
    row = (7, "C", True, "", None, AT)
    with pytest.raises(IntegrityError):
        table.write(database, [row, row])


def test_floats_of_settings_are_carried() -> None:
    assert "block_interval" in Table(DevelopmentSettings).columns
    assert "position" in Table(Staker).columns


def test_unknown_column_type_is_refused() -> None:
    with pytest.raises(UnknownColumn, match="cannot be copied to another database"):
        rows._kind(models.DurationField())

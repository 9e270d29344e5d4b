"""A database that answers but rejects writes: the checks of both chains report it with a message."""

import json
from functools import partial

import pytest
from django.db import connection

from chaindb.database import Database
from health_app import services
from health_app.history import HistoryWriter
from health_app.models import WriteProbe
from health_app.reporter import Reporter
from health_app.writing import Writes
from tests.builders import network_rows

READ_ONLY = {"sqlite": "PRAGMA query_only=1", "postgresql": "SET TRANSACTION READ ONLY"}
WRITABLE = {"sqlite": "PRAGMA query_only=0", "postgresql": "SELECT 1"}


def execute(statements: dict[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements[connection.vendor])


def test_read_only_database_is_reported_for_both_chains(reporter: Reporter, writes: Writes) -> None:
    network_rows.report()
    history = HistoryWriter(
        partial(services.record, Database()), partial(services.touch, Database()), writes=writes
    )
    history._try()
    reporter.run_once()
    assert reporter.health().healthy

    reporter._changed = lambda *_: None  # the history cannot be written either
    execute(READ_ONLY)
    try:
        history._try()
        reporter.run_once()
    finally:
        execute(WRITABLE)

    found = reporter.health().to_json()["checks"]
    assert {
        name: check["error"] for name, check in found.items() if "error" in check
    } == dict.fromkeys(
        ("C", "P", "X"),
        "consensus is not healthy reason: the database takes no writes: it is read-only",
    )
    assert json.dumps(found)


@pytest.mark.django_db
def test_write_check_leaves_one_row() -> None:
    for _ in range(3):
        services.touch(Database())

    assert WriteProbe.objects.count() == 1

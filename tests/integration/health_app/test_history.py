"""The health history: each change once, whichever processes report it."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections

from chaindb.database import Database
from health_app import services, tasks
from health_app.models import HealthChange
from health_app.reporter import Reporter
from health_app.result import CheckResult
from tests.builders import network_rows
from tests.builders.node_settings import updated
from tests.integration.health_app.conftest import FOLLOWING

SECOND = 1_000_000_000
ENDED = 1_790_000_000 * SECOND + 250_000_000


def failing(error: str) -> CheckResult:
    return CheckResult({"connectedPeers": 0}, error, ended=ENDED, contiguous_failures=1)


PASSING = CheckResult({"connectedPeers": 3}, ended=ENDED)


def rows() -> list[tuple[str, bool, str]]:
    found = HealthChange.objects.order_by("id")
    return list(found.values_list("name", "healthy", "error"))


@pytest.mark.django_db
def test_change_is_stored_with_all_its_fields() -> None:
    assert services.record(Database(), "network", failing("alone"))

    row = HealthChange.objects.get()
    assert (row.name, row.healthy, row.error) == ("network", False, "alone")
    assert row.message == {"connectedPeers": 0}
    assert row.at == datetime.fromtimestamp(ENDED / SECOND, UTC)
    assert str(row) == "network fails"


@pytest.mark.django_db
def test_unchanged_result_is_not_stored_again() -> None:
    told = ["silent for 3s", "silent for 8s", "", "", "silent for 1m2s", "alone", "alone"]
    outcomes = [
        services.record(Database(), "network", failing(error) if error else PASSING)
        for error in told
    ]

    assert outcomes == [True, False, True, False, True, True, False]
    assert [error for *_, error in rows()] == ["silent for 3s", "", "silent for 1m2s", "alone"]


@pytest.mark.django_db
def test_checks_have_separate_histories() -> None:
    for name in ("C", "P", "C"):
        services.record(Database(), name, PASSING)

    assert rows() == [("C", True, ""), ("P", True, "")]


@pytest.mark.django_db
def test_oldest_changes_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_CHANGES", 3)
    for number in range(4):
        services.record(Database(), "C", failing(f"fault {'x' * number}"))
        services.record(Database(), "C", PASSING)

    assert [healthy for _, healthy, _ in rows()] == [True, False, True]


@pytest.mark.node_settings(bootstrap=FOLLOWING)
def test_checks_store_their_changes(reporter: Reporter) -> None:
    network_rows.report(last_sent_at=None, last_received_at=None)
    reporter.run_once()
    reporter.run_once()
    network_rows.report(connected=1)
    reporter.run_once()

    network = [(healthy, error) for name, healthy, error in rows() if name == "network"]
    assert network == [
        (
            False,
            "network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0, "
            "no messages received from network, no messages sent to network",
        ),
        (True, ""),
    ]
    assert [healthy for name, healthy, _ in rows() if name == "X"] == [True]


@pytest.mark.django_db(transaction=True)
def test_several_processes_write_a_change_once() -> None:
    services.record(Database(), "C", PASSING)
    outcomes: list[bool] = []
    together = threading.Barrier(4)

    def process() -> None:
        try:
            together.wait(60)
            outcomes.append(services.record(Database(), "C", failing("stuck")))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=process) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == [False, False, False, True]
    assert rows() == [("C", True, ""), ("C", False, "stuck")]


@pytest.mark.django_db(transaction=True)
def test_table_can_be_dropped_and_created_again() -> None:
    call_command("migrate", "health_app", "zero", verbosity=0)
    assert "health_app_healthchange" not in tables()

    call_command("migrate", "health_app", verbosity=0)
    assert "health_app_healthchange" in tables()


def tables() -> Any:
    with connection.cursor() as cursor:
        return connection.introspection.table_names(cursor)


@pytest.mark.django_db
def test_measurement_older_than_the_last_change_is_ignored() -> None:
    """Each process reports the end of a database outage; the second report arrives late."""
    first, passed = (
        failing("PostgreSQL does not answer"),
        replace(PASSING, ended=ENDED + 5 * SECOND),
    )
    late = replace(first, ended=ENDED + SECOND)

    outcomes = [
        services.record(Database(), "C", change) for change in (first, passed, late, passed)
    ]

    assert outcomes == [True, True, False, False]
    assert services.record(Database(), "C", replace(first, ended=ENDED + 6 * SECOND)), (
        "that is another outage"
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("days", "left"),
    [
        (0, [("C", 9), ("C", 2), ("C", 0), ("P", 9), ("P", 5)]),
        (3, [("C", 2), ("C", 0), ("P", 5)]),
        (1, [("C", 0), ("P", 5)]),
    ],
)
def test_old_changes_are_forgotten_by_setting_but_how_each_check_is(
    days: int, left: list[tuple[str, int]], settings: Any
) -> None:
    now = datetime.now(UTC)
    for name, age in (("C", 9), ("C", 2), ("C", 0), ("P", 9), ("P", 5)):
        HealthChange.objects.create(
            name=name, healthy=True, error="", at=now - timedelta(days=age, hours=1)
        )
    settings.NODE = updated(settings.NODE, history_health=days)

    assert tasks.prune_history() == {"forgotten": 5 - len(left)}

    found = HealthChange.objects.order_by("id")
    assert [(change.name, (now - change.at).days) for change in found] == left


@pytest.mark.django_db
def test_writers_of_a_process_take_turns(turns: list[Database]) -> None:
    db = Database()

    services.record(db, "C", PASSING)
    services.touch(db)
    services.prune(db, 1, datetime.now(UTC))

    assert turns == [db] * 3

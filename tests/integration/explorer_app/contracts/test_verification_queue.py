"""Verifications as queued rows: which worker takes them, when they are retried, and which data is kept."""

from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from cchain_app.forking.errors import UpstreamAway, UpstreamReason
from explorer_app.api import endpoint
from explorer_app.models import Verification, VerificationState, VerifiedContract
from explorer_app.services import verification
from explorer_app.store import contracts as contract_rows
from nodeproject.apps import this_node
from tests.builders.compilers import RecordedCompilers
from tests.integration.explorer_app.contracts.conftest import PASSED, Explored, refused


def test_verification_of_an_ended_process_has_limited_retries(
    explored: Explored,
) -> None:
    found = explored.deploy("counter")
    guid = explored.post(**explored.form(found))["result"]
    taken = {"state": VerificationState.RUNNING, "worker": "another", "tries": 1}
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    Verification.objects.filter(pk=guid).update(**taken, started_at=long_ago)

    assert explored.work() == 1
    assert explored.status(guid) == PASSED

    VerifiedContract.objects.all().delete()
    guid = explored.post(**explored.form(found))["result"]
    Verification.objects.filter(pk=guid).update(
        **taken | {"tries": verification.MAX_TRIES}, started_at=long_ago
    )
    explored.work()
    assert explored.status(guid)["reason"] == "The node could not finish the verification"


@pytest.mark.node_settings(profile="embedded")
def test_verification_without_stored_result_is_retried(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(this_node().explorer, "compilers", RecordedCompilers())
    guid = explored.post(**explored.form(explored.deploy("counter")))["result"]
    with monkeypatch.context() as broken:
        broken.setattr(
            contract_rows, "succeed", Mock(side_effect=OperationalError("disk I/O error"))
        )
        with pytest.raises(OperationalError):
            explored.work()
    assert Verification.objects.get(pk=guid).state == VerificationState.RUNNING

    assert explored.work() == 1
    assert explored.status(guid) == PASSED


def test_a_verification_waits_for_the_remote_node_of_a_fork_and_not_for_ever(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    guid = explored.post(**explored.form(explored.deploy("counter")))["result"]
    monkeypatch.setattr(endpoint, "SECONDS", 0.0)
    away = Mock(
        side_effect=UpstreamAway(UpstreamReason.NO_ANSWER, host="a.test", problem="no connection")
    )

    def work() -> int:
        with monkeypatch.context() as broken:
            broken.setattr("explorer_app.services.verification.accounts.creation", away)
            return explored.work()

    for attempt in range(1, verification.MAX_TRIES + 3):
        assert (work(), away.call_count) == (1, attempt)
        assert explored.status(guid) == refused("Pending in queue")
    other = explored.post(**explored.form(explored.deploy("vault")))["result"]
    work()
    assert Verification.objects.get(pk=other).started_at  # the delayed one does not block it
    assert explored.work() == 2
    assert explored.status(guid) == explored.status(other) == PASSED

    VerifiedContract.objects.all().delete()
    guid = explored.post(**explored.form(explored.deploy("counter")))["result"]
    long_ago = datetime.now(UTC) - verification.PATIENCE - timedelta(seconds=1)
    Verification.objects.filter(pk=guid).update(submitted_at=long_ago)
    work()
    assert explored.status(guid)["reason"].endswith("state: a.test does not answer: no connection")


@pytest.mark.node_settings(profile="production")
def test_verifications_run_one_at_a_time(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(this_node().explorer, "compilers", RecordedCompilers())
    form = explored.form(explored.deploy("counter"))
    guid = explored.post(**form)["result"]
    explored.post(**explored.form(explored.deploy("vault")))
    now = {"state": VerificationState.RUNNING, "started_at": datetime.now(UTC)}
    Verification.objects.filter(pk=guid).update(**now, worker=explored.site.worker)

    assert explored.work() == 0


def test_verifications_are_deleted_after_a_day(explored: Explored) -> None:
    explored.verified("counter")
    Verification.objects.update(finished_at=datetime.now(UTC) - timedelta(days=1, seconds=1))

    explored.post(**explored.form(explored.deploy("vault")))

    assert [row.name for row in Verification.objects.all()] == ["Vault"]


def test_finished_verifications_lose_their_input(explored: Explored) -> None:
    found = explored.deploy("counter")
    wrong = "0x" + explored.deploy("vault").addresses["vault"]
    for changes in ({}, {"contractaddress": wrong}):
        explored.post(**explored.form(found, **changes))
    assert all(len(row.input) > 100 for row in Verification.objects.all())

    assert explored.work() == 2

    over = Verification.objects.values_list("state", "input").order_by("state")
    assert list(over) == [(VerificationState.PASSED, ""), (VerificationState.FAILED, "")]


def test_idle_tick_takes_one_query_and_no_transaction(
    explored: Explored, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    explored.verified("counter")

    with django_assert_num_queries(1) as asked:
        assert explored.work() == 0

    assert asked[0]["sql"].startswith("SELECT")


def test_queries_of_open_verifications_use_the_partial_index(explored: Explored) -> None:
    explored.post(**explored.form(explored.deploy("counter")))
    with CaptureQueriesContext(connection) as asked:
        explored.work()
    about = [query["sql"] for query in asked if '"explorer_app_verification"' in query["sql"]]
    among = [query for query in about if '"state" = ' in query.partition("WHERE")[2]]

    assert len(among) >= 3
    for sql in among:
        assert '"state" < 2' in sql
    if connection.vendor == "sqlite":  # PostgreSQL's planner uses no index for so few rows
        with connection.cursor() as cursor:
            for sql in among:
                cursor.execute("EXPLAIN QUERY PLAN " + sql)
                assert "explorer_verifications_open" in str(cursor.fetchall())

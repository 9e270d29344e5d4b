"""Rows of consensus reports and decisions: readers get the reported values."""

from dataclasses import replace

import pytest

from chaindb.database import Database
from network_app import selectors
from network_app.models import BlockDecision
from network_app.services import DatabaseRecords
from tests.builders import network_rows
from tests.builders.consensus_report import REPORT, decided, node_id

pytestmark = pytest.mark.django_db


def heights() -> list[int]:
    return list(BlockDecision.objects.order_by("id").values_list("height", flat=True))


def test_consensus_report_expires_with_its_process() -> None:
    records = DatabaseRecords(Database(), "203.0.113.7:9651")
    records.consensus(replace(REPORT, last_height=0), [])
    records.consensus(REPORT, [])
    assert selectors.consensus() == {"C": REPORT}
    assert selectors.consensus_now("C") is None

    network_rows.report()
    assert selectors.consensus_now("C") == REPORT
    assert selectors.consensus_now("P") is None
    network_rows.report(heartbeat_at=network_rows.ago(60))
    assert selectors.consensus_now("C") is None


def test_new_run_keeps_only_decisions_of_the_last_run() -> None:
    records = DatabaseRecords(Database(), "203.0.113.7:9651")
    records.consensus(REPORT, [decided(1)])
    DatabaseRecords(Database(), "203.0.113.7:9651").begin()
    assert selectors.consensus() == {}
    assert heights() == [1]


def test_oldest_decisions_are_deleted() -> None:
    records = DatabaseRecords(Database(), "203.0.113.7:9651", decisions=4)
    records.consensus(REPORT, [decided(1, proposer=node_id(7)), decided(2, accepted=False)])
    first, second = selectors.decisions("C", 10)[::-1]
    assert (first.height, first.accepted, first.proposer) == (1, True, str(node_id(7)))
    assert (second.height, second.accepted, second.proposer) == (2, False, None)
    assert (first.decided_at - first.issued_at).total_seconds() == 2.0

    records.consensus(REPORT, [decided(number) for number in (3, 4, 5)])
    assert heights() == [2, 3, 4, 5]
    records.consensus(REPORT, [])
    assert heights() == [2, 3, 4, 5]
    records.consensus(replace(REPORT, alias="P"), [decided(number) for number in range(6, 16)])
    assert heights() == [12, 13, 14, 15]


def test_a_batch_is_a_few_statements(django_assert_num_queries: object) -> None:
    records = DatabaseRecords(Database(), "203.0.113.7:9651")
    records.consensus(REPORT, [])
    counted = django_assert_num_queries
    with counted(5):  # type: ignore[operator]  # savepoint, report, decisions, the oldest, savepoint
        records.consensus(REPORT, [decided(number) for number in range(1, 51)])

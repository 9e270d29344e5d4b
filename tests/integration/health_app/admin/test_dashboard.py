"""The health summary on the admin's index page."""

import pytest

from health_app import admin
from health_app.checks import HealthCheck
from health_app.reporter import Reporter
from health_app.result import Finding

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def reporter(db: None) -> Reporter:
    return Reporter(
        (
            HealthCheck("P", lambda: Finding({}), frozenset()),
            HealthCheck(
                "network", lambda: Finding({}, "it is bad reason: alone, silent"), frozenset()
            ),
        ),
        changed=lambda *_: None,
        interval=60.0,
    )


def test_before_the_first_run(reporter: Reporter) -> None:
    cards = admin.overview(reporter).cards
    assert [card.title for card in cards] == ["Network", "P-Chain"]
    assert all("not yet run" in str(card.value) for card in cards)


def test_each_check_has_a_card(reporter: Reporter) -> None:
    reporter.run_once()
    network, platform = admin.overview(reporter).cards

    assert ">passes<" in str(platform.value)
    assert platform.note == ""
    assert ">fails<" in str(network.value)
    for words in ("it is bad", ">alone<", ">silent<"):
        assert words in str(network.note)


def test_failing_check_shows_cause_and_action(db: None) -> None:
    failing = "network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0"
    reporter = Reporter(
        (
            HealthCheck("network", lambda: Finding({}, failing), frozenset()),
            HealthCheck("C", lambda: Finding({}, "the moon <is> full"), frozenset()),
            HealthCheck("P", lambda: Finding({}), frozenset()),
        ),
        changed=lambda *_: None,
        interval=60.0,
    )
    assert [panel.title for panel in admin.overview(reporter).panels] == ["Latest changes"]
    reporter.run_once()
    failures, _ = admin.overview(reporter).panels
    text = str(failures.body)
    assert text.count("<tr>") == 3
    for words in (
        "no peer is connected", "check NODE_BOOTSTRAP, NODE_PUBLIC_IP", "the moon &lt;is&gt; full", "check the log",
        " UTC",
    ):  # fmt: skip
        assert words in text, words


@pytest.mark.usefixtures("history")
def test_latest_changes_link_to_their_pages(reporter: Reporter) -> None:
    (panel,) = admin.overview(reporter).panels

    assert panel.title == "Latest changes"
    assert str(panel.body).count("/admin/health_app/healthchange/") == admin.CHANGES
    assert "the database does not answer: OperationalError" in panel.body

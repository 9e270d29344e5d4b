"""What the admin's first page says of health."""

import pytest

from health_app.admin import history
from health_app.checks import Check
from health_app.reporter import Reporter
from health_app.result import Finding


@pytest.fixture
def reporter(db: None) -> Reporter:
    return Reporter(
        (
            Check("P", lambda: Finding({}), frozenset()),
            Check("network", lambda: Finding({}, "it is bad reason: alone, silent"), frozenset()),
        ),
        changed=lambda *_: None,
        interval=60.0,
    )


def test_before_the_first_run(reporter: Reporter) -> None:
    cards = history.overview(reporter).cards
    assert [card.title for card in cards] == ["Network", "P-Chain"]
    assert all("not yet run" in str(card.value) for card in cards)


def test_each_check_has_a_card(reporter: Reporter) -> None:
    reporter.run_once()
    network, platform = history.overview(reporter).cards

    assert ">passes<" in str(platform.value)
    assert platform.note == ""
    assert ">fails<" in str(network.value)
    for words in ("it is bad", ">alone<", ">silent<"):
        assert words in str(network.note)


@pytest.mark.usefixtures("history")
def test_the_latest_changes_lead_to_their_pages(reporter: Reporter) -> None:
    (panel,) = history.overview(reporter).panels

    assert panel.title == "Latest changes"
    assert str(panel.body).count("/admin/health_app/healthchange/") == history.CHANGES
    assert "the database does not answer: OperationalError" in panel.body

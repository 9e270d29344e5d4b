"""The content of the pages of bootstrapping and of the network process."""

from datetime import UTC, datetime, timedelta

import pytest

from network_app.models import ChainSync
from network_app.ports import DialFailure
from network_app.store import sync
from tests.builders import network_rows
from tests.builders.network_rows import ago
from tests.integration.admin_pages import Browse
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import detail, listing

pytestmark = pytest.mark.usefixtures("network")


def _measure(height: int) -> None:
    """Let ten seconds pass in which the C-Chain reaches a height, and measure the rate."""
    now = datetime.now(UTC)
    before = now - timedelta(seconds=10)
    ChainSync.objects.filter(pk="C").update(height=height, measured_at=before, measured_height=250)
    sync.measure(now)


def test_both_chains_are_listed_with_a_bar(browse: Browse) -> None:
    page = browse(listing("chainsync"))
    assert [row.chain for row in page.rows] == ["P", "C"]
    for shown in (
        ">bootstrapped</span>", "100 %", ">bootstrapping</span>", "25 %", "250 of 1,000 blocks", "4,321",
        'aria-valuenow="25"', "width:25%", "width:100%", "time unknown",
    ):  # fmt: skip
        assert shown in page.text, shown


def test_measured_rate_and_time_left_are_shown(browse: Browse) -> None:
    _measure(300)
    for path in (listing("chainsync"), detail("chainsync", "C")):
        text = browse(path).text
        assert "5.0 blocks/s" in text
        assert "2 min left" in text


def test_progress_from_a_later_start_counts_like_its_percentage(browse: Browse) -> None:
    ChainSync.objects.filter(pk="C").update(
        start_height=12_300, height=12_612, target_height=12_681
    )
    for path in (listing("chainsync"), detail("chainsync", "C")):
        text = browse(path).text
        assert "81 %" in text
        assert "312 of 381 blocks since height 12,300" in text
        assert "of 12,681" not in text


def test_progress_is_incomplete_until_all_is_done(browse: Browse) -> None:
    past.begin_bootstrap("C", height=99_999, target=100_000)
    assert "99 %" in browse(listing("chainsync")).text


def test_a_way_of_unknown_length_has_just_begun(browse: Browse) -> None:
    past.begin_bootstrap("C", height=0, target=0)
    assert "width:0%" in browse(detail("chainsync", "C")).text


def test_silent_process_is_shown_as_interrupted(browse: Browse) -> None:
    _measure(300)
    network_rows.report(heartbeat_at=ago(60))
    text = browse(listing("chainsync")).text
    assert ">interrupted</span>" in text
    assert "min left" not in text


def test_page_shows_received_and_undecided_blocks(browse: Browse) -> None:
    ChainSync.objects.filter(pk="P").update(outstanding=3, oldest_outstanding_at=ago(130))
    text = browse(detail("chainsync", "P")).text
    assert "oldest received" in text
    assert "2 min ago" in text
    assert "none" in browse(detail("chainsync", "C")).text


def test_process_page_shows_readable_sizes(browse: Browse) -> None:
    for path in (listing("networkstatus"), detail("networkstatus", 1)):
        text = browse(path).text
        for shown in (
            ">alive</span>", "203.0.113.7:9651", "65 connected",
            "1,234 addresses known of validators and bootstrappers",
            "12,345 messages", "54,321 messages", "5.0 MiB", "999 bytes", "3.2 % of the latest",
        ):  # fmt: skip
            assert shown in text, shown
    assert "140" in text
    assert "75" in text


def test_dial_failures_of_bootstrappers_are_shown(browse: Browse) -> None:
    path = detail("networkstatus", 1)
    assert "Bootstrappers not connected" in browse(path).text
    failure = DialFailure("10.0.0.1:9651", "clock", "this node's clock is 90 s ahead", 90)
    network_rows.report(dial_failures=[failure._asdict()])
    assert "10.0.0.1:9651: this node&#x27;s clock is 90 s ahead" in browse(path).text


def test_single_address_is_singular(browse: Browse) -> None:
    network_rows.report(known=1)
    assert (
        ">1 address known of validators and bootstrappers<" in browse(listing("networkstatus")).text
    )


def test_a_process_that_does_not_report_is_called_silent(browse: Browse) -> None:
    network_rows.report(heartbeat_at=ago(400), last_sent_at=None)
    text = browse(listing("networkstatus")).text
    assert ">silent</span>" in text
    assert "reported 6 min ago" in text
    assert browse(detail("networkstatus", 1)).status == 200


def test_times_are_those_of_the_wall(browse: Browse) -> None:
    began = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)
    ChainSync.objects.update(started_at=began, finished_at=began + timedelta(hours=1))
    text = browse(detail("chainsync", "P")).text
    assert "2026-02-03 04:05:06 UTC" in text
    assert "2026-02-03 05:05:06 UTC" in text

"""Lists and pages of peers: content, links and search."""

import pytest
from django.utils.html import escape

from adminkit.display import NOTHING, coin_symbol
from chaindb import clock
from network_app.models import Peer
from platform_app.apps import platform_chain
from platform_app.services import uptime
from tests.builders import network_rows, own_node, platform_history
from tests.builders.network_rows import ago
from tests.integration.admin_pages import Browse
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import detail, listing

pytestmark = pytest.mark.usefixtures("network")

CONNECTED = {past.node(number) for number in range(0, past.PEERS, 2)}
VALIDATORS = {past.node(number) for number in range(past.VALIDATORS)}
EVERYBODY = {past.node(number) for number in range(past.PEERS)}


def _all(browse: Browse, show: str) -> list[object]:
    """Return the keys on all pages of a filtered list."""
    query, keys = f"?show={show}", []
    while query is not None:
        page = browse(listing("peer") + query)
        keys += [row.pk for row in page.rows]
        query = page.response.context["cl"].next_url
    return keys


@pytest.mark.parametrize(
    ("show", "expected"),
    [
        ("connected", CONNECTED),
        ("gone", EVERYBODY - CONNECTED),
        ("validators", VALIDATORS),
        ("all", EVERYBODY),
    ],
)
def test_a_part_of_the_list_has_its_peers_once_and_in_order(
    browse: Browse, show: str, expected: set[object]
) -> None:
    assert _all(browse, show) == sorted(expected, key=bytes)  # type: ignore[arg-type]


def test_connected_peers_are_shown_first(browse: Browse) -> None:
    assert {row.pk for row in browse(listing("peer")).rows} < CONNECTED


def test_a_connected_validator_is_listed_with_all_that_matters(browse: Browse) -> None:
    text = browse(listing("peer"), q=str(past.node(4))).text
    for shown in (
        str(past.node(4)), ">connected</span>", "for 3 h", "198.51.100.4:50004", "outbound",
        "avalanchego/1.14.2", ">4 %<", ">not observed<", ">C-Chain</span>", ">P-Chain</span>",
    ):  # fmt: skip
        assert shown in text, shown
    period = platform_history.validator_tx(4).unsigned.validator
    delegated = 25 + 4
    assert f"{period.weight // platform_history.COIN + delegated:,} {coin_symbol()}" in text


def test_disconnected_peer_shows_when_it_was_last_seen(browse: Browse) -> None:
    Peer.objects.filter(pk=past.node(5)).update(last_seen=ago(2 * past.HOUR + 5))
    text = browse(listing("peer"), q=str(past.node(5))).text
    assert ">not connected</span>" in text
    assert "last 2 h ago" in text
    assert "inbound" in text


def test_connections_are_unknown_while_the_process_is_silent(browse: Browse) -> None:
    network_rows.report(heartbeat_at=ago(60))
    text = browse(listing("peer"), q=str(past.node(4))).text
    assert ">unknown</span>" in text
    assert ">connected</span>" not in text


def test_non_validator_has_no_stake_and_no_measured_uptime(browse: Browse) -> None:
    text = browse(detail("peer", past.node(100))).text
    assert "not a validator" in text
    assert "100 %" in text
    assert "100.00 %" not in text


def test_non_validator_shows_no_observed_uptime(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = (f"{listing('peer')}?q={past.node(4)}", detail("peer", past.node(4)))
    assert all(">4 %<" in browse(path).text for path in paths)

    own_node.be(monkeypatch, past.node(100))

    for path, before in zip(
        paths, ("field-observed", "This node&#x27;s uptime, as reported</label>"), strict=True
    ):
        said = browse(path).text.partition(before)[2].partition("</span>")[0]
        assert said.endswith(NOTHING.removesuffix("</span>"))


def test_peers_are_shown_before_there_is_a_certificate(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node.be(monkeypatch, None)
    assert ">4 %<" not in browse(listing("peer"), q=str(past.node(4))).text


def test_shown_uptime_is_measured_by_this_node(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    uptime.observe(platform_chain(), [past.node(2), past.node(4)], platform_history.NOW)
    uptime.observe(platform_chain(), [past.node(2)], platform_history.NOW + 100)
    period = platform_history.validator_tx(4).unsigned.validator
    # Advance by the time it has validated so far, without observing it.
    later = 2 * platform_history.NOW - period.start
    monkeypatch.setattr(clock, "now", lambda: later)
    text = browse(detail("peer", past.node(4))).text
    assert ">50.00 %<" in text
    assert "nd-bad" in text


def test_a_page_has_all_that_is_known(browse: Browse) -> None:
    subnet = platform_history.subnet_tx(1).tx_id
    text = browse(detail("peer", past.node(4))).text
    for shown in (
        "198.51.100.4:50004", "203.0.113.4:9651", "outbound: this node dialled it", str(subnet),
        ">23</span>", ">99</span>", ">77</span>", "2026-09-21 14:13:20 UTC", "units",
    ):  # fmt: skip
        assert shown in text, shown
    for path in (
        f"/admin/platform_app/validator/?q={past.node(4)}",
        f"{listing('outerblock')}?q={past.node(4)}",
        f"/admin/platform_app/subnet/{subnet}/change/",
    ):
        assert f'href="{escape(path)}"' in text, path


def test_peer_without_upgrade_has_no_upgrade_date(browse: Browse) -> None:
    Peer.objects.filter(pk=past.node(4)).update(upgrade_time=0)
    assert "1970-01-01" not in browse(detail("peer", past.node(4))).text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (str(past.node(4)), 4),
        (f" {past.node(5)} ", 5),
        ("0x" + past.node(4).hex(), 4),
        ("198.51.100.4", 4),
        ("198.51.100.4:50004", 4),
        ("203.0.113.4:9651", 4),
        ("203.0.113.4", 4),
        ("2001:db8::5", 5),
        ("[2001:DB8::5]", 5),
        ("[2001:db8::5]:9651", 5),
    ],
)
def test_a_peer_is_found_by_node_and_address(browse: Browse, text: str, number: int) -> None:
    assert [row.pk for row in browse(listing("peer"), q=text).rows] == [past.node(number)]


@pytest.mark.parametrize("text", ["198.51.100", "198.51.100.4:5000", "198.51.100.4:", "%", "9651"])
def test_a_part_of_an_address_finds_nothing(browse: Browse, text: str) -> None:
    page = browse(listing("peer"), q=text)
    assert page.rows == []
    assert f"Nothing found for “{escape(text)}”." in page.text


def test_search_respects_the_chosen_filter(browse: Browse) -> None:
    assert browse(listing("peer"), q=str(past.node(5)), show="connected").rows == []


def test_texts_of_a_peer_are_escaped(browse: Browse) -> None:
    Peer.objects.filter(pk=past.node(4)).update(version="<script>alert(1)</script>")
    for path in (listing("peer"), detail("peer", past.node(4))):
        assert "<script>alert" not in browse(path, q="198.51.100.4").text

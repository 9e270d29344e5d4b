"""The network summary on the index page."""

from typing import Any

import pytest

from adminkit.display import coin_symbol
from network_app import models
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from primitives.ids import NodeID
from tests.builders import network_rows, own_node
from tests.builders.network_rows import ago
from tests.builders.node_settings import updated
from tests.integration.admin_pages import Browse
from tests.integration.network_app.admin import past
from tests.integration.network_app.admin.paths import ADMIN, detail, listing

pytestmark = pytest.mark.sqlite_only

SECTION = '<section aria-label="{}">'


def _network(browse: Browse) -> str:
    text = browse(ADMIN).text
    start = text.index(SECTION.format("Network"))
    return text[start : text.index(SECTION.format("P-Chain"), start)]


@pytest.mark.usefixtures("network")
def test_dashboard_shows_peers_stake_bootstrap_heartbeat_and_messages(browse: Browse) -> None:
    text = _network(browse)
    for shown in (
        "65 connected", "1,234 addresses known of validators and bootstrappers",
        ">alive</span>", "203.0.113.7:9651", "12,345",
        "5.0 MiB", "54,321", "999 bytes", "3.2 % of the latest failed",
        ">100 %</a>", ">25 %</a>", "250 of 1,000", 'aria-valuenow="25"', "time unknown",
        f'href="{listing("peer")}"', f'href="{detail("chainsync", "C")}"',
    ):  # fmt: skip
        assert shown in text, shown


@pytest.mark.usefixtures("network")
def test_connected_stake_is_that_of_connected_validators_and_our_own(browse: Browse) -> None:
    models.Peer.objects.exclude(pk=past.node(2)).update(connected_since=None)
    weights = _weights()
    connected = weights[past.node(0)] + weights[past.node(2)]
    share = 1_000 * connected // sum(weights.values())
    text = _network(browse)
    assert f">{share // 10}.{share % 10} %<" in text
    assert f"of {sum(weights.values()) // 1_000_000:,} {coin_symbol()}" in text


@pytest.mark.usefixtures("network")
def test_own_uptime_is_that_reported_by_peers(browse: Browse) -> None:
    models.Peer.objects.update(observed_uptime=0)
    weights = _weights()
    own = 1_000 * weights[past.node(0)] // sum(weights.values())
    assert f">{own // 10}.{own % 10} % of the stake reports enough for a reward<" in _network(
        browse
    )


@pytest.mark.usefixtures("network")
def test_a_node_that_does_not_validate_has_no_uptime(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node.be(monkeypatch, past.node(100))
    assert "as peers report" not in _network(browse)


@pytest.mark.usefixtures("network")
def test_dashboard_works_without_an_identity(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node.be(monkeypatch, None)
    assert "Stake connected" not in _network(browse)


@pytest.mark.usefixtures("network")
def test_percent_and_blocks_are_of_the_same_way(browse: Browse) -> None:
    models.ChainSync.objects.filter(pk="C").update(
        start_height=12_300, height=12_612, target_height=12_681
    )
    text = _network(browse)
    assert ">81 %</a>" in text
    assert "312 of 381 blocks since height 12,300, time unknown, 69 behind peers" in text


@pytest.mark.usefixtures("network")
def test_following_chain_shows_undecided_blocks(browse: Browse) -> None:
    past.end_bootstrap("C")
    assert "all received blocks are decided" in _network(browse)
    models.ChainSync.objects.filter(pk="C").update(outstanding=2)
    assert "2 blocks received and not yet decided" in _network(browse)


@pytest.mark.usefixtures("network")
def test_a_silent_process_has_no_peers_and_bootstraps_nothing(browse: Browse) -> None:
    network_rows.report(connected=65, heartbeat_at=ago(60))
    text = _network(browse)
    for shown in ("0 connected", ">silent</span>", ">interrupted</span>", "reported 1 min ago"):
        assert shown in text, shown


@pytest.mark.usefixtures("network")
def test_node_without_bootstrappers_is_not_shown_as_bootstrapped(
    browse: Browse, settings: Any
) -> None:
    settings.NODE = updated(settings.NODE, bootstrap=())
    past.end_bootstrap("C")
    for text in (_network(browse), browse(listing("chainsync")).text):
        assert ">no bootstrappers</span>" in text
        assert "NODE_BOOTSTRAP is empty" in text
        assert "100 %" not in text.replace("100.0 %", "")
        assert ">bootstrapped<" not in text


@pytest.mark.usefixtures("network")
def test_own_uptime_without_peers_has_no_report(browse: Browse) -> None:
    models.Peer.objects.update(connected_since=None)
    text = _network(browse)
    assert "no report" in text
    assert "reports enough for a reward" not in text


@pytest.mark.usefixtures("network")
def test_dashboard_takes_few_statements(browse: Browse) -> None:
    browse(ADMIN)
    again = browse(ADMIN)
    # The report twice, the connected peers, both chains; health reads none of it here.
    assert len(again.chain_statements) == 4
    assert all("OFFSET" not in sql and "COUNT(" not in sql for sql, _ in again.chain_statements)


def _weights() -> dict[NodeID, int]:
    current = stakers.current_validators(platform_chain()).validators
    return {item.node_id: item.weight + item.delegator_weight for item in current}


@pytest.mark.usefixtures("network")
def test_obstacle_of_a_chain_is_shown(browse: Browse) -> None:
    words = "all 5 validators accepted C-Chain block 22"
    models.ChainSync.objects.filter(pk="C").update(obstacle=words)
    text = _network(browse)
    assert ">blocked</span>" in text
    assert words in text
    assert words in browse(detail("chainsync", "C")).text

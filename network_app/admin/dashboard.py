"""What the admin's first page says of the network, in few cheap questions."""

from datetime import UTC, datetime

from adminkit.overview import Card, Overview
from network_app import selectors
from network_app.admin import display, formats, links
from network_app.admin.status import alive
from network_app.models import ChainSync, NetworkStatus, SyncPhase
from platform_app.admin.formats import round_coins
from platform_app.chain import NoGenesis


def overview() -> Overview | None:
    """Return the state of the network, or None when its process never ran."""
    status = selectors.status()
    if status is None:
        return None
    fresh = selectors.is_fresh(status)
    return Overview(
        name="Network",
        cards=(
            _peers_card(status, is_fresh=fresh),
            *_stake_cards(),
            *_bootstrap_cards(is_fresh=fresh),
            _heartbeat_card(status),
            *_message_cards(status),
        ),
        panels=(),
    )


def _peers_card(status: NetworkStatus, *, is_fresh: bool) -> Card:
    # Whoever was connected when the process was killed is not any more.
    count = status.connected if is_fresh else 0
    page = links.list_page("peer")
    return Card(
        "Peers",
        display.link(f"{count:,} connected", page),
        formats.format_known(status.known),
    )


def _stake_cards() -> tuple[Card, ...]:
    try:
        stake, seen = selectors.connected_stake(), selectors.uptime_of_self()
    except (NoGenesis, OSError):  # before the first start has made genesis and certificate
        return ()
    connected = Card(
        "Stake connected",
        display.share(stake.fraction),
        f"{round_coins(stake.connected)} of {round_coins(stake.total)}",
    )
    if seen is None:
        return (connected,)
    return connected, Card(
        "Our uptime, peers say",
        formats.format_share(seen.weighted_average / 100),
        f"{formats.format_share(seen.rewarding_stake / 100)} of the stake would reward it",
    )


def _bootstrap_cards(*, is_fresh: bool) -> tuple[Card, ...]:
    rows = selectors.syncs()
    return tuple(
        _bootstrap_card(rows[alias], is_fresh=is_fresh) for alias in formats.CHAINS if alias in rows
    )


def _bootstrap_card(row: ChainSync, *, is_fresh: bool) -> Card:
    words = [row.place]
    if is_fresh and row.phase != SyncPhase.BOOTSTRAPPED:
        left = formats.format_left(row.seconds_left)
        words = [*words, left] if row.waiting is None else [str(row.waiting)]
    if row.obstacle is not None:
        words = [row.place, row.obstacle]
    page = links.page("chainsync", row.chain)
    return Card(
        f"{formats.CHAINS[row.chain]} bootstrap",
        display.line(display.link(f"{row.percent} %", page), display.progress_bar(row)),
        display.stack(display.sync_phase(row, is_fresh=is_fresh), ", ".join(words)),
    )


def _heartbeat_card(status: NetworkStatus) -> Card:
    age = formats.age_of(status.heartbeat_at, datetime.now(UTC))
    page = links.list_page("networkstatus")
    return Card(
        "Network process",
        display.line(display.link("Status", page), alive(status)),
        f"{status.ip}, reported {age}",
    )


def _message_cards(status: NetworkStatus) -> tuple[Card, ...]:
    return (
        Card(
            "Messages sent",
            f"{status.messages_sent:,}",
            f"{formats.format_bytes(status.bytes_sent)}, "
            f"{formats.format_share(status.send_fail_rate)} of the latest failed",
        ),
        Card(
            "Messages received",
            f"{status.messages_received:,}",
            formats.format_bytes(status.bytes_received),
        ),
    )

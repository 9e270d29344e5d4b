"""The status of the network process in the admin and on its start page: one row, updated once a second."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.dashboard import Card, Overview
from adminkit.terms import IdentifierTerm
from network_app import selectors
from network_app.admin import display
from network_app.admin.rows import NetworkRowsAdmin
from network_app.models import ChainSync, NetworkStatus, SyncPhase
from network_app.ports import DialFailure
from platform_app.admin.display import round_coins
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from primitives.counting import counted


@admin.register(NetworkStatus)
class NetworkStatusAdmin(NetworkRowsAdmin):
    """The last report, which is the only one."""

    list_display = ("own_address", "heartbeat", "peers", "sent", "received", "failures", "age")
    ordering = ("id",)
    fieldsets = (
        (None, {"fields": ("own_address", "heartbeat", "reported", "started")}),
        ("Peers", {"fields": ("peers", "not_connected", "connections", "disconnections")}),
        ("Messages", {"fields": ("sent", "last_sent", "received", "last_received", "failures")}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [Q(ip=term.text)]

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        for row in rows:
            row.now = datetime.now(UTC)

    @admin.display(description="Address")
    def own_address(self, row: NetworkStatus) -> str:
        """Return the address that this node advertises."""
        return row.ip

    @admin.display(description="Heartbeat")
    def heartbeat(self, row: Any) -> SafeString:
        """Return whether the network process is running."""
        return display.pair(
            process_badge(row), f"reported {display.age_of(row.heartbeat_at, row.now)}"
        )

    @admin.display(description="Last report")
    def reported(self, row: NetworkStatus) -> SafeString:
        """Return when the network process wrote this report."""
        return display.clock_time(row.heartbeat_at)

    @admin.display(description="Started")
    def age(self, row: Any) -> SafeString:
        """Return how long ago the network process started."""
        return display.unbroken(display.age_of(row.started_at, row.now))

    @admin.display(description="Started")
    def started(self, row: Any) -> SafeString:
        """Return when the network process started."""
        return display.since(row.started_at, row.now)

    @admin.display(description="Peers")
    def peers(self, row: NetworkStatus) -> SafeString:
        """Return the number of connected peers, and the number of known addresses whether connected or not."""
        known = display.muted(display.format_known(row.known))  # long, so line breaks are allowed
        return display.one_per_line(display.unbroken(f"{row.connected:,} connected"), known)

    @admin.display(description="Bootstrappers not connected")
    def not_connected(self, row: NetworkStatus) -> SafeString:
        """Return why bootstrappers are not connected, one line each."""
        failures = [DialFailure(**failure) for failure in row.dial_failures]
        if not failures:
            return display.muted("none")
        return display.one_per_line(*(f"{item.address}: {item.message}" for item in failures))

    @admin.display(description="Connections since start")
    def connections(self, row: NetworkStatus) -> str:
        """Return the number of connections so far."""
        return f"{row.times_connected:,}"

    @admin.display(description="Connections closed since start")
    def disconnections(self, row: NetworkStatus) -> str:
        """Return the number of connections that have ended."""
        return f"{row.times_disconnected:,}"

    @admin.display(description="Sent")
    def sent(self, row: NetworkStatus) -> SafeString:
        """Return the messages and bytes sent since the process started."""
        return _traffic(row.messages_sent, row.bytes_sent)

    @admin.display(description="Received")
    def received(self, row: NetworkStatus) -> SafeString:
        """Return the messages and bytes received since the process started."""
        return _traffic(row.messages_received, row.bytes_received)

    @admin.display(description="Last sent")
    def last_sent(self, row: Any) -> SafeString:
        """Return when the last message was sent."""
        return display.since(row.last_sent_at, row.now)

    @admin.display(description="Last received")
    def last_received(self, row: Any) -> SafeString:
        """Return when the last message was received."""
        return display.since(row.last_received_at, row.now)

    @admin.display(description="Failed sends")
    def failures(self, row: NetworkStatus) -> SafeString:
        """Return the number of messages that could not be sent, and the share among the latest."""
        share = display.format_share(row.send_fail_rate)
        return display.pair(f"{row.send_failures:,}", f"{share} of the latest")


def process_badge(row: NetworkStatus) -> SafeString:
    """Return whether the network process is running, by its last report."""
    if selectors.is_fresh(row):
        return display.badge("alive", "good")
    return display.badge("silent", "bad")


def _traffic(messages: int, size: int) -> SafeString:
    return display.pair(counted(messages, "message"), display.format_bytes(size))


def overview() -> Overview | None:
    """Return the state of the network, or None if its process has never run."""
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
    # If the process was killed, its connections have ended.
    count = status.connected if is_fresh else 0
    page = display.list_page("peer")
    return Card(
        "Peers",
        display.link(f"{count:,} connected", page),
        display.format_known(status.known),
    )


def _stake_cards() -> tuple[Card, ...]:
    try:
        found = selectors.peers()
        chain = platform_chain()
        stake, seen = (
            selectors.connected_stake(chain, found),
            selectors.uptime_of_self(chain, found),
        )
    except (NoPlatformGenesis, OSError):  # genesis and certificate are created on the first start
        return ()
    connected = Card(
        "Stake connected",
        display.share(stake.fraction),
        f"{round_coins(stake.connected)} of {round_coins(stake.total)}",
    )
    if seen is None:
        return (connected,)
    if not found:
        return connected, Card(
            "This node's uptime, as reported by peers",
            display.muted("no report"),
            "no peer is connected",
        )
    return connected, Card(
        "This node's uptime, as reported by peers",
        display.format_share(seen.weighted_average / 100),
        f"{display.format_share(seen.rewarding_stake / 100)} of the stake reports enough for a reward",
    )


def _bootstrap_cards(*, is_fresh: bool) -> tuple[Card, ...]:
    rows = selectors.syncs()
    return tuple(
        _bootstrap_card(rows[alias], is_fresh=is_fresh)
        for alias in display.chain_names()
        if alias in rows
    )


def _bootstrap_card(row: ChainSync, *, is_fresh: bool) -> Card:
    words = [row.progress_text]
    if is_fresh and row.phase != SyncPhase.BOOTSTRAPPED:
        left = display.format_left(row.seconds_left)
        words = [*words, left] if row.waiting is None else [str(row.waiting)]
    if row.obstacle is not None:
        words = [row.progress_text, row.obstacle]
    words.append(_behind(row))
    page = display.page("chainsync", row.chain)
    if not selectors.follows():
        state = display.link(display.sync_phase(row, is_fresh=is_fresh), page)
        why = display.NOBODY_TO_FOLLOW if row.obstacle is None else row.obstacle
        return Card(f"{display.title(row.chain)} bootstrap", state, why)
    return Card(
        f"{display.title(row.chain)} bootstrap",
        display.side_by_side(display.link(f"{row.percent} %", page), display.progress_bar(row)),
        display.one_per_line(display.sync_phase(row, is_fresh=is_fresh), ", ".join(words)),
    )


def _behind(row: ChainSync) -> str:
    """Return how far the chain is behind its peers, according to the network process."""
    if row.phase != SyncPhase.BOOTSTRAPPED:
        return f"{max(0, row.target_height - row.height):,} behind peers"
    if not row.outstanding:
        return "all received blocks are decided"
    return f"{counted(row.outstanding, 'block')} received and not yet decided"


def _heartbeat_card(status: NetworkStatus) -> Card:
    age = display.age_of(status.heartbeat_at, datetime.now(UTC))
    page = display.list_page("networkstatus")
    return Card(
        "Network process",
        display.side_by_side(display.link("Status", page), process_badge(status)),
        f"{status.ip}, reported {age}",
    )


def _message_cards(status: NetworkStatus) -> tuple[Card, ...]:
    return (
        Card(
            "Messages sent",
            f"{status.messages_sent:,}",
            f"{display.format_bytes(status.bytes_sent)}, "
            f"{display.format_share(status.send_fail_rate)} of the latest failed",
        ),
        Card(
            "Messages received",
            f"{status.messages_received:,}",
            display.format_bytes(status.bytes_received),
        ),
    )

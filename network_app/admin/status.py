"""What the network's process says of itself, in the admin: one row, once a second."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.identifiers import IdentifierAdmin, Term
from network_app import selectors
from network_app.admin import display, formats
from network_app.models import NetworkStatus


@admin.register(NetworkStatus)
class NetworkStatusAdmin(IdentifierAdmin):
    """The one report there is: the last."""

    list_display = ("own_address", "heartbeat", "peers", "out", "into", "failures", "age")
    ordering = ("id",)
    fieldsets = (
        (None, {"fields": ("own_address", "heartbeat", "reported", "started")}),
        ("Peers", {"fields": ("peers", "came", "went")}),
        ("Messages", {"fields": ("out", "last_out", "into", "last_into", "failures")}),
    )

    @override
    def lanes(self, term: Term) -> list[Q]:
        return [Q(ip=term.text)]

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        for row in rows:
            row.now = datetime.now(UTC)

    @admin.display(description="Address")
    def own_address(self, row: NetworkStatus) -> str:
        """Return where this node says that it is reached."""
        return row.ip

    @admin.display(description="Heartbeat")
    def heartbeat(self, row: Any) -> SafeString:
        """Return whether the network's process lives."""
        return display.pair(alive(row), f"reported {formats.age_of(row.heartbeat_at, row.now)}")

    @admin.display(description="Last report")
    def reported(self, row: NetworkStatus) -> SafeString:
        """Return when the network's process wrote this."""
        return display.clock_time(row.heartbeat_at)

    @admin.display(description="Started")
    def age(self, row: Any) -> SafeString:
        """Return how long ago the network's process began."""
        return display.unbroken(formats.age_of(row.started_at, row.now))

    @admin.display(description="Started")
    def started(self, row: Any) -> SafeString:
        """Return when the network's process began."""
        return display.since(row.started_at, row.now)

    @admin.display(description="Peers")
    def peers(self, row: NetworkStatus) -> SafeString:
        """Return how many are connected, and how many addresses are kept, whoever is connected."""
        known = display.faint(formats.format_known(row.known))  # may be broken: it is long
        return display.stack(display.unbroken(f"{row.connected:,} connected"), known)

    @admin.display(description="Connections so far")
    def came(self, row: NetworkStatus) -> str:
        """Return how often a peer came."""
        return f"{row.times_connected:,}"

    @admin.display(description="Of them ended")
    def went(self, row: NetworkStatus) -> str:
        """Return how often a peer went."""
        return f"{row.times_disconnected:,}"

    @admin.display(description="Sent")
    def out(self, row: NetworkStatus) -> SafeString:
        """Return what was sent since the process began."""
        return _traffic(row.messages_sent, row.bytes_sent)

    @admin.display(description="Received")
    def into(self, row: NetworkStatus) -> SafeString:
        """Return what was received since the process began."""
        return _traffic(row.messages_received, row.bytes_received)

    @admin.display(description="Last sent")
    def last_out(self, row: Any) -> SafeString:
        """Return when the last message was sent."""
        return display.since(row.last_sent_at, row.now)

    @admin.display(description="Last received")
    def last_into(self, row: Any) -> SafeString:
        """Return when the last message was received."""
        return display.since(row.last_received_at, row.now)

    @admin.display(description="Not sent")
    def failures(self, row: NetworkStatus) -> SafeString:
        """Return how many messages could not be sent, and which part of the latest."""
        share = formats.format_share(row.send_fail_rate)
        return display.pair(f"{row.send_failures:,}", f"{share} of the latest")


def alive(row: NetworkStatus) -> SafeString:
    """Return whether the network's process lives, by its last report."""
    if selectors.is_fresh(row):
        return display.badge("alive", "good")
    return display.badge("silent", "bad")


def _traffic(messages: int, size: int) -> SafeString:
    return display.pair(f"{messages:,} messages", formats.format_bytes(size))

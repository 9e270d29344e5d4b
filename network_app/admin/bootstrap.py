"""Progress of each chain towards the last accepted block of the network, as an admin page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.terms import IdentifierTerm
from network_app import selectors
from network_app.admin import display
from network_app.admin.rows import NetworkRowsAdmin
from network_app.models import ChainSync, SyncPhase


@admin.register(ChainSync)
class ChainSyncAdmin(NetworkRowsAdmin):
    """Progress of each chain since this node's last start."""

    list_display = ("name", "state", "progress", "rate_and_time", "waiting", "started", "finished")
    ordering = ("-chain",)
    fieldsets = (
        (None, {"fields": ("name", "state", "obstacle", "progress", "rate", "left")}),
        ("Heights", {"fields": ("start", "height_now", "target")}),
        ("Blocks", {"fields": ("waiting", "undecided")}),
        ("Times", {"fields": ("started", "finished", "reported")}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        text = term.text.lower()
        found = [
            chain_name
            for chain_name in display.chain_names()
            if text in {chain_name.lower(), display.title(chain_name).lower()}
        ]
        return [Q(pk__in=found)]

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        status = selectors.status() if rows else None
        for row in rows:
            row.is_fresh = status is not None and selectors.is_fresh(status)
            row.now = datetime.now(UTC)

    @admin.display(description="Chain")
    def name(self, row: ChainSync) -> SafeString:
        """Return the chain's name."""
        return display.unbroken(display.title(row.chain))

    @admin.display(description="State")
    def state(self, row: Any) -> SafeString:
        """Return whether the chain has reached the frontier."""
        return display.sync_phase(row, is_fresh=row.is_fresh)

    @admin.display(description="Obstacle")
    def obstacle(self, row: ChainSync) -> SafeString | str:
        """Return the obstacle that keeps the chain from continuing."""
        return display.muted("nothing") if row.obstacle is None else row.obstacle

    @admin.display(description="Progress")
    def progress(self, row: ChainSync) -> SafeString:
        """Return the progress as a bar."""
        return display.progress(row)

    @admin.display(description="Rate")
    def rate_and_time(self, row: Any) -> SafeString:
        """Return the current or last rate, and the time left at that rate."""
        if row.phase == SyncPhase.BOOTSTRAPPED:
            return display.unbroken(self.rate(row))
        return display.pair(self.rate(row), self.left(row))

    @admin.display(description="Rate")
    def rate(self, row: ChainSync) -> SafeString | str:
        """Return the current or last rate."""
        return display.format_rate(row.blocks_per_second) or display.NOTHING

    @admin.display(description="Time left")
    def left(self, row: Any) -> SafeString | str:
        """Return the time left at that rate."""
        if row.phase == SyncPhase.BOOTSTRAPPED or not row.is_fresh:
            return display.NOTHING
        return display.format_left(row.seconds_left)

    @admin.display(description="Fetched, not executed")
    def waiting(self, row: ChainSync) -> str:
        """Return the number of fetched blocks that are not executed yet."""
        return f"{row.fetched:,}"

    @admin.display(description="Received, not decided")
    def undecided(self, row: Any) -> SafeString:
        """Return the number of blocks received in normal operation and not decided, and the oldest one's age."""
        if not row.outstanding:
            return display.muted("none")
        oldest = display.since(row.oldest_outstanding_at, row.now)
        return display.side_by_side(
            f"{row.outstanding:,}", display.muted("oldest received"), oldest
        )

    @admin.display(description="Start height")
    def start(self, row: ChainSync) -> str:
        """Return the height at which this run started."""
        return f"{row.start_height:,}"

    @admin.display(description="Current height")
    def height_now(self, row: ChainSync) -> str:
        """Return the height of the last executed block."""
        return f"{row.height:,}"

    @admin.display(description="Target height")
    def target(self, row: ChainSync) -> str:
        """Return the height of the frontier, as far as it is known."""
        return f"{row.target_height:,}"

    @admin.display(description="Started")
    def started(self, row: Any) -> SafeString:
        """Return when this run started."""
        return display.since(row.started_at, row.now)

    @admin.display(description="Finished")
    def finished(self, row: Any) -> SafeString:
        """Return when the chain reached the frontier."""
        return display.since(row.finished_at, row.now)

    @admin.display(description="Last report")
    def reported(self, row: Any) -> SafeString:
        """Return when the network process wrote this report."""
        return display.since(row.updated_at, row.now)

"""Cheats on a development chain in the admin: edits of its state, and snapshots."""

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.terms import SearchTerm
from cchain_app.admin import display
from cchain_app.admin.pages import RowsAdmin, rows_of_block
from cchain_app.apps import evm_chain
from cchain_app.models import ChangeKind, DevelopmentChange, Snapshot
from chaindb.fields import HexBytes


@admin.register(DevelopmentChange)
class DevelopmentChangeAdmin(RowsAdmin):
    """Edits of the state by cheat methods, the latest first."""

    list_display = ("what", "before_block", "short_address", "slot_text", "old_text", "new_text")
    ordering = ("-id",)
    search_fields = ("address",)
    search_help_text = "Address, or the block after a change"
    fieldsets = (
        (None, {"fields": ("what", "before_block", "full_address", "slot_text")}),
        ("Value", {"fields": ("old_text", "new_text")}),
    )

    @override
    def is_used(self) -> bool:
        return super().is_used() and evm_chain().has_development_methods

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return rows_of_block(term.number)
        return [] if term.address is None else [Q(address=term.address)]

    @admin.display(description="Change of")
    def what(self, change: DevelopmentChange) -> SafeString:
        """Return which field of the account was changed."""
        return display.badge(ChangeKind(change.kind).label, "note")

    @admin.display(description="Before block")
    def before_block(self, change: DevelopmentChange) -> str:
        """Return the block that the change precedes, which may not exist yet."""
        return f"{change.number:,}"

    @admin.display(description="Account")
    def short_address(self, change: DevelopmentChange) -> SafeString:
        """Return the account for the list."""
        return display.short_account(change.address)

    @admin.display(description="Account")
    def full_address(self, change: DevelopmentChange) -> SafeString:
        """Return the account."""
        return display.full_account(change.address)

    @admin.display(description="Slot")
    def slot_text(self, change: DevelopmentChange) -> SafeString | str:
        """Return the slot, if the change is one of storage."""
        return "–" if change.slot is None else display.short(change.slot)

    @admin.display(description="Before")
    def old_text(self, change: DevelopmentChange) -> SafeString | str:
        """Return the old value, or "no account" if the account did not exist."""
        return "no account" if change.old is None else _value(change, change.old)

    @admin.display(description="After")
    def new_text(self, change: DevelopmentChange) -> SafeString | str:
        """Return the new value."""
        return _value(change, change.new)


@admin.register(Snapshot)
class SnapshotAdmin(RowsAdmin):
    """Snapshots of evm_snapshot, the latest first."""

    list_display = ("number_text", "height", "short_hash", "changes", "clock")
    list_defer = ("pool",)
    ordering = ("-id",)
    search_fields = ("hash",)
    search_help_text = "Height or hash of the head to revert to"
    fieldsets = (
        (None, {"fields": ("number_text", "height", "full_hash", "changes", "waiting", "clock")}),
    )

    @override
    def is_used(self) -> bool:
        return super().is_used() and evm_chain().has_development_methods

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return [Q(number=term.number)]
        return [] if term.hash is None else [Q(hash=term.hash)]

    @admin.display(description="Snapshot")
    def number_text(self, snapshot: Snapshot) -> str:
        """Return the number that evm_revert takes."""
        return f"{snapshot.pk:#x}"

    @admin.display(description="Head")
    def height(self, snapshot: Snapshot) -> SafeString:
        """Return the block that becomes the head again."""
        return display.block_link(snapshot.number)

    @admin.display(description="Hash")
    def short_hash(self, snapshot: Snapshot) -> SafeString:
        """Return the head's hash for the list."""
        return display.short(snapshot.hash)

    @admin.display(description="Hash")
    def full_hash(self, snapshot: Snapshot) -> SafeString:
        """Return the head's hash in full."""
        return display.full(snapshot.hash)

    @admin.display(description="Waiting")
    def waiting(self, snapshot: Snapshot) -> str:
        """Return the number of pending transactions in the snapshot."""
        return f"{len(snapshot.pool):,}"

    @admin.display(description="Clock")
    def clock(self, snapshot: Snapshot) -> str:
        """Return the seconds by which the clock was ahead."""
        return f"{snapshot.clock_offset:+,} s"


def _value(change: DevelopmentChange, word: HexBytes) -> SafeString | str:
    number = int.from_bytes(word, "big")
    if change.kind == ChangeKind.BALANCE:
        return display.amount(number)
    if change.kind == ChangeKind.NONCE:
        return f"{number:,}"
    return display.short(word)

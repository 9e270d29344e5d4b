"""The mempool of the P-Chain in the admin: pending and recently dropped transactions."""

from collections.abc import Sequence

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.actions import ActionRefused, AdminAction
from adminkit.read_only import IdentifierAdmin, asked_once
from adminkit.terms import IdentifierTerm
from chaindb import clock
from platform_app.admin import display, flows, links
from platform_app.admin.transactions import OpenedTxAdmin
from platform_app.apps import platform_chain
from platform_app.models import DroppedTx, MempoolTx
from platform_app.services import mempool
from primitives.ids import ID


def _drop(row: MempoolTx) -> str:
    """Drop a pending transaction from the mempool."""
    reason = "dropped by the node's operator"
    if not mempool.withdraw(platform_chain(), ID(row.tx_id), reason, now=clock.now()):
        raise ActionRefused("the transaction is no longer pending: it was mined or dropped.")
    return f"Dropped transaction {row.tx_id} from the mempool."


@admin.register(MempoolTx)
class MempoolTxAdmin(OpenedTxAdmin):
    """Pending transactions, the latest arrival first."""

    absent_because = "It is not pending: it was mined or dropped, or was never received."
    list_display = ("short_id", "type", "received", "bytes")
    ordering = ("-id",)
    row_actions = (
        AdminAction(
            name="drop",
            button="Drop",
            question="Drop this transaction?",
            consequence="It leaves this node's mempool, and another transaction can spend its inputs. A block that is "
            "being built may already contain it, and peers that have it may have it accepted or send it again.",
            permission="platform_app.delete_mempooltx",
            do=_drop,
            flag=DELETION,
        ),
    )
    search_fields = ("tx_id", "inputs__utxo_id")
    search_help_text = "Transaction, or UTXO that it spends"
    fieldsets = (
        (None, {"fields": ("full_id", "type", "received", "bytes")}),
        ("What it would do", {"fields": ("inputs", "makes")}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.id is None:
            return []
        return [Q(tx_id=term.id), Q(inputs__utxo_id=term.id)]

    @override
    def action_details(self, row: MempoolTx) -> Sequence[tuple[str, object]]:
        return (
            ("ID", display.full(row.tx_id)),
            ("Type", self.type(row)),
            ("Size", self.bytes(row)),
        )

    @override
    def page_after_action(self, row: MempoolTx) -> str:
        return links.list_page("mempooltx")

    @admin.display(description="Received")
    def received(self, waiting: MempoolTx) -> SafeString:
        """Return the time of arrival."""
        return display.moment(waiting.received_at)

    @admin.display(description="Size")
    def bytes(self, waiting: MempoolTx) -> str:
        """Return the size in bytes."""
        return f"{waiting.size:,} bytes"

    @admin.display(description="Would make")
    @asked_once
    def makes(self, waiting: MempoolTx) -> SafeString:
        """Return the outputs that it would create."""
        opened = self.opened(waiting)
        if opened is None:
            return display.NOTHING
        return flows.show_future_outputs(opened.tx, opened.staking_asset)


@admin.register(DroppedTx)
class DroppedTxAdmin(IdentifierAdmin):
    """Transactions that were dropped recently, the latest first."""

    absent_because = "It was not dropped, or that was too long ago to be remembered."
    list_display = ("short_id", "dropped", "why")
    ordering = ("-id",)
    search_fields = ("tx_id",)
    search_help_text = "Transaction"
    unique_hash = "tx_id"
    fieldsets = ((None, {"fields": ("full_id", "dropped", "why")}),)

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [] if term.id is None else [Q(tx_id=term.id)]

    @admin.display(description="ID")
    def short_id(self, dropped: DroppedTx) -> SafeString:
        """Return the shortened ID for the list."""
        return display.short(dropped.tx_id)

    @admin.display(description="ID")
    def full_id(self, dropped: DroppedTx) -> SafeString:
        """Return the ID in full."""
        return display.full(dropped.tx_id)

    @admin.display(description="Dropped")
    def dropped(self, dropped: DroppedTx) -> SafeString:
        """Return when it was dropped."""
        return display.moment(dropped.dropped_at)

    @admin.display(description="Reason")
    def why(self, dropped: DroppedTx) -> str:
        """Return why it was dropped."""
        return dropped.reason

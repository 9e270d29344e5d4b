"""The mempool of the P-Chain in the admin: pending and recently dropped transactions."""

from collections.abc import Sequence

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.actions import ActionEffect, ActionRefused, AdminAction
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from chaindb import clock
from platform_app.admin import display, flows, links
from platform_app.admin.transactions import DecodedTxAdmin
from platform_app.apps import platform_chain
from platform_app.models import DroppedTx, MempoolTx
from platform_app.services import mempool
from primitives.counting import counted
from primitives.ids import ID


def _drop(row: MempoolTx) -> ActionEffect:
    """Drop a pending transaction from the mempool."""
    reason = "dropped by the node's operator"
    if not mempool.withdraw(platform_chain(), ID(row.tx_id), reason, now=clock.now()):
        raise ActionRefused("the transaction is no longer pending: it was accepted or dropped.")
    left = MempoolTx.objects.count()
    return ActionEffect(
        f"Dropped transaction {row.tx_id} from the mempool.",
        f"{left:,} transaction{' is' if left == 1 else 's are'} left.",
        [("Dropped transactions", links.search_page("droppedtx", row.tx_id))],
    )


@admin.register(MempoolTx)
class MempoolTxAdmin(DecodedTxAdmin):
    """Pending transactions, the latest arrival first."""

    absent_because = "It is not pending: it was accepted or dropped, or never arrived here."
    list_display = ("short_id", "type", "received", "bytes")
    ordering = ("-id",)
    row_actions = (
        AdminAction(
            name="drop",
            button="Drop",
            question="Drop this transaction?",
            consequence="It leaves this node's mempool, and another transaction can spend its inputs. A block that is "
            "being built may already contain it, and peers that have it may still get it accepted or send it again.",
            permission="platform_app.delete_mempooltx",
            do=_drop,
            flag=DELETION,
        ),
    )
    search_fields = ("tx_id", "inputs__utxo_id")
    search_help_text = "Transaction, or UTXO that it spends"
    fieldsets = (
        (None, {"fields": ("full_id", "type", "received", "bytes")}),
        ("Inputs and outputs", {"fields": ("inputs", "outputs")}),
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
    def received(self, tx: MempoolTx) -> SafeString:
        """Return the time of arrival."""
        return display.moment(tx.received_at)

    @admin.display(description="Size")
    def bytes(self, tx: MempoolTx) -> str:
        """Return the size in bytes."""
        return counted(tx.size, "byte")

    @admin.display(description="Outputs")
    @cached_on_row
    def outputs(self, tx: MempoolTx) -> SafeString:
        """Return the outputs that it will create if it is accepted."""
        decoded = self.decoded(tx)
        if decoded is None:
            return display.NOTHING
        return flows.show_future_outputs(decoded.tx, decoded.staking_asset)


@admin.register(DroppedTx)
class DroppedTxAdmin(IdentifierAdmin):
    """Transactions that were dropped recently, the latest first."""

    absent_because = (
        "It was not dropped, or its record was deleted, because only the latest drops are kept."
    )
    list_display = ("short_id", "dropped", "reason")
    ordering = ("-id",)
    search_fields = ("tx_id",)
    search_help_text = "Transaction"
    unique_hash = "tx_id"
    fieldsets = ((None, {"fields": ("full_id", "dropped", "reason")}),)

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
        """Return the time of the drop."""
        return display.moment(dropped.dropped_at)

    @admin.display(description="Reason")
    def reason(self, dropped: DroppedTx) -> str:
        """Return the reason."""
        return dropped.reason

"""The mempool of the X-Chain in the admin: pending and recently refused transactions."""

from collections.abc import Sequence

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.actions import ActionEffect, ActionRefused, AdminAction
from adminkit.display import box, full, moment, short_link
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from primitives.counting import counted
from primitives.ids import ID
from xchain_app.admin import display
from xchain_app.apps import avm_runtime
from xchain_app.models import XDroppedTx, XMempoolTx
from xchain_app.services import mempool
from xchain_app.txs.codec import parse
from xchain_app.txs.views import render_tx


def _drop(row: XMempoolTx) -> ActionEffect:
    """Drop a pending transaction from the mempool."""
    if not mempool.withdraw(avm_runtime().chain, ID(row.tx_id)):
        raise ActionRefused("the transaction is no longer pending: it was accepted or dropped.")
    return ActionEffect(f"Dropped transaction {row.tx_id} from the mempool.")


@admin.register(XMempoolTx)
class XMempoolTxAdmin(IdentifierAdmin):
    """Pending transactions, the latest arrival first."""

    absent_because = "It is not pending: it was accepted or dropped, or never arrived here."
    list_display = ("short_id", "kind", "received", "bytes")
    list_defer = ("raw",)
    ordering = ("-id",)
    search_fields = ("tx_id", "inputs__utxo_id")
    search_help_text = "Transaction, or UTXO that it spends"
    unique_hash = "tx_id"
    found_by = ""
    row_actions = (
        AdminAction(
            name="drop",
            button="Drop",
            question="Drop this transaction?",
            consequence="It leaves this node's mempool, and another transaction can spend its inputs. A block that is "
            "being built may already contain it, and peers that have it may still get it accepted or send it again.",
            permission="xchain_app.delete_xmempooltx",
            do=_drop,
            flag=DELETION,
        ),
    )
    fieldsets = (
        (None, {"fields": ("full_id", "kind", "received", "bytes")}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.id is None:
            return []
        return [Q(tx_id=term.id), Q(inputs__utxo_id=term.id)]

    @override
    def action_details(self, row: XMempoolTx) -> Sequence[tuple[str, object]]:
        return (
            ("ID", full(row.tx_id)),
            ("Type", row.get_kind_display()),
            ("Size", self.bytes(row)),
        )

    @override
    def page_after_action(self, row: XMempoolTx) -> str:
        return display.list_page("xmempooltx")

    @admin.display(description="ID")
    def short_id(self, tx: XMempoolTx) -> SafeString:
        """Return the shortened ID for the list."""
        return short_link(tx.tx_id, display.page("xmempooltx", tx.tx_id))

    @admin.display(description="ID")
    def full_id(self, tx: XMempoolTx) -> SafeString:
        """Return the ID in full."""
        return full(tx.tx_id)

    @admin.display(description="Received")
    def received(self, tx: XMempoolTx) -> SafeString:
        """Return the time of arrival."""
        return moment(tx.received_at)

    @admin.display(description="Size")
    def bytes(self, tx: XMempoolTx) -> str:
        """Return the size in bytes."""
        return counted(tx.size, "byte")

    @admin.display(description="JSON")
    @cached_on_row
    def json(self, tx: XMempoolTx) -> SafeString:
        """Return the decoded transaction."""
        return display.json_box(render_tx(parse(tx.raw), avm_runtime().chain.address))

    @admin.display(description="Bytes")
    def raw_bytes(self, tx: XMempoolTx) -> SafeString:
        """Return the signed transaction."""
        return box(tx.raw)


@admin.register(XDroppedTx)
class XDroppedTxAdmin(IdentifierAdmin):
    """Transactions that were refused since the last accepted block, the latest first."""

    absent_because = "It was not refused since the last accepted block."
    list_display = ("short_id", "dropped", "reason")
    ordering = ("-id",)
    search_fields = ("tx_id",)
    search_help_text = "Transaction"
    unique_hash = "tx_id"
    found_by = ""
    fieldsets = ((None, {"fields": ("full_id", "dropped", "reason")}),)

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [] if term.id is None else [Q(tx_id=term.id)]

    @admin.display(description="ID")
    def short_id(self, dropped: XDroppedTx) -> SafeString:
        """Return the shortened ID for the list."""
        return short_link(dropped.tx_id, display.page("xdroppedtx", dropped.tx_id))

    @admin.display(description="ID")
    def full_id(self, dropped: XDroppedTx) -> SafeString:
        """Return the ID in full."""
        return full(dropped.tx_id)

    @admin.display(description="Refused")
    def dropped(self, dropped: XDroppedTx) -> SafeString:
        """Return the time of the refusal."""
        return moment(dropped.dropped_at)

"""Imports and exports of the C-Chain in the admin: accepted, pending and dropped ones."""

from json import dumps
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Q
from django.utils.html import format_html
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.actions import ActionEffect, ActionRefused, AdminAction
from adminkit.display import full, short, short_link
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from cchain_app.admin import display, pages
from cchain_app.admin.pages import RowsAdmin
from cchain_app.apps import evm_chain
from cchain_app.atomic.render import render_tx
from cchain_app.atomic.transactions import parse
from cchain_app.models import (
    AtomicKind,
    AtomicPoolTransaction,
    AtomicTransaction,
    DroppedAtomicTransaction,
)
from cchain_app.services import atomic
from chaindb.fields import HEIGHTS, row_id
from primitives.ids import ID, P_CHAIN_ID

_WITHDRAWN: Final = "the operator has dropped it"


class _AtomicAdmin(RowsAdmin, IdentifierAdmin):
    """Transactions with an ID and signed bytes."""

    list_defer = ("raw",)
    search_fields = ("tx_id",)
    search_help_text = "ID of a transaction"
    unique_hash = "tx_id"

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [] if term.id is None else [Q(tx_id=term.id)]

    @admin.display(description="ID")
    def short_id(self, row: Any) -> SafeString:
        """Return the shortened ID for the list."""
        page = pages.page(row._meta.model_name, row.tx_id)
        return short_link(row.tx_id, page)

    @admin.display(description="ID")
    def full_id(self, row: Any) -> SafeString:
        """Return the ID in full."""
        return full(row.tx_id)

    @admin.display(description="JSON")
    @cached_on_row
    def json(self, row: Any) -> SafeString:
        """Return the decoded transaction."""
        text = dumps(render_tx(parse(bytes(row.raw))), indent=2)
        return format_html('<pre class="nd-box nd-json" tabindex="0">{}</pre>', text)

    @admin.display(description="Bytes")
    def raw_bytes(self, row: Any) -> SafeString:
        """Return the signed transaction."""
        return display.box(row.raw)


@admin.register(AtomicTransaction)
class AtomicTransactionAdmin(_AtomicAdmin):
    """Accepted imports and exports, the latest first."""

    absent_because = "It is in no block of this chain."
    list_display = ("short_id", "kind", "direction", "amount_shown", "burned_shown", "block")
    ordering = ("-position",)
    search_help_text = "ID of a transaction, or number of a block"
    fieldsets = (
        (None, {"fields": ("full_id", "kind", "direction", "amount_shown", "burned_shown")}),
        ("Place", {"fields": ("block", "index", "gas")}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.number is None:
            return super().branches(term)
        if term.number >= HEIGHTS:
            return []
        return [Q(position__gte=row_id(term.number), position__lt=row_id(term.number + 1))]

    @admin.display(description="Direction")
    def direction(self, row: AtomicTransaction) -> SafeString:
        """Return the source and the destination chain."""
        own, other = display.badge("C-Chain", "note"), _peer(row.peer_chain)
        ends = (other, own) if row.kind == AtomicKind.IMPORT else (own, other)
        return display.side_by_side(ends[0], "→", ends[1])

    @admin.display(description="Amount")
    def amount_shown(self, row: AtomicTransaction) -> SafeString:
        """Return the amount that arrives."""
        return display.full_amount(row.amount * _wei_per_unit())

    @admin.display(description="Burned")
    def burned_shown(self, row: AtomicTransaction) -> SafeString:
        """Return the amount that neither chain has any longer."""
        return display.full_amount(row.burned * _wei_per_unit())

    @admin.display(description="Block")
    def block(self, row: AtomicTransaction) -> SafeString:
        """Return the number of its block, linked."""
        return display.block_link(row.block_number)


def _drop(row: AtomicPoolTransaction) -> ActionEffect:
    """Drop a pending transaction from the pool."""
    if not atomic.withdraw(evm_chain(), ID(row.tx_id), _WITHDRAWN):
        raise ActionRefused("the transaction is no longer pending: it was accepted or dropped.")
    return ActionEffect(f"Dropped transaction {row.tx_id} from the pool.")


@admin.register(AtomicPoolTransaction)
class AtomicPoolTransactionAdmin(_AtomicAdmin):
    """Pending imports and exports, the latest arrival first."""

    absent_because = "It is not pending: it was accepted or dropped, or never arrived here."
    list_display = ("short_id", "received", "price_shown")
    ordering = ("-id",)
    found_by = ""
    row_actions = (
        AdminAction(
            name="drop",
            button="Drop",
            question="Drop this transaction?",
            consequence="It leaves this node's pool, and another transaction can spend the same outputs or nonces. A block "
            "that is being built may already contain it, and peers that have it may still get it accepted or send it again.",
            permission="cchain_app.delete_atomicpooltransaction",
            do=_drop,
            flag=DELETION,
        ),
    )
    fieldsets = (
        (None, {"fields": ("full_id", "received", "price_shown")}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def action_details(self, row: AtomicPoolTransaction) -> tuple[tuple[str, object], ...]:
        return (("ID", full(row.tx_id)), ("Pays for each gas", self.price_shown(row)))

    @override
    def page_after_action(self, row: AtomicPoolTransaction) -> str:
        return pages.list_page("atomicpooltransaction")

    @admin.display(description="Received")
    def received(self, row: AtomicPoolTransaction) -> SafeString:
        """Return the time of arrival."""
        return display.moment(row.received_at)

    @admin.display(description="Pays for each gas")
    def price_shown(self, row: AtomicPoolTransaction) -> SafeString:
        """Return the amount that it burns for each unit of gas."""
        return display.full_gas_price(row.price)


@admin.register(DroppedAtomicTransaction)
class DroppedAtomicTransactionAdmin(_AtomicAdmin):
    """Imports and exports that left the pool without a block, the latest first."""

    absent_because = "It was not dropped, or others have displaced it since: the last 50 are kept."
    list_display = ("short_id", "dropped", "reason")
    ordering = ("-id",)
    found_by = ""
    fieldsets = (
        (None, {"fields": ("full_id", "dropped", "reason")}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @admin.display(description="Dropped")
    def dropped(self, row: DroppedAtomicTransaction) -> SafeString:
        """Return the time."""
        return display.moment(row.dropped_at)


def _peer(chain_id: ID) -> SafeString:
    """Return the name of a chain of the Primary Network, else the shortened ID."""
    if chain_id == P_CHAIN_ID:
        return display.badge("P-Chain", "note")
    extension = evm_chain().atomic
    is_peer = extension is not None and chain_id in extension.parameters().peers
    return display.badge("X-Chain", "note") if is_peer else short(chain_id)


def _wei_per_unit() -> int:
    extension = evm_chain().atomic
    assert extension is not None, "a chain without atomic transactions has no rows of them"
    return extension.parameters().wei_per_unit

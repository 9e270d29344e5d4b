"""Blocks and transactions of the X-Chain in the admin."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.display import (
    badge,
    between_neighbours,
    box,
    counted_link,
    full,
    full_link,
    moment,
    muted,
    short_link,
    side_by_side,
    table,
)
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from chaindb.fields import row_id
from primitives.counting import counted
from xchain_app.admin import display
from xchain_app.apps import avm_runtime
from xchain_app.models import XAsset, XBlock, XOutput, XTransaction
from xchain_app.txs.codec import parse_stored
from xchain_app.txs.views import render_tx

MAX_LISTED = 50
"""The number of transactions or outputs listed on a page; a link leads to all of them."""


@admin.register(XBlock)
class XBlockAdmin(IdentifierAdmin):
    """Accepted blocks, the tip first."""

    absent_because = "The chain has not accepted such a block."
    list_display = ("height", "short_id", "moment", "txs", "size")
    list_defer = ("raw",)
    ordering = ("-height",)
    search_fields = ("height", "block_id")
    search_help_text = "Height, or ID of a block or of a transaction in it"
    unique_hash = "block_id"
    found_by = ""
    fieldsets = (
        (None, {"fields": ("place", "full_id", "parent", "moment", "size")}),
        ("Transactions", {"fields": ("listed",)}),
        ("Bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        blocks: QuerySet[Any] = super().get_queryset(request).annotate(length=Length("raw"))
        return blocks

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.number is not None:
            return [Q(pk=term.number)]
        if term.id is None:
            return []
        found = XTransaction.objects.filter(tx_id=term.id).order_by("tx_id")
        height = found.values_list("height", flat=True).first()
        return [Q(block_id=term.id) if height is None else Q(pk=height)]

    @admin.display(description="ID")
    def short_id(self, block: XBlock) -> SafeString:
        """Return the shortened ID for the list."""
        return short_link(block.block_id, display.page("xblock", block.height))

    @admin.display(description="Height")
    @cached_on_row
    def place(self, block: XBlock) -> SafeString:
        """Return the height between links to the adjacent blocks."""
        newer = XBlock.objects.filter(pk=block.height + 1).exists()
        return between_neighbours(
            block.height, lambda height: display.page("xblock", height), has_next=newer
        )

    @admin.display(description="ID")
    def full_id(self, block: XBlock) -> SafeString:
        """Return the ID in full."""
        return full(block.block_id)

    @admin.display(description="Parent")
    def parent(self, block: XBlock) -> SafeString:
        """Return the parent; that of the first block is a vertex."""
        if block.height == 0:
            return side_by_side(full(block.parent_id), muted("the stop vertex"))
        return full_link(block.parent_id, display.page("xblock", block.height - 1))

    @admin.display(description="Time")
    def moment(self, block: XBlock) -> SafeString:
        """Return the block's time."""
        return moment(block.time)

    @admin.display(description="Transactions")
    def txs(self, block: XBlock) -> SafeString:
        """Return the number of transactions, linked to their list."""
        return counted_link(block.tx_count, display.search_page("xtransaction", block.height))

    @admin.display(description="Size")
    def size(self, block: Any) -> str:
        """Return the size in bytes."""
        return counted(block.length, "byte")

    @admin.display(description="Transactions")
    @cached_on_row
    def listed(self, block: XBlock) -> SafeString:
        """Return the first transactions."""
        low, high = row_id(block.height), row_id(block.height + 1)
        txs = XTransaction.objects.filter(pk__gte=low, pk__lt=high).defer("raw").order_by("pk")
        return table(
            ("Index", "ID", "Type"),
            (
                (
                    tx.index,
                    short_link(tx.tx_id, display.page("xtransaction", tx.tx_id)),
                    tx.get_kind_display(),
                )
                for tx in txs[:MAX_LISTED]
            ),
        )

    @admin.display(description="Bytes")
    def raw_bytes(self, block: XBlock) -> SafeString:
        """Return the serialised block."""
        return box(block.raw)


@admin.register(XTransaction)
class XTransactionAdmin(IdentifierAdmin):
    """Accepted transactions, the latest first."""

    absent_because = "The chain has not accepted such a transaction."
    list_display = ("short_id", "type", "block", "burned_amount")
    list_defer = ("raw", "memo")
    ordering = ("-id",)
    search_fields = ("tx_id", "height")
    search_help_text = "Transaction, or height of a block"
    unique_hash = "tx_id"
    found_by = ""
    fieldsets = (
        (None, {"fields": ("full_id", "type", "block", "burned_amount", "peer", "memo_text")}),
        ("Outputs", {"fields": ("outputs",)}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        fee_asset = None
        if rows:
            asset_id = avm_runtime().chain.stored().fee_asset_id
            fee_asset = XAsset.objects.filter(pk=asset_id).first()
        for row in rows:
            row.fee_asset = fee_asset

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.number is not None:
            low, high = row_id(term.number), row_id(term.number + 1)
            return [Q(pk__gte=low, pk__lt=high)] if term.number < 1 << 40 else []
        return [] if term.id is None else [Q(tx_id=term.id)]

    @admin.display(description="ID")
    def short_id(self, tx: XTransaction) -> SafeString:
        """Return the shortened ID for the list."""
        return short_link(tx.tx_id, display.page("xtransaction", tx.tx_id))

    @admin.display(description="ID")
    def full_id(self, tx: XTransaction) -> SafeString:
        """Return the ID in full."""
        return full(tx.tx_id)

    @admin.display(description="Type")
    def type(self, tx: XTransaction) -> SafeString:
        """Return the type of the transaction."""
        return badge(tx.get_kind_display(), "note")

    @admin.display(description="Block")
    def block(self, tx: XTransaction) -> SafeString:
        """Return the height of its block."""
        return short_link(tx.height, display.page("xblock", tx.height))

    @admin.display(description="Burned")
    def burned_amount(self, tx: Any) -> str:
        """Return the burned amount of the fee asset."""
        return display.amount(tx.burned, tx.fee_asset)

    @admin.display(description="Other chain")
    def peer(self, tx: XTransaction) -> SafeString | None:
        """Return the chain from which it imports or to which it exports."""
        return None if tx.peer_chain is None else full(tx.peer_chain)

    @admin.display(description="Memo")
    def memo_text(self, tx: XTransaction) -> str:
        """Return the memo as text, or as hexadecimal digits if it is not text."""
        return display.payload_text(bytes(tx.memo))

    @admin.display(description="Outputs")
    @cached_on_row
    def outputs(self, tx: XTransaction) -> SafeString:
        """Return the first outputs that it created on this chain."""
        outputs = XOutput.objects.filter(tx_id=tx.tx_id).order_by("output_index")
        return table(
            ("Index", "UTXO", "Type", "Spent"),
            (
                (
                    output.output_index,
                    short_link(output.utxo_id, display.page("xoutput", output.utxo_id)),
                    output.get_kind_display(),
                    "yes" if output.spent_by else "no",
                )
                for output in outputs[:MAX_LISTED]
            ),
        )

    @admin.display(description="JSON")
    @cached_on_row
    def json(self, tx: XTransaction) -> SafeString:
        """Return the decoded transaction."""
        return display.json_box(render_tx(parse_stored(bytes(tx.raw)), avm_runtime().chain.address))

    @admin.display(description="Bytes")
    def raw_bytes(self, tx: XTransaction) -> SafeString:
        """Return the signed transaction."""
        return box(tx.raw)

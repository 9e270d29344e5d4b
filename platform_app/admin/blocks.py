"""Blocks of the P-Chain in the admin, decoded, with their transactions."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.identifier_terms import IdentifierTerm
from adminkit.identifiers import IdentifierAdmin
from adminkit.read_only import asked_once
from chaindb.fields import row_id
from platform_app.admin import decoded, display, flows, links
from platform_app.blocks.block import Block as Decoded
from platform_app.blocks.block import parse_block
from platform_app.blocks.render import render_block
from platform_app.models import Block, BlockKind, Tx
from primitives.codec_errors import CodecError

MAX_TXS = 50
"""The number of transactions listed on a block's page; a link leads to all of them."""

_KINDS = {
    BlockKind.BANFF_PROPOSAL: "wait",
    BlockKind.BANFF_COMMIT: "good",
    BlockKind.BANFF_ABORT: "bad",
    BlockKind.BANFF_STANDARD: "note",
}


@admin.register(Block)
class BlockAdmin(IdentifierAdmin):
    """Accepted blocks, the tip first."""

    absent_because = "The chain has not accepted such a block."
    list_display = ("height", "short_id", "type", "moment", "txs", "size")
    list_defer = ("raw",)
    ordering = ("-height",)
    search_fields = ("height", "block_id")
    search_help_text = "Height, or ID of a block or of a transaction in it"
    unique_hash = "block_id"
    fieldsets = (
        (None, {"fields": ("place", "full_id", "parent", "type", "moment", "size")}),
        ("Transactions", {"fields": ("listed",)}),
        ("Decoded", {"fields": ("json",)}),
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
        heights = Tx.objects.filter(tx_id=term.id).order_by("tx_id")
        height = heights.values_list("height", flat=True).first()
        return [Q(block_id=term.id) if height is None else Q(pk=height)]

    @admin.display(description="ID")
    def short_id(self, block: Block) -> SafeString:
        """Return the shortened ID for the list."""
        return display.short_link(block.block_id, links.block_page(block.height))

    @admin.display(description="Height")
    @asked_once
    def place(self, block: Block) -> SafeString:
        """Return the height between links to the adjacent blocks."""
        newer = Block.objects.filter(pk=block.height + 1).exists()
        return display.between_neighbours(block.height, links.block_page, has_next=newer)

    @admin.display(description="ID")
    def full_id(self, block: Block) -> SafeString:
        """Return the ID in full."""
        return display.full(block.block_id)

    @admin.display(description="Parent")
    def parent(self, block: Block) -> SafeString:
        """Return the parent; that of the first block is the hash of the genesis."""
        if block.height == 0:
            return display.line(display.full(block.parent_id), display.faint("the genesis bytes"))
        return display.full_link(block.parent_id, links.block_page(block.height - 1))

    @admin.display(description="Type")
    def type(self, block: Block) -> SafeString:
        """Return the type of the block."""
        return display.badge(block.get_kind_display(), _KINDS.get(BlockKind(block.kind), "plain"))

    @admin.display(description="Time")
    def moment(self, block: Block) -> SafeString:
        """Return chain time after the block."""
        return display.moment(block.time)

    @admin.display(description="Transactions")
    def txs(self, block: Block) -> SafeString:
        """Return the number of transactions, linked to their list."""
        return display.counted_link(block.tx_count, links.search_page("tx", block.height))

    @admin.display(description="Size")
    def size(self, block: Any) -> str:
        """Return the size in bytes."""
        return f"{block.length:,} bytes"

    @admin.display(description="Transactions")
    @asked_once
    def listed(self, block: Block) -> SafeString:
        """Return the first transactions, and a link if there are more."""
        in_block = Tx.objects.filter(pk__gte=row_id(block.height), pk__lt=row_id(block.height + 1))
        found = in_block.defer("raw").order_by("pk")[: MAX_TXS + 1]
        cells = [
            (
                tx.index,
                display.short_link(tx.tx_id, links.tx_page(tx.tx_id)),
                tx.get_kind_display(),
                display.tx_status(tx),
                display.burned(tx.burned),
            )
            for tx in found
        ]
        if not cells:
            return display.NOTHING
        table = display.table(("", "Transaction", "Type", "Status", "Burned"), cells[:MAX_TXS])
        if len(cells) <= MAX_TXS:
            return table
        return display.line(table, display.link("All ›", links.search_page("tx", block.height)))

    @admin.display(description="JSON")
    @asked_once
    def json(self, block: Block) -> SafeString:
        """Return the block as JSON, as in the API."""
        found = _read(block.raw)
        if found is None:
            return display.faint("These bytes are no block that this node knows.")
        txs = found.txs if found.proposal is None else (*found.txs, found.proposal)
        known = {tx.tx_id for tx in txs} | flows.known_txs(txs)
        return decoded.show_json(render_block(found, display.format_owner), known)

    @admin.display(description="Bytes")
    @asked_once
    def raw_bytes(self, block: Block) -> SafeString:
        """Return the serialised block."""
        return display.box(block.raw)


def _read(raw: bytes) -> Decoded | None:
    try:
        return parse_block(bytes(raw))
    except CodecError:
        return None

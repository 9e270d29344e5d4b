"""Blocks of the P-Chain in the admin with their transactions, and decoded objects as JSON with links."""

from collections.abc import Callable, Collection, Iterator, Mapping
from json import dumps
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from chaindb.fields import row_id
from platform_app.admin import display, flows, links
from platform_app.blocks.block import Block as Decoded
from platform_app.blocks.block import parse_block, render_block
from platform_app.models import Block, BlockKind, Tx
from primitives.codec_errors import CodecError
from primitives.counting import counted
from primitives.ids import ID, PRIMARY_NETWORK_ID

MAX_LINES = 2_000
"""The maximum number of JSON lines shown; a full block would have ten times as many."""
MAX_CHARACTERS = 400
"""The maximum length of a string shown: the genesis of a blockchain may be a megabyte long."""

_INDENT = "  "


def show_json(value: Any, known_txs: Collection[ID]) -> SafeString:
    """Return JSON in a scrolling box; the IDs of known transactions are links."""
    writer = _LazyJson({str(tx_id) for tx_id in known_txs})
    lines: list[SafeString] = []
    for line in writer.lines(value, key="", depth=0, prefix="", suffix=""):
        if len(lines) == MAX_LINES:
            lines.append(format_html('<span class="nd-muted">{}</span>', "… and so on"))
            break
        lines.append(line)
    return format_html(
        '<pre class="nd-box nd-json" tabindex="0">{}</pre>',
        format_html_join("\n", "{}", ((line,) for line in lines)),
    )


class _LazyJson:
    """Writes JSON lazily, line by line."""

    def __init__(self, known_txs: Collection[str]) -> None:
        def known(text: str) -> str | None:
            return links.tx_page(text) if text in known_txs else None

        self._links: Mapping[str, Callable[[str], str | None]] = {
            "id": known,
            "txID": known,
            "parentID": links.block_page,
            "subnetID": links.subnet_page,
            "nodeID": links.node_page,
            "addresses": links.address_page,
            "blockchainID": _blockchain_page,
            "sourceChain": _blockchain_page,
            "destinationChain": _blockchain_page,
        }

    def lines(
        self, value: Any, *, key: str, depth: int, prefix: object, suffix: str
    ) -> Iterator[SafeString]:
        """Yield the lines of a value; the prefix contains its key, the suffix a comma."""
        indent = _INDENT * depth
        if not value or not isinstance(value, dict | list):
            yield format_html("{}{}{}{}", indent, prefix, self._leaf(value, key), suffix)
            return
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        yield format_html("{}{}{}", indent, prefix, opening)
        last = len(value) - 1
        for place, part in enumerate(value):
            # Elements of a list have the key of the list: `addresses` are addresses.
            name, inner = (part, value[part]) if isinstance(value, dict) else (key, part)
            yield from self.lines(
                inner,
                key=name,
                depth=depth + 1,
                prefix=_named(name) if isinstance(value, dict) else "",
                suffix="," if place < last else "",
            )
        yield format_html("{}{}{}", indent, closing, suffix)

    def _leaf(self, value: Any, key: str) -> SafeString | str:
        if not isinstance(value, str):
            return dumps(value)
        shown = dumps(value[:MAX_CHARACTERS], ensure_ascii=False)
        if len(value) > MAX_CHARACTERS:
            more = f" … {counted(len(value), 'character')}"
            return format_html('{}<span class="nd-muted">{}</span>', shown, more)
        find = self._links.get(key)
        page = find(value) if find else None
        return shown if page is None else format_html('<a href="{}">{}</a>', page, shown)


def _named(name: str) -> SafeString:
    return format_html('<span class="nd-key">{}</span>: ', dumps(name))


def _blockchain_page(text: str) -> str | None:
    return None if text == str(PRIMARY_NETWORK_ID) else links.page("blockchain", text)


MAX_TXS = 50
"""The number of transactions listed on a block's page; a link leads to all of them."""

_KINDS = {
    BlockKind.BANFF_PROPOSAL: "wait",
    BlockKind.BANFF_COMMIT: "good",
    BlockKind.BANFF_ABORT: "bad",
    BlockKind.BANFF_STANDARD: "note",
}


@admin.register(Block)
class PlatformBlockAdmin(IdentifierAdmin):
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
    @cached_on_row
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
            return display.side_by_side(
                display.full(block.parent_id), display.muted("the genesis bytes")
            )
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
        return f"{counted(block.length, 'byte')}"

    @admin.display(description="Transactions")
    @cached_on_row
    def listed(self, block: Block) -> SafeString:
        """Return the first transactions, and a link if there are more."""
        in_block = Tx.objects.filter(pk__gte=row_id(block.height), pk__lt=row_id(block.height + 1))
        txs = in_block.defer("raw").order_by("pk")[: MAX_TXS + 1]
        cells = [
            (
                tx.index,
                display.short_link(tx.tx_id, links.tx_page(tx.tx_id)),
                tx.get_kind_display(),
                display.tx_status(tx),
                display.burned(tx.burned),
            )
            for tx in txs
        ]
        if not cells:
            return display.NOTHING
        table = display.table(("", "Transaction", "Type", "Status", "Burned"), cells[:MAX_TXS])
        if len(cells) <= MAX_TXS:
            return table
        return display.side_by_side(
            table, display.link("All ›", links.search_page("tx", block.height))
        )

    @admin.display(description="JSON")
    @cached_on_row
    def json(self, block: Block) -> SafeString:
        """Return the block as JSON, as in the API."""
        decoded = _read(block.raw)
        if decoded is None:
            return display.muted("This node cannot parse these bytes as a block.")
        txs = decoded.txs if decoded.proposal is None else (*decoded.txs, decoded.proposal)
        known = {tx.tx_id for tx in txs} | flows.known_txs(txs)
        return show_json(render_block(decoded, display.format_owner), known)

    @admin.display(description="Bytes")
    @cached_on_row
    def raw_bytes(self, block: Block) -> SafeString:
        """Return the serialised block."""
        return display.box(block.raw)


def _read(raw: bytes) -> Decoded | None:
    try:
        return parse_block(bytes(raw))
    except CodecError:
        return None

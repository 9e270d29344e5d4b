"""Blocks in the admin, with links to their contents."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe
from typing_extensions import override

from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages
from cchain_app.admin.pages import RowsAdmin, objects
from cchain_app.apps import evm_chain
from cchain_app.models import Block, Transaction, height_of
from cchain_app.rules.coreth.description import described
from primitives.counting import counted


@admin.register(Block)
class BlockAdmin(RowsAdmin):
    """Accepted blocks, the head first."""

    absent_because = "It is above the head, or the chain was rewound below it."
    list_display = (
        "number", "short_hash", "time", "transactions", "logs", "gas", "fee", "short_miner",
    )  # fmt: skip
    list_defer = ("header", "ommers", "withdrawals")
    ordering = ("-number",)
    search_fields = ("number", "hash")
    search_help_text = "Number or hash of a block, or of a transaction in it"
    unique_hash = "hash"
    fieldsets = (
        (None, {"fields": ("height", "full_hash", "parent", "time", "transactions", "logs")}),
        ("Gas", {"fields": ("gas", "limit", "full_fee")}),
        ("Header", {
            "fields": (
                "full_miner", "root_of_state", "root_of_transactions", "root_of_receipts",
                "randao", "extra", "bytes",
            ),
        }),
    )  # fmt: skip

    @override
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the sections; fields of networks of avalanchego nodes only where blocks have them."""
        shown = super().get_fieldsets(request, obj)
        if evm_chain().is_of_coreth:
            return [*shown, ("Avalanche", {"fields": ("of_avalanche",)})]
        return shown

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return [Q(pk=term.number)]
        if term.hash is None:
            return []
        key = objects(Transaction).filter(hash=term.hash).values_list("id", flat=True).first()
        return [Q(hash=term.hash) if key is None else Q(pk=height_of(key))]

    @admin.display(description="Hash")
    def short_hash(self, block: Block) -> SafeString:
        """Return the hash for the list."""
        return display.short_link(block.hash, pages.block_page(block.number))

    @admin.display(description="Number")
    @cached_on_row
    def height(self, block: Block) -> SafeString:
        """Return the number between links to the neighbours."""
        newer = objects(Block).filter(pk=block.number + 1).exists()
        return display.between_neighbours(block.number, pages.block_page, has_next=newer)

    @admin.display(description="Hash")
    def full_hash(self, block: Block) -> SafeString:
        """Return the hash in full."""
        return display.full(block.hash)

    @admin.display(description="Parent")
    def parent(self, block: Block) -> SafeString:
        """Return the parent's hash; the genesis block's parent does not exist."""
        if block.number == evm_chain().first_number:
            return display.full(block.parent_hash)
        return display.full_link(block.parent_hash, pages.block_page(block.number - 1))

    @admin.display(description="Time")
    def time(self, block: Block) -> SafeString:
        """Return the timestamp."""
        return display.moment(block.timestamp)

    @admin.display(description="Transactions")
    def transactions(self, block: Block) -> SafeString:
        """Return the number of transactions, as a link to them."""
        page = pages.search_page("transaction", block.number)
        return display.counted_link(block.transaction_count, page)

    @admin.display(description="Logs")
    def logs(self, block: Block) -> SafeString:
        """Return the number of logs, as a link to them."""
        return display.counted_link(block.log_count, pages.search_page("log", block.number))

    @admin.display(description="Gas used")
    def gas(self, block: Block) -> SafeString:
        """Return gas used and its share of the limit."""
        return display.gas_share(block.gas_used, block.gas_limit)

    @admin.display(description="Gas limit")
    def limit(self, block: Block) -> str:
        """Return the gas limit."""
        return f"{block.gas_limit:,}"

    @admin.display(description="Base fee")
    def fee(self, block: Block) -> SafeString:
        """Return the base fee for the list."""
        return display.gas_price(block.base_fee)

    @admin.display(description="Base fee")
    def full_fee(self, block: Block) -> SafeString:
        """Return the base fee in full."""
        return display.full_gas_price(block.base_fee)

    @admin.display(description="Miner")
    def short_miner(self, block: Block) -> SafeString:
        """Return the recipient of the tips, for the list."""
        return display.short_account(block.miner)

    @admin.display(description="Miner")
    def full_miner(self, block: Block) -> SafeString:
        """Return the recipient of the tips."""
        return display.full_account(block.miner)

    @admin.display(description="State root")
    def root_of_state(self, block: Block) -> SafeString:
        """Return the state root."""
        return display.full(block.state_root)

    @admin.display(description="Transactions root")
    @cached_on_row
    def root_of_transactions(self, block: Block) -> SafeString:
        """Return the transactions root."""
        return display.full(_header(block).transactions_root)

    @admin.display(description="Receipts root")
    @cached_on_row
    def root_of_receipts(self, block: Block) -> SafeString:
        """Return the receipts root."""
        return display.full(_header(block).receipts_root)

    @admin.display(description="prevRandao")
    @cached_on_row
    def randao(self, block: Block) -> SafeString:
        """Return the mix hash."""
        return display.full(_header(block).mix_hash)

    @admin.display(description="Extra data")
    @cached_on_row
    def extra(self, block: Block) -> SafeString:
        """Return the extra data."""
        data = _header(block).extra_data
        return display.full(data) if data else display.NOTHING

    @admin.display(description="Fields of its own")
    @cached_on_row
    def of_avalanche(self, block: Block) -> SafeString:
        """Return the fields that only headers of networks of avalanchego nodes have, one a line."""
        found = described(_header(block), evm_chain().genesis.upgrades)
        return format_html_join(mark_safe("<br>"), "{}: {}", found) or display.NOTHING

    @admin.display(description="Size")
    def bytes(self, block: Block) -> str:
        """Return the size of the block as RLP."""
        return counted(block.size, "byte")


def _header(block: Any) -> Any:
    return evm_chain().format.decode_header(bytes(block.header))

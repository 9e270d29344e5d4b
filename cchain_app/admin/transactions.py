"""Transactions of accepted blocks in the admin, with their receipts."""

from collections.abc import Sequence

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages
from cchain_app.admin.calls import show_tree
from cchain_app.admin.display import function_of
from cchain_app.admin.logs import LOG_HEADINGS, log_row
from cchain_app.admin.names import full_named, read_names, short_named
from cchain_app.admin.pages import RowsAdmin, objects, rows_of_block, rows_of_block_hash
from cchain_app.models import Log, Receipt, Transaction, row_id
from cchain_app.txs.codec import DecodedTransaction, decode_unsigned
from cchain_app.txs.transaction import InvalidTransaction
from chaindb.fields import HexBytes
from primitives.counting import counted


def show_function(raw: bytes, *, creates: bool) -> SafeString:
    """Return the selector of the input, and its name if it is known; creations have no selector."""
    decoded = _decode(raw)
    if creates or decoded is None or len(decoded.data) < 4:
        return display.NOTHING
    known = function_of(decoded.data)
    selector = display.full(decoded.data[:4])
    return selector if known is None else display.side_by_side(display.badge(known.text), selector)


def show_input(raw: bytes) -> SafeString:
    """Return the input in a scrolling box."""
    decoded = _decode(raw)
    return display.NOTHING if decoded is None else display.box(decoded.data)


def show_lists(raw: bytes) -> SafeString:
    """Return the access list, the authorizations and the versioned hashes of blobs, each in a table."""
    decoded = _decode(raw)
    if decoded is None or not (
        decoded.access_list or decoded.authorizations or decoded.blob_hashes
    ):
        return display.NOTHING
    parts = []
    if decoded.access_list:
        rows = (
            (display.short_account(HexBytes(address)), f"{len(slots):,}")
            for address, slots in decoded.access_list
        )
        parts.append(display.table(("Access list", "Slots"), rows))
    if decoded.authorizations:
        rows = (
            (display.short_account(HexBytes(entry.address)), f"{entry.nonce:,}")
            for entry in decoded.authorizations
        )
        parts.append(display.table(("Delegates to", "Nonce"), rows))
    if decoded.blob_hashes:
        cap = f"{decoded.max_fee_per_blob_gas:,} wei"
        hashes = ((display.short(HexBytes(blob)), cap) for blob in decoded.blob_hashes)
        parts.append(display.table(("Blob", "Blob gas fee cap"), hashes))
    return display.side_by_side(*parts)


def _decode(raw: bytes) -> DecodedTransaction | None:
    """Decode an envelope; return None for a type that this node does not support."""
    try:
        return decode_unsigned(bytes(raw))
    except InvalidTransaction:
        return None


MAX_LOGS = 20
"""Maximum number of logs shown on a transaction's page; a link leads to all of them."""


@admin.register(Transaction)
class TransactionAdmin(RowsAdmin):
    """Mined transactions, the latest first."""

    absent_because = "No block contains it: it may be pending in the mempool, or the chain was rewound below its block."
    list_display = (
        "short_hash", "status", "block_number", "time", "short_sender", "short_to", "short_value",
        "fee",
    )  # fmt: skip
    list_select_related = ("block", "receipt")
    list_defer = ("raw", "block__header")
    ordering = ("-id",)
    search_fields = ("hash", "sender", "to")
    search_help_text = "Hash, address (sender, recipient, created contract) or block"
    unique_hash = "hash"
    fieldsets = (
        (None, {"fields": (
            "full_hash", "status", "position", "time", "full_sender", "full_to", "full_value", "full_fee",
        )}),
        ("Gas", {"fields": ("gas_used", "price", "max_fee", "max_tip", "cumulative")}),
        ("Envelope", {"fields": ("kind", "nonce_text", "call", "data", "extras", "envelope")}),
        ("Calls", {"fields": ("calls",)}),
        ("Logs", {"fields": ("logs",)}),
    )  # fmt: skip

    @override
    def prepare(self, rows: Sequence[Transaction]) -> None:
        """Read the names of the contracts that are called."""
        read_names(rows, lambda row: (row.to or row.receipt.contract_address,))

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return rows_of_block(term.number)
        if term.hash is not None:
            return [Q(hash=term.hash), *rows_of_block_hash(term.hash)]
        if term.address is None:
            return []
        created = (
            objects(Receipt).filter(contract_address=term.address).order_by("contract_address")
        )
        keys = list(created.values_list("pk", flat=True)[: self.list_per_page])
        creations = [Q(pk__in=keys)] if keys else []
        return [Q(sender=term.address), Q(to=term.address), *creations]

    @admin.display(description="Hash")
    def short_hash(self, transaction: Transaction) -> SafeString:
        """Return the hash for the list."""
        return display.short(transaction.hash)

    @admin.display(description="Hash")
    def full_hash(self, transaction: Transaction) -> SafeString:
        """Return the hash in full."""
        return display.full(transaction.hash)

    @admin.display(description="Status")
    def status(self, transaction: Transaction) -> SafeString:
        """Return whether the transaction succeeded."""
        return display.status(succeeded=transaction.receipt.succeeded)

    @admin.display(description="Block")
    def block_number(self, transaction: Transaction) -> SafeString:
        """Return the block for the list."""
        return display.block_link(transaction.block_id)

    @admin.display(description="Block")
    def position(self, transaction: Transaction) -> SafeString:
        """Return the block and the position in it."""
        return display.side_by_side(
            display.block_link(transaction.block_id), f"position {transaction.index:,} in the block"
        )

    @admin.display(description="Time")
    def time(self, transaction: Transaction) -> SafeString:
        """Return the block's timestamp."""
        return display.moment(transaction.block.timestamp)

    @admin.display(description="From")
    def short_sender(self, transaction: Transaction) -> SafeString:
        """Return the sender for the list."""
        return display.short_account(transaction.sender)

    @admin.display(description="From")
    def full_sender(self, transaction: Transaction) -> SafeString:
        """Return the sender."""
        return display.full_account(transaction.sender)

    @admin.display(description="To")
    def short_to(self, transaction: Transaction) -> SafeString:
        """Return the recipient, or the created contract, for the list."""
        if transaction.to is not None:
            return short_named(transaction, transaction.to)
        created = short_named(transaction, transaction.receipt.contract_address)
        return display.side_by_side(display.badge("new", "note"), created)

    @admin.display(description="To")
    def full_to(self, transaction: Transaction) -> SafeString:
        """Return the recipient, or the created contract."""
        if transaction.to is not None:
            return full_named(transaction, transaction.to)
        created = full_named(transaction, transaction.receipt.contract_address)
        return display.side_by_side(display.badge("new contract", "note"), created)

    @admin.display(description="Value")
    def short_value(self, transaction: Transaction) -> SafeString:
        """Return the value for the list."""
        return display.amount(transaction.value)

    @admin.display(description="Value")
    def full_value(self, transaction: Transaction) -> SafeString:
        """Return the value in full."""
        return display.full_amount(transaction.value)

    @admin.display(description="Fee")
    def fee(self, transaction: Transaction) -> SafeString:
        """Return the fee paid for gas."""
        return display.fee(_fee(transaction))

    @admin.display(description="Fee")
    def full_fee(self, transaction: Transaction) -> SafeString:
        """Return the fee paid for gas in full."""
        return display.full_fee(_fee(transaction))

    @admin.display(description="Gas used")
    def gas_used(self, transaction: Transaction) -> SafeString:
        """Return gas used and its share of the gas limit."""
        return display.gas_share(transaction.receipt.gas_used, transaction.gas)

    @admin.display(description="Gas price")
    def price(self, transaction: Transaction) -> SafeString:
        """Return the effective gas price."""
        return display.full_gas_price(transaction.receipt.effective_gas_price)

    @admin.display(description="Max fee")
    def max_fee(self, transaction: Transaction) -> SafeString:
        """Return the fee cap."""
        return display.full_gas_price(transaction.max_fee_per_gas)

    @admin.display(description="Max priority fee")
    def max_tip(self, transaction: Transaction) -> SafeString:
        """Return the tip cap."""
        return display.full_gas_price(transaction.max_priority_fee_per_gas)

    @admin.display(description="Cumulative gas")
    def cumulative(self, transaction: Transaction) -> str:
        """Return the gas that the block had used after this transaction."""
        return f"{transaction.receipt.cumulative_gas_used:,}"

    @admin.display(description="Type")
    def kind(self, transaction: Transaction) -> str:
        """Return the transaction type."""
        return display.format_type(transaction.type)

    @admin.display(description="Nonce")
    def nonce_text(self, transaction: Transaction) -> str:
        """Return the nonce."""
        return f"{transaction.nonce:,}"

    @admin.display(description="Function")
    @cached_on_row
    def call(self, transaction: Transaction) -> SafeString:
        """Return the function that the input calls."""
        return show_function(transaction.raw, creates=transaction.to is None)

    @admin.display(description="Input")
    @cached_on_row
    def data(self, transaction: Transaction) -> SafeString:
        """Return the input."""
        return show_input(transaction.raw)

    @admin.display(description="Access list and authorizations")
    @cached_on_row
    def extras(self, transaction: Transaction) -> SafeString:
        """Return the access list and the authorizations."""
        return show_lists(transaction.raw)

    @admin.display(description="Signed envelope")
    @cached_on_row
    def envelope(self, transaction: Transaction) -> SafeString:
        """Return the bytes of the signed envelope."""
        return display.box(transaction.raw)

    @admin.display(description="Calls")
    @cached_on_row
    def calls(self, transaction: Transaction) -> SafeString:
        """Return the calls inside as a tree."""
        return show_tree(transaction)

    @admin.display(description="Logs")
    @cached_on_row
    def logs(self, transaction: Transaction) -> SafeString:
        """Return the first logs, and a link to the rest."""
        receipt = transaction.receipt
        count = receipt.log_count
        if not count:
            return display.NOTHING
        first = row_id(transaction.block_id, receipt.first_log_index)
        rows = objects(Log).filter(pk__gte=first, pk__lt=first + count).order_by("id")[:MAX_LOGS]
        table = display.table(LOG_HEADINGS, [log_row(log) for log in rows])
        page = pages.search_page("log", transaction.hash)
        return display.side_by_side(table, display.link(f"List of {counted(count, 'log')}", page))


def _fee(transaction: Transaction) -> int:
    """Return the fee paid for gas, in wei."""
    receipt = transaction.receipt
    return int(receipt.gas_used * receipt.effective_gas_price)

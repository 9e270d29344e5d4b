"""Calls inside transactions in the admin: a list, the tree on a transaction's page, the creator of a contract.

Calls come from rows where there are any (NODE_TRACE_INDEX). A transaction without call rows is executed again
for its page.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages
from cchain_app.admin.display import function_of
from cchain_app.admin.names import full_named, read_names, short_named
from cchain_app.admin.pages import RowsAdmin, objects, rows_of_block, rows_of_block_hash
from cchain_app.apps import evm_chain
from cchain_app.evm.failures import reason_of
from cchain_app.evm.tracing import Frame, Recording, TraceTimedOut, TraceTooLarge
from cchain_app.models import Call, CallType, ContractCreation, Transaction
from cchain_app.selectors import blocks, calls, tracing
from cchain_app.selectors.tracing import TraceDiffers
from cchain_app.services.calls import is_enabled
from cchain_app.store.calls import RecordedFrames, call_of_row, rows_of
from cchain_app.store.history import HistoryPruned
from cchain_app.txs.transaction import InvalidTransaction
from chaindb.fields import HexBytes

MAX_CALLS: Final = 200
"""Maximum number of frames shown on a transaction's page."""

_SECONDS: Final = 2.0
_BYTES: Final = 16_000_000
"""Limit on the size of a trace for a page, in bytes."""


class CreatedContract(NamedTuple):
    """The creator of a contract, and the transaction in which it was created."""

    transaction_hash: bytes
    transaction: int
    """The transaction's key."""
    creator: HexBytes


class FrameTree(NamedTuple):
    """The frames of a transaction as its page shows them."""

    calls: Sequence[Call]
    more: bool = False
    trouble: str = ""
    """Why frames are missing."""


def tree_of(transaction: Transaction) -> FrameTree:
    """Return a transaction's frames from rows, or by executing it again within a time limit."""
    number = transaction.block_id
    if number in calls.indexed(evm_chain()):
        written = objects(Call).filter(transaction_id=transaction.pk).order_by("index")
        rows_shown = list(written[: MAX_CALLS + 1])
        unrecorded = bool(rows_shown) and rows_shown[0].gas is None
        trouble = "It has too many inner calls to record." if unrecorded else ""
        return FrameTree(rows_shown[:MAX_CALLS], len(rows_shown) > MAX_CALLS, trouble)
    try:
        frames = _traced(transaction)
    except (TraceTimedOut, TraceTooLarge):
        return FrameTree((), trouble="Tracing it takes longer than a page may.")
    except (TraceDiffers, InvalidTransaction):
        return FrameTree((), trouble="It can no longer be executed.")
    except HistoryPruned:
        return FrameTree((), trouble="The state before it was pruned (NODE_HISTORY_STATE).")
    rows = rows_of(number, transaction.index, 0, [RecordedFrames(frames)])
    made = [call_of_row(row) for row in rows]
    return FrameTree(made[:MAX_CALLS], len(made) > MAX_CALLS)


def _traced(transaction: Transaction) -> Sequence[Frame]:
    """Return the frames of a transaction by executing it again.

    Raises:
        TraceTooLarge: The frames have too many bytes for a page.
        TraceTimedOut: The execution took too long.
        TraceDiffers: The result differs from that of the first execution.
        InvalidTransaction: The block has a transaction of a type that this node does not know.
        StatePruned: The state before the block was pruned.
    """
    block = blocks.by_number(evm_chain(), transaction.block_id)
    if block is None or not block.number:
        return ()
    recording = Recording(frames=True, most_bytes=_BYTES)
    return tracing.trace_transaction(
        evm_chain(), block, transaction.index, recording, time_limit=_SECONDS
    ).frames


def show_tree(transaction: Transaction) -> SafeString:
    """Return a transaction's frames as a table, the inner ones indented."""
    tree = tree_of(transaction)
    if not tree.calls:
        return display.muted(tree.trouble) if tree.trouble else display.NOTHING
    headings = ("Call", "From → to", "Value", "Gas given", "Gas used")
    shown = display.table(headings, [_tree_row(call) for call in tree.calls])
    return display.side_by_side(shown, _others(transaction) if tree.more else tree.trouble)


def _others(transaction: Transaction) -> SafeString:
    """Return where to find the calls that do not fit on a transaction's page."""
    first = f"The first {MAX_CALLS} calls."
    written = calls.indexed(evm_chain())
    if transaction.block_id < written.start:
        return display.side_by_side(first, "The others were pruned (NODE_HISTORY_CALLS).")
    if transaction.block_id not in written:
        return display.side_by_side(first, "The others are not indexed yet.")
    page = pages.search_page("call", transaction.hash)
    return display.side_by_side(first, display.link("All calls", page))


def _tree_row(call: Call) -> tuple[object, ...]:
    indented = format_html(
        '<span class="nd-call" style="--depth: {}">{}</span>', min(call.depth, 24), what(call)
    )
    given, used = ("" if gas is None else f"{gas:,}" for gas in (call.gas, call.gas_used))
    return indented, between(call), display.amount(call.value or 0), given, used


def what(call: Call) -> SafeString:
    """Return a frame's type, the function that it calls, and the reason of its failure."""
    parts: list[object] = [display.badge(CallType(call.type).label, "note"), *_function(call)]
    if call.error is not None:
        parts.append(failure(call))
    elif not call.succeeded:
        parts.append(display.badge("undone", "wait"))
    return display.side_by_side(*parts)


def failure(call: Call) -> SafeString:
    """Return why a frame failed, with its revert reason."""
    if call.error is None:
        return display.NOTHING
    reason = None if call.revert_data is None else reason_of(bytes(call.revert_data))
    return display.badge(call.error if reason is None else f"{call.error}: {reason}", "bad")


def between(call: Call) -> SafeString:
    """Return the caller and the called account."""
    return display.side_by_side(
        display.short_account(call.sender), "→", display.short_account(call.to)
    )


def creation_of(address: bytes) -> CreatedContract | None:
    """Return the creator of a contract, if a row has it."""
    rows = objects(Call).filter(to=address, creates=True, succeeded=True)
    found = (
        rows.order_by("-transaction_id")
        .values_list("transaction__hash", "transaction_id", "sender")
        .first()
    )
    return None if found is None else CreatedContract(bytes(found[0]), found[1], HexBytes(found[2]))


@admin.register(Call)
class CallAdmin(RowsAdmin):
    """Calls inside transactions that are stored as rows, the latest first."""

    absent_because = "It does not exist, or was pruned (NODE_HISTORY_CALLS), or is not indexed yet."
    list_display = (
        "kind", "block_number", "transaction_link", "short_sender", "short_to", "short_value", "outcome",
    )  # fmt: skip
    list_select_related = ("transaction",)
    list_defer = ("transaction__raw",)
    ordering = ("-id",)
    search_fields = ("sender", "to")
    search_help_text = "Address (caller or called), transaction or block"
    fieldsets = (
        (None, {"fields": (
            "kind", "outcome", "at", "transaction_link", "full_sender", "full_to", "full_value",
        )}),
        ("Gas", {"fields": ("gas_used_text", "gas_text")}),
        ("Reason", {"fields": ("revert_box",)}),
    )  # fmt: skip

    @override
    def is_used(self) -> bool:
        return super().is_used() and is_enabled(evm_chain())

    @override
    def list_note(self) -> str:
        return f"Internal calls: {calls.how_far(evm_chain())}."

    @override
    def prepare(self, rows: Sequence[Call]) -> None:
        """Read the names of the contracts."""
        read_names(rows, lambda row: (row.to,))

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return rows_of_block(term.number)
        if term.address is not None:
            return [Q(sender=term.address), Q(to=term.address)]
        if term.hash is None:
            return []
        key = objects(Transaction).filter(hash=term.hash).values_list("pk", flat=True).first()
        return rows_of_block_hash(term.hash) if key is None else [Q(transaction_id=key)]

    @override
    def order_for(self, term: SearchTerm) -> str:
        # The indexes of an address's calls are ordered by transaction, and so are keys.
        return "-id" if term.address is None else "-transaction_id"

    @admin.display(description="Call")
    def kind(self, call: Call) -> SafeString:
        """Return the frame's type and the function that it calls."""
        return display.side_by_side(
            display.badge(CallType(call.type).label, "note"), *_function(call)
        )

    @admin.display(description="Block")
    def block_number(self, call: Call) -> SafeString:
        """Return the block."""
        return display.block_link(call.transaction.block_id)

    @admin.display(description="Transaction")
    def transaction_link(self, call: Call) -> SafeString:
        """Return the transaction."""
        return display.short_link(
            bytes(call.transaction.hash), pages.transaction_page(call.transaction_id)
        )

    @admin.display(description="Position")
    def at(self, call: Call) -> str:
        """Return the position in the transaction."""
        return f"frame {call.index:,}, depth {call.depth:,}"

    @admin.display(description="From")
    def short_sender(self, call: Call) -> SafeString:
        """Return the caller for the list."""
        return display.short_account(call.sender)

    @admin.display(description="From")
    def full_sender(self, call: Call) -> SafeString:
        """Return the caller."""
        return display.full_account(call.sender)

    @admin.display(description="To")
    def short_to(self, call: Call) -> SafeString:
        """Return the called account, or the created contract, for the list."""
        return short_named(call, call.to)

    @admin.display(description="To")
    def full_to(self, call: Call) -> SafeString:
        """Return the called account, or the created contract."""
        return full_named(call, call.to)

    @admin.display(description="Value")
    def short_value(self, call: Call) -> SafeString:
        """Return the value for the list."""
        return display.amount(call.value or 0)

    @admin.display(description="Value")
    def full_value(self, call: Call) -> SafeString:
        """Return the value in full."""
        return display.full_amount(call.value or 0)

    @admin.display(description="Status")
    def outcome(self, call: Call) -> SafeString:
        """Return the outcome of the call."""
        if call.error is not None:
            return failure(call)
        return (
            display.badge("success", "good") if call.succeeded else display.badge("undone", "wait")
        )

    @admin.display(description="Gas used")
    def gas_used_text(self, call: Call) -> SafeString | str:
        """Return the gas that this call and its inner calls used."""
        return display.NOTHING if call.gas_used is None else f"{call.gas_used:,}"

    @admin.display(description="Gas given")
    def gas_text(self, call: Call) -> SafeString | str:
        """Return the gas that the call was given."""
        return display.NOTHING if call.gas is None else f"{call.gas:,}"

    @admin.display(description="Revert data")
    @cached_on_row
    def revert_box(self, call: Call) -> SafeString:
        """Return the data that a REVERT returned."""
        return display.NOTHING if call.revert_data is None else display.box(call.revert_data)


def _function(call: Call) -> Iterable[object]:
    if call.selector is None or call.creates:
        return ()
    known = function_of(call.selector)
    return (display.short(call.selector) if known is None else known.name,)


@admin.register(ContractCreation)
class ContractCreationAdmin(CallAdmin):
    """Creations of contracts by any creator, the latest first; served by the index `cchain_creation_in_order`."""

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.filter(creates=True)

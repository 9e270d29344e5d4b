"""Logs in the admin, with the names of well-known events."""

from collections.abc import Sequence

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages
from cchain_app.admin.display import address_in, event_of
from cchain_app.admin.names import full_named, read_names, short_named
from cchain_app.admin.pages import (
    RowsAdmin,
    logs_of_transaction,
    objects,
    rows_of_block,
    rows_of_block_hash,
)
from cchain_app.models import Log, Transaction
from chaindb.fields import HexBytes
from primitives.counting import counted

MAX_EVENTS = 16
"""Contracts with more kinds of events than this are searched as a whole, which means sorting their logs."""

LOG_HEADINGS = ("Log", "Event", "Address", "Indexed")


def log_row(log: Log) -> tuple[SafeString, ...]:
    """Return a log as a row of the small table under `LOG_HEADINGS`."""
    return (
        display.link(f"{log.index:,}", pages.log_page(log.pk)),
        _event(log),
        display.short_account(log.address),
        _indexed(log),
    )


@admin.register(Log)
class LogAdmin(RowsAdmin):
    """Logs, the latest first."""

    list_display = ("position", "block_number", "event", "short_address", "indexed", "data_size")
    ordering = ("-id",)
    search_fields = ("address", "topic0")
    search_help_text = "Address, first topic, transaction or block"
    fieldsets = (
        (None, {"fields": ("full_event", "full_address", "at", "transaction_link")}),
        ("Content", {"fields": ("topics", "content")}),
    )

    @override
    def prepare(self, rows: Sequence[Log]) -> None:
        """Read the names of the contracts."""
        read_names(rows, lambda row: (row.address,))

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return rows_of_block(term.number)
        if term.address is not None:
            return _branches_of(term.address)
        return [] if term.hash is None else _branches_of_hash(term.hash)

    @admin.display(description="Log")
    def position(self, log: Log) -> str:
        """Return the position in the block."""
        return f"{log.index:,}"

    @admin.display(description="Block")
    def block_number(self, log: Log) -> SafeString:
        """Return the block."""
        return display.block_link(log.block_id)

    @admin.display(description="Event")
    def event(self, log: Log) -> SafeString:
        """Return the event's name."""
        return _event(log)

    @admin.display(description="Address")
    def short_address(self, log: Log) -> SafeString:
        """Return the contract for the list."""
        return short_named(log, log.address)

    @admin.display(description="Indexed")
    def indexed(self, log: Log) -> SafeString:
        """Return the topics after the first."""
        return _indexed(log)

    @admin.display(description="Data")
    def data_size(self, log: Log) -> str:
        """Return the size of the data."""
        return counted(len(log.data), "byte")

    @admin.display(description="Event")
    def full_event(self, log: Log) -> SafeString:
        """Return the event's signature."""
        known = event_of(log.topic0)
        return display.badge("unknown") if known is None else display.badge(known.text, "note")

    @admin.display(description="Address")
    def full_address(self, log: Log) -> SafeString:
        """Return the contract."""
        return full_named(log, log.address)

    @admin.display(description="Block")
    def at(self, log: Log) -> SafeString:
        """Return the block and the position in it."""
        return display.side_by_side(
            display.block_link(log.block_id), f"log {log.index:,} of the block"
        )

    @admin.display(description="Transaction")
    @cached_on_row
    def transaction_link(self, log: Log) -> SafeString:
        """Return the transaction."""
        found = objects(Transaction).filter(pk=log.transaction_id).values_list("hash", flat=True)
        tx_hash = found.first()
        if tx_hash is None:
            return display.NOTHING
        return display.full_link(bytes(tx_hash), pages.transaction_page(log.transaction_id))

    @admin.display(description="Topics")
    @cached_on_row
    def topics(self, log: Log) -> SafeString:
        """Return all topics; for known events with the addresses that they hold."""
        known = event_of(log.topic0)
        types = ("event", *(known.parameters if known else ("", "", "")))
        rows = [
            (str(number), type_, _decoded(topic, type_))
            for number, (topic, type_) in enumerate(zip(_topics(log), types, strict=False))
        ]
        return display.table(("#", "Type", "Topic"), rows) if rows else display.NOTHING

    @admin.display(description="Data")
    def content(self, log: Log) -> SafeString:
        """Return the data in a scrolling box."""
        return display.box(log.data)


def _event(log: Log) -> SafeString:
    known = event_of(log.topic0)
    if known is not None:
        return display.badge(known.name, "note")
    return display.badge("anonymous") if log.topic0 is None else display.short(log.topic0)


def _indexed(log: Log) -> SafeString:
    """Return the topics after the first; addresses of known events are shown as addresses."""
    known = event_of(log.topic0)
    types = known.parameters if known else ("", "", "")
    shown = [
        display.short(topic) if address is None else display.short_account(address)
        for topic, type_ in zip(_topics(log)[1:], types, strict=False)
        for address in [address_in(topic) if type_ == "address" else None]
    ]
    return display.side_by_side(*shown) if shown else display.NOTHING


def _decoded(topic: bytes, type_: str) -> SafeString:
    """Return a topic as hex, and the address if it holds one."""
    address = address_in(topic) if type_ == "address" else None
    if address is None:
        return display.full(topic)
    return display.one_per_line(display.full(topic), display.full_account(address))


def _topics(log: Log) -> list[HexBytes]:
    topics = (log.topic0, log.topic1, log.topic2, log.topic3)
    return [topic for topic in topics if topic is not None]


def _branches_of_hash(wanted: bytes) -> list[Q]:
    """Return the query branches for the logs of a transaction, a block or an event."""
    key = objects(Transaction).filter(hash=wanted).values_list("pk", flat=True).first()
    if key is not None:
        return logs_of_transaction(key)
    return rows_of_block_hash(wanted) or [Q(topic0=wanted)]


def _branches_of(address: bytes) -> list[Q]:
    """Return one query branch for each kind of event of a contract.

    The index is ordered by address, first topic and key, so keys are in order only within one event. The
    kinds are found by skipping from one to the next in that index.
    """
    logs = objects(Log).filter(address=address)
    branches = [Q(address=address, topic0=None)]
    kinds = logs.filter(topic0__isnull=False).order_by("topic0").values_list("topic0", flat=True)
    kind = kinds.first()
    while kind is not None:
        if len(branches) > MAX_EVENTS:
            return [Q(address=address)]
        branches.append(Q(address=address, topic0=kind))
        kind = kinds.filter(topic0__gt=kind).first()
    return branches

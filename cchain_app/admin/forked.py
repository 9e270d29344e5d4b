"""Data that a fork has fetched from its upstream chain, in the admin: values at the fork block (devnet.md 13)."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages
from cchain_app.admin.accounts import AccountValuesAdmin
from cchain_app.admin.pages import RowsAdmin, objects
from cchain_app.apps import evm_chain
from cchain_app.models import Code, ForkedAccount, ForkedHash, ForkedSlot, StorageSlot
from chaindb.fields import HexBytes
from primitives.evm import ZERO_WORD
from primitives.hashing import EMPTY_HASH

_ADDRESS_BYTES = 20


class FetchedAdmin(RowsAdmin):
    """An admin page for fetched rows; a note above the list names the upstream chain and the fork block."""

    @override
    def is_used(self) -> bool:
        return super().is_used() and evm_chain().fork is not None

    @override
    def list_note(self) -> str:
        fork = evm_chain().fork
        return "" if fork is None else f"According to {fork.url} at block {fork.number:,}."

    @override
    def empty_note(self) -> str:
        if evm_chain().fork is None:
            return "This chain is not a fork: it has its own genesis and fetches nothing."
        return "Data of the forked chain is fetched once, when a call, block or request needs it, and kept here."

    @admin.display(description="Source")
    def source(self, _row: Any) -> SafeString | str:
        """Return the upstream host and the fork block."""
        return upstream_source()


@admin.register(ForkedAccount)
class ForkedAccountAdmin(FetchedAdmin, AccountValuesAdmin):
    """Accounts that were fetched, by address."""

    list_display = ("first_address", "kind", "short_balance", "nonce_text", "slots")
    ordering = ("address",)
    search_fields = ("address",)
    search_help_text = "Address"
    fieldsets = (
        (
            "At the fork block",
            {"fields": ("source", "full_address", "kind", "balance_text", "nonce_text", "slots")},
        ),
        ("Contract", {"fields": ("full_code_hash", "code")}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return [] if term.address is None else [Q(pk=term.address)]

    @override
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out the fields that only a contract has."""
        shown = super().get_fieldsets(request, obj)
        return shown[:1] if isinstance(obj, ForkedAccount) and not _has_code(obj) else shown

    @admin.display(description="Address")
    def first_address(self, account: ForkedAccount) -> SafeString:
        """Return the address for the list, as a link to the fetched values."""
        return display.short(account.address)

    @admin.display(description="Storage")
    def slots(self, account: ForkedAccount) -> SafeString:
        """Return a link to the account's fetched slots; only an account with code has storage."""
        if not _has_code(account):
            return display.NOTHING
        return display.link("Fetched slots ›", pages.search_page("forkedslot", account.address))

    @admin.display(description="Code hash")
    def full_code_hash(self, account: ForkedAccount) -> SafeString:
        """Return the code's hash."""
        return display.NOTHING if account.code_hash is None else display.full(account.code_hash)

    @admin.display(description="Code")
    @cached_on_row
    def code(self, account: ForkedAccount) -> SafeString:
        """Return the code in a scrolling box."""
        if not _has_code(account):
            return display.NOTHING
        code = objects(Code).filter(pk=account.code_hash).values_list("code", flat=True).first()
        return display.box(bytes(code or b""))


@admin.register(ForkedSlot)
class ForkedSlotAdmin(FetchedAdmin):
    """Storage slots that were fetched, by account and slot."""

    list_display = ("short_slot", "short_address", "short_value")
    ordering = ("key",)
    search_fields = ("key",)
    search_help_text = "Address"
    fieldsets = (
        ("At the fork block", {"fields": ("source", "full_address", "full_slot", "full_value")}),
        ("Since then", {"fields": ("now",)}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.address is None:
            return []
        return [Q(pk__gte=term.address, pk__lte=HexBytes(term.address + b"\xff" * 32))]

    @admin.display(description="Slot")
    def short_slot(self, row: ForkedSlot) -> SafeString:
        """Return the slot for the list."""
        return display.short(row.key[_ADDRESS_BYTES:])

    @admin.display(description="Slot")
    def full_slot(self, row: ForkedSlot) -> SafeString:
        """Return the slot in full."""
        return display.full(row.key[_ADDRESS_BYTES:])

    @admin.display(description="Account")
    def short_address(self, row: ForkedSlot) -> SafeString:
        """Return the account for the list."""
        return display.short_account(row.key[:_ADDRESS_BYTES])

    @admin.display(description="Account")
    def full_address(self, row: ForkedSlot) -> SafeString:
        """Return the account."""
        return display.full_account(row.key[:_ADDRESS_BYTES])

    @admin.display(description="Value")
    def short_value(self, row: ForkedSlot) -> SafeString:
        """Return the value for the list, or "not set" for zero."""
        return display.badge("not set", "wait") if _is_zero(row.value) else display.short(row.value)

    @admin.display(description="Value")
    def full_value(self, row: ForkedSlot) -> SafeString:
        """Return the value in full."""
        return display.badge("not set", "wait") if _is_zero(row.value) else display.full(row.value)

    @admin.display(description="At the head")
    @cached_on_row
    def now(self, row: ForkedSlot) -> SafeString:
        """Return the value at the head, after this chain's blocks and state edits."""
        current = objects(StorageSlot).filter(pk=row.pk).values_list("value", flat=True).first()
        value = HexBytes(current or ZERO_WORD)
        if value == row.value:
            return display.muted("the same")
        return display.badge("not set", "wait") if _is_zero(value) else display.full(value)


@admin.register(ForkedHash)
class ForkedHashAdmin(FetchedAdmin):
    """Hashes of blocks before the fork block that BLOCKHASH read, the latest first."""

    list_display = ("number_text", "short_hash")
    ordering = ("-number",)
    search_fields = ("number",)
    search_help_text = "Number of the block"
    fieldsets = ((None, {"fields": ("source", "number_text", "full_hash")}),)

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return [] if term.number is None else [Q(pk=term.number)]

    @admin.display(description="Block")
    def number_text(self, row: ForkedHash) -> str:
        """Return the block's number; this chain has no row for the block itself."""
        return f"{row.number:,}"

    @admin.display(description="Hash")
    def short_hash(self, row: ForkedHash) -> SafeString:
        """Return the hash for the list."""
        return display.short(row.hash)

    @admin.display(description="Hash")
    def full_hash(self, row: ForkedHash) -> SafeString:
        """Return the hash in full."""
        return display.full(row.hash)


def upstream_source() -> SafeString | str:
    """Return the upstream's scheme and host, and the fork block; nothing for a chain that is not a fork.

    The rest of the URL may contain a key and is not shown.
    """
    fork = evm_chain().fork
    if fork is None:
        return display.NOTHING
    return format_html("{} at block {}", fork.url, display.block_link(fork.number))


def upstream_in_use() -> SafeString | str:
    """Return the upstream that serves missing data, as NODE_FORK_URL or anvil_setRpcUrl set it in this process."""
    upstream = evm_chain().upstream
    return display.muted("none: NODE_FORK_URL is not set") if upstream is None else upstream.host


def _has_code(account: ForkedAccount) -> bool:
    return account.code_hash is not None and bytes(account.code_hash) != EMPTY_HASH


def _is_zero(value: bytes) -> bool:
    return bytes(value) == ZERO_WORD

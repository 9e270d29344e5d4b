"""Settings made over RPC that are in effect on a development chain: overrides for later blocks, and keyless senders.

On any other chain these rows have no effect, because only development methods read them (devnet.md 2, 4, 7). In the
production profile the pages show rows from before: there are no methods that change them.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.terms import SearchTerm
from cchain_app.admin import display
from cchain_app.admin.forked import upstream_in_use, upstream_source
from cchain_app.admin.pages import RowsAdmin, objects
from cchain_app.apps import evm_chain
from cchain_app.models import (
    Account,
    CreatedAccount,
    DevelopmentSettings,
    ImpersonatedSignature,
    Impersonation,
)
from cchain_app.selectors import signers
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH


class DevelopmentAdmin(RowsAdmin):
    """An admin page for rows that only a development chain has; empty on any other chain."""

    nothing_set = ""
    """The text shown for an empty list on a development chain."""

    @override
    def is_used(self) -> bool:
        return super().is_used() and evm_chain().has_development_methods

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows if evm_chain().is_development else rows.none()

    @override
    def empty_note(self) -> str:
        chain = evm_chain()
        if chain.has_development_methods:
            return self.nothing_set
        if chain.is_development:
            return "Nothing was set over RPC: development methods need the embedded profile."
        return "This is not a development chain: it has no methods that set overrides."


@admin.register(DevelopmentSettings)
class DevelopmentSettingsAdmin(DevelopmentAdmin):
    """The single row of settings made over RPC."""

    list_display = (
        "mining_text",
        "next_time",
        "next_fee",
        "next_randao",
        "miner",
        "gas_limit_text",
    )
    nothing_set = "No overrides: blocks follow the node's settings."
    ordering = ("id",)
    fieldsets = (
        ("Next block only", {"fields": ("next_time", "next_fee", "full_randao")}),
        (
            "All following blocks",
            {"fields": ("mining_text", "every", "time_step", "full_miner", "gas_limit_text")},
        ),
        ("So far", {"fields": ("rewind_count", "lowered", "full_instance")}),
        ("Fork", {"fields": ("fork", "upstream")}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return []  # one row is not searched

    @override
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out the fields that only a fork has."""
        shown = super().get_fieldsets(request, obj)
        return shown[:-1] if evm_chain().fork is None else shown

    @admin.display(description="Mining")
    def mining_text(self, row: DevelopmentSettings) -> SafeString:
        """Return the mining mode, whether it was set over RPC, and whether mining is paused."""
        paused = (display.badge("paused", "wait"),) if row.paused else ()
        if row.mining is None or not evm_chain().has_development_methods:
            default = display.muted("as NODE_MINING says")
            return display.side_by_side(evm_chain().settings.mining, default, *paused)
        return display.side_by_side(display.badge(row.mining, "note"), *paused)

    @admin.display(description="Block interval")
    def every(self, row: DevelopmentSettings) -> SafeString | str:
        """Return the seconds between blocks of interval mining."""
        if row.block_interval is None or not evm_chain().has_development_methods:
            given = f"{evm_chain().settings.block_interval:g} s"
            return display.side_by_side(given, display.muted("as NODE_BLOCK_INTERVAL says"))
        return f"{row.block_interval:g} s"

    @admin.display(description="Next timestamp")
    def next_time(self, row: DevelopmentSettings) -> SafeString:
        """Return the next block's time."""
        return _not_set() if row.next_timestamp is None else display.moment(row.next_timestamp)

    @admin.display(description="Seconds between blocks")
    def time_step(self, row: DevelopmentSettings) -> SafeString | str:
        """Return the seconds between each block's time and its parent's."""
        return _not_set() if row.timestamp_interval is None else f"{row.timestamp_interval:,} s"

    @admin.display(description="Next base fee")
    def next_fee(self, row: DevelopmentSettings) -> SafeString:
        """Return the next block's base fee."""
        return _not_set() if row.next_base_fee is None else display.gas_price(row.next_base_fee)

    @admin.display(description="Next prevRandao")
    def next_randao(self, row: DevelopmentSettings) -> SafeString:
        """Return the next block's prevRandao for the list."""
        return _not_set() if row.next_prev_randao is None else display.short(row.next_prev_randao)

    @admin.display(description="Next prevRandao")
    def full_randao(self, row: DevelopmentSettings) -> SafeString:
        """Return the next block's prevRandao in full."""
        return _not_set() if row.next_prev_randao is None else display.full(row.next_prev_randao)

    @admin.display(description="Coinbase")
    def miner(self, row: DevelopmentSettings) -> SafeString:
        """Return the coinbase of all later blocks for the list."""
        return _not_set() if row.coinbase is None else display.short_account(row.coinbase)

    @admin.display(description="Coinbase")
    def full_miner(self, row: DevelopmentSettings) -> SafeString:
        """Return the coinbase of all later blocks."""
        return _not_set() if row.coinbase is None else display.full_account(row.coinbase)

    @admin.display(description="Gas limit")
    def gas_limit_text(self, row: DevelopmentSettings) -> SafeString | str:
        """Return the gas limit of all later blocks."""
        return _not_set() if row.gas_limit is None else f"{row.gas_limit:,}"

    @admin.display(description="Rewinds")
    def rewind_count(self, row: DevelopmentSettings) -> str:
        """Return the number of rewinds over RPC."""
        return "once" if row.rewinds == 1 else f"{row.rewinds:,} times"

    @admin.display(description="Nonces lowered")
    def lowered(self, row: DevelopmentSettings) -> str:
        """Return whether a nonce was lowered; if so, mined transactions could be mined again."""
        return "yes" if row.nonces_lowered else "no"

    @admin.display(description="Instance")
    def full_instance(self, row: DevelopmentSettings) -> SafeString:
        """Return the ID that is generated again when the chain is reset."""
        return display.full(row.instance_id)

    @admin.display(description="Fork of")
    def fork(self, _row: DevelopmentSettings) -> SafeString | str:
        """Return the chain and the block from which the fork continues."""
        return upstream_source()

    @admin.display(description="Upstream in use")
    def upstream(self, _row: DevelopmentSettings) -> SafeString | str:
        """Return the upstream node from which missing data is fetched."""
        return upstream_in_use()


class SenderAdmin(DevelopmentAdmin):
    """An admin page for rows with the `address` of a permitted sender, and that account's values at the head."""

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return [] if term.address is None else [Q(address=term.address)]

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        """Read the accounts at the head, because senders need coins for gas."""
        named = [row.address for row in rows if row.address is not None]
        found = {
            account.pk: account for account in objects(Account).filter(pk__in=named).order_by()
        }
        keyed = signers.with_keys(evm_chain(), (Address(bytes(item)) for item in named))
        for row in rows:
            row.account = found.get(row.address)
            row.has_key = row.address in keyed

    @admin.display(description="Kind")
    def kind(self, row: Any) -> SafeString:
        """Return whether the account has code, and whether the node has its key."""
        if row.address is None:
            return display.NOTHING
        has_code = row.account is not None and bytes(row.account.code_hash) != EMPTY_HASH
        badge = display.badge("contract", "note") if has_code else display.badge("account")
        return (
            display.side_by_side(badge, display.muted("signs with its key"))
            if row.has_key
            else badge
        )

    @admin.display(description="Balance")
    def short_balance(self, row: Any) -> SafeString:
        """Return the balance at the head."""
        if row.address is None:
            return display.NOTHING
        return display.amount(0 if row.account is None else row.account.balance)

    @admin.display(description="Nonce")
    def nonce_text(self, row: Any) -> SafeString | str:
        """Return the nonce at the head."""
        if row.address is None:
            return display.NOTHING
        return "0" if row.account is None else f"{row.account.nonce:,}"

    @admin.display(description="Account")
    def account_link(self, row: Any) -> SafeString:
        """Return a link to the account."""
        return display.short_account(row.address)


@admin.register(Impersonation)
class ImpersonationAdmin(SenderAdmin):
    """Impersonated senders, in the order in which they were added."""

    list_display = ("who", "kind", "short_balance", "nonce_text", "account_link")
    nothing_set = "No account is impersonated: only accounts with a key in the node can send."
    ordering = ("id",)
    search_fields = ("address",)
    search_help_text = "Address"
    fieldsets = ((None, {"fields": ("full_address", "kind", "short_balance", "nonce_text")}),)

    @admin.display(description="Impersonated")
    def who(self, row: Impersonation) -> SafeString:
        """Return the address, or "everybody"."""
        return _everybody() if row.address is None else display.short(row.address)

    @admin.display(description="Impersonated")
    def full_address(self, row: Impersonation) -> SafeString:
        """Return the account, or "everybody"."""
        return _everybody() if row.address is None else display.full_account(row.address)


@admin.register(ImpersonatedSignature)
class ImpersonatedSignatureAdmin(DevelopmentAdmin):
    """Signers that ecrecover returns for given signatures, in the order in which they were set."""

    list_display = ("number_text", "short_signature", "short_signer")
    nothing_set = "ecrecover returns the real signers; anvil_impersonateSignature adds exceptions."
    ordering = ("id",)
    search_fields = ("number",)
    search_help_text = "First block with this exception"
    fieldsets = ((None, {"fields": ("number_text", "full_signature", "full_signer")}),)

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return [] if term.number is None else [Q(number=term.number)]

    @admin.display(description="From block")
    def number_text(self, row: ImpersonatedSignature) -> str:
        """Return the first block in which the override applies; it may not exist yet."""
        return f"{row.number:,}"

    @admin.display(description="Signature")
    def short_signature(self, row: ImpersonatedSignature) -> SafeString:
        """Return r, s and v for the list."""
        return display.short(row.signature)

    @admin.display(description="Signature")
    def full_signature(self, row: ImpersonatedSignature) -> SafeString:
        """Return r, s and v in full."""
        return display.full(row.signature)

    @admin.display(description="Signer")
    def short_signer(self, row: ImpersonatedSignature) -> SafeString:
        """Return a link to the signer that ecrecover returns."""
        return display.short_account(row.signer)

    @admin.display(description="Signer")
    def full_signer(self, row: ImpersonatedSignature) -> SafeString:
        """Return the signer that ecrecover returns."""
        return display.full_account(row.signer)


@admin.register(CreatedAccount)
class CreatedAccountAdmin(SenderAdmin):
    """Accounts of personal_newAccount by their numbers; their keys are never shown."""

    list_display = ("number_text", "account_link", "kind", "short_balance", "nonce_text")
    nothing_set = "No accounts were created (personal_newAccount)."
    ordering = ("number",)
    search_fields = ("address",)
    search_help_text = "Address"
    fieldsets = (
        (
            None,
            {"fields": ("number_text", "full_address", "kind", "short_balance", "nonce_text")},
        ),
    )

    @admin.display(description="Number")
    def number_text(self, row: CreatedAccount) -> str:
        """Return the account's index in the mnemonic, which ends the derivation path."""
        return f"{row.number:,}"

    @admin.display(description="Account")
    def full_address(self, row: CreatedAccount) -> SafeString:
        """Return the account."""
        return display.full_account(row.address)


def _not_set() -> SafeString:
    return display.muted("not set")


def _everybody() -> SafeString:
    return display.badge("every account", "wait")

"""Tokens in the admin: their own description, their transfers and balances, as far as they are indexed.

Names come from untrusted contracts: they are shown unchanged, and never as part of a link.
"""

from typing import Final

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit import display
from adminkit.display import PageLinks
from adminkit.terms import SearchTerm
from cchain_app.admin.pages import RowsAdmin
from cchain_app.apps import evm_chain
from chaindb.fields import HEIGHTS, HexBytes, height_of, row_id
from explorer_app.apps import explorer
from explorer_app.models import Token, TokenBalance, TokenKind, TokenTransfer
from explorer_app.selectors import tokens
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

_CHAIN: Final = PageLinks("cchain_app")


class TokenRowsAdmin(RowsAdmin):
    """A read-only view of rows of the chosen chain's token index; above the list it shows the index's progress."""

    @override
    def is_used(self) -> bool:
        return super().is_used() and explorer().indexes_tokens

    @override
    def list_note(self) -> str:
        return f"Tokens: {tokens.how_far(evm_chain())}."


@admin.register(Token)
class TokenAdmin(TokenRowsAdmin):
    """Contracts that have emitted a transfer, the latest first."""

    found_by = "address"
    list_display = ("short_address", "standard", "name_text", "symbol_text", "first_block")
    ordering = ("-first_log",)
    search_fields = ("address",)
    search_help_text = "Address"
    fieldsets = (
        (None, {"fields": ("full_address", "standard", "name_text", "symbol_text", "decimals_text", "supply")}),
        ("Index", {"fields": ("first_block", "asked", "attempts")}),
    )  # fmt: skip

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return [] if term.address is None else [Q(pk=term.address)]

    @admin.display(description="Contract")
    def short_address(self, token: Token) -> SafeString:
        """Return the shortened address for the list, which links to the token."""
        return display.short(checksum_address(token.address))

    @admin.display(description="Contract")
    def full_address(self, token: Token) -> SafeString:
        """Return the address, which links to its account."""
        return _full_account(token.address)

    @admin.display(description="Standard")
    def standard(self, token: Token) -> SafeString:
        """Return the token's standard."""
        if token.kind is None:
            return display.badge("not a token")
        return display.badge(TokenKind(token.kind).label, "note")

    @admin.display(description="Name")
    def name_text(self, token: Token) -> SafeString | str:
        """Return the token's name."""
        return token.name or display.NOTHING

    @admin.display(description="Symbol")
    def symbol_text(self, token: Token) -> SafeString | str:
        """Return the token's symbol."""
        return token.symbol or display.NOTHING

    @admin.display(description="Decimals")
    def decimals_text(self, token: Token) -> SafeString | str:
        """Return the token's decimals."""
        return display.NOTHING if token.decimals is None else str(token.decimals)

    @admin.display(description="Total supply")
    def supply(self, token: Token) -> SafeString | str:
        """Return the token's supply in the smallest units."""
        return display.NOTHING if token.total_supply is None else f"{token.total_supply:,}"

    @admin.display(description="First transfer")
    def first_block(self, token: Token) -> SafeString:
        """Return the block of its first transfer."""
        return _block(height_of(token.first_log))

    @admin.display(description="Asked")
    def asked(self, token: Token) -> SafeString | str:
        """Return the height at which the contract was last queried."""
        return "not yet" if token.asked_height is None else _block(token.asked_height)


@admin.register(TokenTransfer)
class TokenTransferAdmin(TokenRowsAdmin):
    """Transfers of tokens, the latest first."""

    list_display = (
        "position", "short_transaction", "short_contract", "standard", "between", "what", "is_doubtful",
    )  # fmt: skip
    list_select_related = ("transaction",)
    list_defer = ("transaction__raw",)
    ordering = ("-id",)
    search_fields = ("contract", "sender", "to")
    search_help_text = "Address (token, sender or recipient) or block"
    fieldsets = (
        (None, {"fields": (
            "block", "full_transaction", "full_contract", "standard", "full_sender", "full_to", "what", "is_doubtful",
        )}),
    )  # fmt: skip

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            if term.number >= HEIGHTS:
                return []
            return [Q(pk__gte=row_id(term.number), pk__lt=row_id(term.number + 1))]
        if term.address is None:
            return []
        return [Q(**{side: term.address}) for side in ("contract_id", "sender", "to")]

    @admin.display(description="Block")
    def position(self, transfer: TokenTransfer) -> str:
        """Return block and log index for the list, which links to the transfer."""
        return f"{height_of(transfer.id):,}, log {transfer.log_index:,}"

    @admin.display(description="Transaction")
    def short_transaction(self, transfer: TokenTransfer) -> SafeString:
        """Return the transaction for the list."""
        return display.short_link(transfer.transaction.hash, _transaction(transfer))

    @admin.display(description="Transaction")
    def full_transaction(self, transfer: TokenTransfer) -> SafeString:
        """Return the transaction."""
        return display.full_link(transfer.transaction.hash, _transaction(transfer))

    @admin.display(description="Block")
    def block(self, transfer: TokenTransfer) -> SafeString:
        """Return block and log index."""
        return display.side_by_side(_block(height_of(transfer.id)), f"log {transfer.log_index:,}")

    @admin.display(description="Token")
    def short_contract(self, transfer: TokenTransfer) -> SafeString:
        """Return the token for the list."""
        return _short_account(transfer.contract_id)

    @admin.display(description="Token")
    def full_contract(self, transfer: TokenTransfer) -> SafeString:
        """Return the token."""
        return _full_account(transfer.contract_id)

    @admin.display(description="Standard")
    def standard(self, transfer: TokenTransfer) -> SafeString:
        """Return the standard of the transfer's event."""
        return display.badge(TokenKind(transfer.kind).label, "note")

    @admin.display(description="From → to")
    def between(self, transfer: TokenTransfer) -> SafeString:
        """Return sender and recipient."""
        return display.side_by_side(
            _short_account(transfer.sender), "→", _short_account(transfer.to)
        )

    @admin.display(description="From")
    def full_sender(self, transfer: TokenTransfer) -> SafeString:
        """Return the sender."""
        return _full_account(transfer.sender)

    @admin.display(description="To")
    def full_to(self, transfer: TokenTransfer) -> SafeString:
        """Return the recipient."""
        return _full_account(transfer.to)

    @admin.display(description="What")
    def what(self, transfer: TokenTransfer) -> str:
        """Return the amount in the smallest units, with the token IDs if there are any."""
        if transfer.token_id is None:
            return f"{transfer.value:,}"
        last = "" if transfer.last_token_id is None else f" to #{transfer.last_token_id}"
        return f"{transfer.value:,} of #{transfer.token_id}{last}"

    @admin.display(description="Doubtful", boolean=True)
    def is_doubtful(self, transfer: TokenTransfer) -> bool:
        """Return whether the event alone does not prove the transfer."""
        return transfer.doubtful


@admin.register(TokenBalance)
class TokenBalanceAdmin(TokenRowsAdmin):
    """Balances of holders, by token."""

    list_display = ("short_holder", "short_contract", "standard", "what", "is_different")
    ordering = ("key",)
    search_fields = ("contract",)
    search_help_text = "Address of a token or holder"
    fieldsets = (
        (None, {"fields": ("full_holder", "full_contract", "standard", "what")}),
        ("Index", {"fields": ("sum_text", "is_different", "asked")}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.address is None:
            return []
        last = HexBytes(term.address + b"\xff" * 54)
        return [Q(pk__gte=term.address, pk__lte=last), Q(holder=term.address)]

    @admin.display(description="Holder")
    def short_holder(self, balance: TokenBalance) -> SafeString:
        """Return the shortened holder for the list, which links to the balance."""
        return display.short(checksum_address(balance.holder))

    @admin.display(description="Holder")
    def full_holder(self, balance: TokenBalance) -> SafeString:
        """Return the holder."""
        return _full_account(balance.holder)

    @admin.display(description="Token")
    def short_contract(self, balance: TokenBalance) -> SafeString:
        """Return the token for the list."""
        return _short_account(balance.contract_id)

    @admin.display(description="Token")
    def full_contract(self, balance: TokenBalance) -> SafeString:
        """Return the token."""
        return _full_account(balance.contract_id)

    @admin.display(description="Standard")
    def standard(self, balance: TokenBalance) -> SafeString:
        """Return the standard of the transfers."""
        return display.badge(TokenKind(balance.kind).label, "note")

    @admin.display(description="Amount")
    def what(self, balance: TokenBalance) -> str:
        """Return the amount in the smallest units."""
        whose = "" if balance.token_id is None else f" of #{balance.token_id}"
        return f"{balance.amount:,}{whose}"

    @admin.display(description="Sum of transfers")
    def sum_text(self, balance: TokenBalance) -> str:
        """Return the sum of the transfers."""
        return f"{balance.summed:,}"

    @admin.display(description="Differs", boolean=True)
    def is_different(self, balance: TokenBalance) -> bool:
        """Return whether the contract reported another balance than the sum of the transfers."""
        return balance.differs

    @admin.display(description="Asked")
    def asked(self, balance: TokenBalance) -> SafeString | str:
        """Return the height at which the contract reported the balance."""
        return "not yet" if balance.asked_height is None else _block(balance.asked_height)


def _block(height: int) -> SafeString:
    return display.link(f"{height:,}", _CHAIN.page("block", height))


def _transaction(transfer: TokenTransfer) -> str:
    return _CHAIN.page("transaction", transfer.transaction_id)


def _short_account(address: Address) -> SafeString:
    return display.short_link(checksum_address(address), _CHAIN.page("account", address))


def _full_account(address: Address) -> SafeString:
    return display.full_link(checksum_address(address), _CHAIN.page("account", address))

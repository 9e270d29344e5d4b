"""Columns for rows that record an account's values at one time; nulls mean it did not exist."""

from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from cchain_app.admin import display
from cchain_app.admin.rows_admin import RowsAdmin
from primitives.hashing import EMPTY_HASH


class AccountValuesAdmin(RowsAdmin):
    """An admin page for rows with an address and the nonce, balance and code hash of that account."""

    @admin.display(description="Address")
    def short_address(self, row: Any) -> SafeString:
        """Return the account for the list."""
        return display.short_account(row.address)

    @admin.display(description="Address")
    def full_address(self, row: Any) -> SafeString:
        """Return the account."""
        return display.full_account(row.address)

    @admin.display(description="Balance")
    def short_balance(self, row: Any) -> SafeString:
        """Return the balance for the list."""
        return display.amount(row.balance)

    @admin.display(description="Balance")
    def balance_text(self, row: Any) -> SafeString:
        """Return the balance in full."""
        return display.full_amount(row.balance)

    @admin.display(description="Nonce")
    def nonce_text(self, row: Any) -> SafeString | str:
        """Return the nonce."""
        return display.NOTHING if row.nonce is None else f"{row.nonce:,}"

    @admin.display(description="Kind")
    def kind(self, row: Any) -> SafeString:
        """Return whether the account has code, or does not exist."""
        if row.code_hash is None:
            return display.badge("did not exist", "wait")
        if row.code_hash == EMPTY_HASH:
            return display.badge("account")
        return display.badge("contract", "note")

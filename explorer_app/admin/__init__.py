"""The explorer's rows in the admin: windows, where nobody changes anything."""

from explorer_app.admin.tokens import TokenAdmin, TokenBalanceAdmin, TokenTransferAdmin

__all__ = ["TokenAdmin", "TokenBalanceAdmin", "TokenTransferAdmin"]

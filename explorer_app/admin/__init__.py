"""The explorer's tables in the admin, read-only."""

from explorer_app.admin.tokens import TokenAdmin, TokenBalanceAdmin, TokenTransferAdmin

__all__ = ["TokenAdmin", "TokenBalanceAdmin", "TokenTransferAdmin"]

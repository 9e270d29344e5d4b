"""Rows of the explorer, which follow from the chain's. The store writes them; selectors and admin read them."""

from explorer_app.models.tokens import (
    Token,
    TokenBalance,
    TokenItem,
    TokenKind,
    TokenProgress,
    TokenTransfer,
)

__all__ = [
    "Token",
    "TokenBalance",
    "TokenItem",
    "TokenKind",
    "TokenProgress",
    "TokenTransfer",
]

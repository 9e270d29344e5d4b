"""Transactions of the X-Chain: layout, type IDs, JSON and the rules that need no state (xchain.md 3 to 7)."""

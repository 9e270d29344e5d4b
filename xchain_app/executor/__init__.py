"""The rules of transactions that depend on state, and their effects (xchain.md 5, 8, 9)."""

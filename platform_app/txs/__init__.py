"""Transactions of the P-Chain as values, their binary form and their syntax. Pure (pchain.md 2, 3)."""

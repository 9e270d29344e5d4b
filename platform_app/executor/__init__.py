"""The rules: the conditions that transactions must satisfy, and their effects. Pure (pchain.md 5, 6, 7)."""

"""The rules: what transactions must satisfy and what they change. Pure (pchain.md 5, 6, 7)."""

"""Blocks of the P-Chain as values, and their execution and building. Pure (pchain.md 4)."""

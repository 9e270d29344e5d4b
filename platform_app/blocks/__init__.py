"""Blocks of the P-Chain as values, and how they are executed and built. Pure (pchain.md 4)."""

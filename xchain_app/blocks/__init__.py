"""Blocks of the X-Chain: bytes, verification, the processing blocks, and building (xchain.md 11, 13)."""

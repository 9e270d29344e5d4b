"""The X-Chain's genesis: its assets, and the vertex at which the chain became linear (xchain.md 2, 12)."""

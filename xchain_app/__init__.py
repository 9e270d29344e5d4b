"""The X-Chain: assets, collectibles and property as unspent outputs, in a linear chain of blocks (xchain.md).

The layers are those of the P-Chain: `txs` (layout and syntax), `executor` (rules and effects), `blocks`, `genesis`,
rows, services and interfaces.
"""

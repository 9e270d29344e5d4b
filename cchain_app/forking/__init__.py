"""A chain that continues from a block of a remote node's chain (devnet.md 13). Pure except for HTTP.

`store.forked` stores the remote node's answers as rows; `selectors.forked` decides when to request them.
"""

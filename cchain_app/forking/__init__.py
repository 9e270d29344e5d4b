"""A chain that goes on from a block of another one, of which a remote node tells (devnet.md 13). Pure but for HTTP.

What was told is kept as rows by `store.forked`; what is asked when is `selectors.forked`.
"""

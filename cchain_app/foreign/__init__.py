"""Chains of other implementations: read their blocks from files, verify and execute them by Ethereum's rules. Pure.

`files` reads chain files, and rejects chains that cannot be imported; `headers` and `credits` contain rules; `replay`
executes blocks.
"""

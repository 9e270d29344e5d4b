"""Chains that others made: their blocks read from files, checked by Ethereum's rules, and executed anew. Pure.

`files` reads and writes chain files; `genesis` says which chains cannot be taken; `headers`, `ommers` and
`credits` are rules; `replay` executes.
"""

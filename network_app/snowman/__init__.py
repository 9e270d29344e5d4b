"""Snowman: how blocks are decided by voting. Pure: no clock, no I/O, no chain.

`parameters` and `snowflake` are the counting of one decision, `trie` decides among the siblings of one
parent, `topological` is the tree of processing blocks, `polls` collects the votes of one query,
`sampling` draws whom to ask, and `engine` drives them all; `ports` says what it asks of others.
"""

"""Snowman: decides on blocks by voting. Pure: no clock, no I/O, no chain.

`parameters` and `snowflake` count the polls of one decision, `trie` decides among the children of one
block, `topological` is the tree of processing blocks, `polls` collects the votes of one query, `sampling`
draws the validators of a poll, and `engine` drives them all. `ports` defines the engine's dependencies.
"""

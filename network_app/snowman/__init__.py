"""Snowman: decides on blocks by voting. Pure: no clock, no I/O, no chain.

`trie` counts the polls of one decision and decides among the children of one block, `topological` is the tree
of processing blocks, `polls` draws the validators of a poll and collects their votes, and `engine` drives them all. `ports` defines the engine's dependencies.
"""

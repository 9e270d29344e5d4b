"""Primary keys of rows that belong to a block: its height and a place within it.

A range of blocks is a range of keys, and inserts go to the end of the index.
"""

PLACES = 1 << 24
"""Most rows of one kind in a block."""

HEIGHTS = 1 << 39
"""Blocks that keys of 63 bits can hold then."""


def row_id(height: int, place: int = 0) -> int:
    """Return the key of the row at a place of a block; of the block's first with place 0."""
    return height * PLACES + place


def height_of(key: int) -> int:
    """Return the height of the block that a key belongs to."""
    return key // PLACES

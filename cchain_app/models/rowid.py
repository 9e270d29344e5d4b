"""Primary keys of rows that belong to a block: its number and a place within it."""

PLACES = 1 << 24
"""Most rows of one kind in a block; leaves 2^39 blocks in 63 bits."""


def row_id(number: int, place: int = 0) -> int:
    """Return the key of the row at a place of block `number`; of the block's first with place 0."""
    return number * PLACES + place


def block_of(key: int) -> int:
    """Return the number of the block that a key belongs to."""
    return key // PLACES

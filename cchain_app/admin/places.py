"""Which rows belong to a block or transaction: ranges of keys, since those foreign keys have no index."""

from django.db.models import Q

from cchain_app.admin.rows import objects
from cchain_app.models import Block, Receipt, height_of, row_id
from chaindb.rowid import HEIGHTS


def rows_of_block(number: int) -> list[Q]:
    """Return the condition for rows of a block, none for a number that no block can have."""
    if number >= HEIGHTS:
        return []
    return [Q(pk__gte=row_id(number), pk__lt=row_id(number + 1))]


def rows_of_block_hash(block_hash: bytes) -> list[Q]:
    """Return the condition for rows of the block with a hash, none when there is no such block."""
    number = objects(Block).filter(hash=block_hash).values_list("number", flat=True).first()
    return [] if number is None else rows_of_block(number)


def logs_of_transaction(key: int) -> list[Q]:
    """Return the condition for the logs of a transaction, none when it has none."""
    counts = objects(Receipt).filter(pk=key).values_list("first_log_index", "log_count").first()
    if counts is None or counts[1] == 0:
        return []
    first = row_id(height_of(key), counts[0])
    return [Q(pk__gte=first, pk__lt=first + counts[1])]

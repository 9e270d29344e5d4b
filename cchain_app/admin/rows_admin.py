"""The rows of this process's C-Chain in its database, and the rows of one block or transaction.

The rows of a block or transaction are a range of keys, because their foreign keys have no index.
"""

from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from typing_extensions import override

from adminkit.read_only import ReadOnlyModelAdmin
from cchain_app.apps import evm_chain
from cchain_app.models import Block, Receipt, height_of, row_id
from chaindb.fields import HEIGHTS

M = TypeVar("M", bound=Model)


def objects(model: type[M]) -> QuerySet[M]:
    """Return a queryset of all rows of a model."""
    return evm_chain().db.objects(model)


class RowsAdmin(ReadOnlyModelAdmin):
    """An admin page for rows of the C-Chain."""

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.using(evm_chain().db.alias)


def rows_of_block(number: int) -> list[Q]:
    """Return the condition for rows of a block; an empty list for a number that no block can have."""
    if number >= HEIGHTS:
        return []
    return [Q(pk__gte=row_id(number), pk__lt=row_id(number + 1))]


def rows_of_block_hash(block_hash: bytes) -> list[Q]:
    """Return the condition for rows of the block with a hash; an empty list if there is no such block."""
    number = objects(Block).filter(hash=block_hash).values_list("number", flat=True).first()
    return [] if number is None else rows_of_block(number)


def logs_of_transaction(key: int) -> list[Q]:
    """Return the condition for the logs of a transaction; an empty list if it has no logs."""
    counts = objects(Receipt).filter(pk=key).values_list("first_log_index", "log_count").first()
    if counts is None or counts[1] == 0:
        return []
    first = row_id(height_of(key), counts[0])
    return [Q(pk__gte=first, pk__lt=first + counts[1])]

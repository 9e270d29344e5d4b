"""Exact sums of columns with unsigned integers of more than 63 bits."""

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import Model

from chaindb.database import Database
from chaindb.fields import UnsignedField

_DIGITS: Final = 9
"""Digits that are summed together on SQLite, whose integers have 63 bits: billions of rows fit."""


def column_sum(
    db: Database, model: type[Model], column: str, condition: str = "", params: Sequence[Any] = ()
) -> int:
    """Return the exact sum of a column with unsigned integers; empty values count as 0.

    Args:
        db: The database.
        model: The model of the table.
        column: The name of the model's field.
        condition: The text after WHERE; empty for all rows.
        params: The values of the condition.
    """
    field = model._meta.get_field(column)  # Django documents it
    assert isinstance(field, UnsignedField)
    assert field.width == field.digits, "the text is padded with zeros"
    name = f'"{field.column}"'
    if db.connection.vendor == "postgresql":
        parts, width = [f"sum({name})"], 0
    else:
        # The text is padded with zeros: slices of it, from the last digits to the first ones.
        width = _DIGITS
        ends = range(field.digits, 0, -width)
        parts = [
            f"sum(CAST(substr({name}, {max(1, end - width + 1)}, {min(width, end)}) AS INTEGER))"
            for end in ends
        ]
    where = f" WHERE {condition}" if condition else ""
    table = model._meta.db_table  # likewise
    row = db.row(f'SELECT {", ".join(parts)} FROM "{table}"{where}', params)  # noqa: S608  # names and conditions are the program's own
    assert row is not None, "an aggregate has a row"
    return sum(int(part or 0) * 10 ** (width * place) for place, part in enumerate(row))

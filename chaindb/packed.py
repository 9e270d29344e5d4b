"""Many rows in one statement of SQLite, which takes their values out of blobs, one for each column.

A statement with a mark for each value is run again for each row, and to bind its values, to give the interpreter up and
to get it back costs more than to write the row. Here each column is an expression of the row's number `i`: values that
are all the same stand for themselves, those of one width follow each other, and of others two more blobs say where
each begins and how long it is. Numbers stand in decimal, since SQLite reads no others out of a blob.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import index
from typing import Any, Final

Values = Sequence[Any]
Expression = tuple[str, list[Any]]
"""SQL, and the values for its marks."""
Pack = Callable[[Values], Expression]
"""Takes the values of a column, and returns what stands for them."""

_ROWS: Final = "WITH RECURSIVE row(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM row WHERE i < %s)"

_LEAST, _MOST = -(2**63), 2**63 - 1
_DIGITS: Final = 20
"""Of the longest number of 64 bits, with its sign."""
_DECIMAL: Final = b"%%%dd" % _DIGITS
_BLANK: Final = b" " * _DIGITS
"""In the place of a number that is null."""
_NUMBER: Final = f"substr(%s, {_DIGITS} * i + 1, {_DIGITS})"
_NULLABLE: Final = f"nullif({_NUMBER}, x'{_BLANK.hex()}')"
_INTEGER: Final = "CAST({} AS INTEGER)"
_NULLABLE_INTEGER: Final = _INTEGER.format(_NULLABLE)
_EVEN: Final = "substr(%s, %s * i + 1, %s)"
_PIECE: Final = f"substr(%s, {_NULLABLE_INTEGER}, {_INTEGER.format(_NUMBER)})"


def packed(
    head: str, tail: str, packs: Sequence[Pack], rows: Sequence[Sequence[Any]]
) -> Expression:
    """Return a statement that writes rows in their order, and the values for its marks.

    Args:
        head: `INSERT INTO` with a table and columns.
        tail: What is done in place of a conflict, if anything.
        packs: What packs each column, in their order. Values that are all the same are not packed, nor looked at.
        rows: At least one; each has a value for each column.

    Raises:
        ValueError: A row has more values or fewer.
        Exception: What a pack raises.
    """
    expressions, given = [], [len(rows) - 1]
    for pack, values in zip(packs, zip(*rows, strict=True), strict=True):
        expression, marked = _same(values) or pack(values)
        expressions.append(expression)
        given += marked
    # Without a condition SQLite takes what follows for a join's.
    chosen = f"SELECT {', '.join(expressions)} FROM row WHERE true"  # noqa: S608  # marks, no values
    return f"{head} {_ROWS} {chosen} {tail}", given


def integers(values: Values) -> Expression:
    """Pack integers of 64 bits; true is 1.

    Raises:
        OverflowError: One needs more.
        TypeError: One is no integer.
    """
    has_none = None in values
    numbers = (
        [0 if one is None else index(one) for one in values] if has_none else [*map(index, values)]
    )
    if min(numbers) < _LEAST or max(numbers) > _MOST:
        raise OverflowError("an integer needs more than 64 bits")
    if has_none:
        return _NULLABLE_INTEGER, [_decimals(numbers, values)]
    if numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
        return "%s + i", [numbers[0]]
    return _INTEGER.format(_NUMBER), [_decimals(numbers)]


def blobs(values: Values) -> Expression:
    """Pack bytes.

    Raises:
        TypeError: Something is no bytes.
    """
    if None not in values and len({*map(len, values)}) == 1:
        width = len(values[0])
        return _EVEN, [b"".join(values), width, width]
    sizes = [0 if one is None else len(one) for one in values]
    begins = list(accumulate(sizes[:-1], initial=1))
    # Of nothing a piece of no bytes would be null.
    whole = b"".join([one for one in values if one is not None]) or _BLANK
    return _PIECE, [whole, _decimals(begins, values), _decimals(sizes)]


def texts(values: Values) -> Expression:
    """Pack text, as UTF-8.

    Raises:
        UnicodeEncodeError: One has halves of surrogates.
    """
    expression, given = blobs([None if one is None else one.encode() for one in values])
    return f"CAST({expression} AS TEXT)", given


def _same(values: Values) -> Expression | None:
    """Return the one value that all rows have; None where they have several."""
    return ("%s", [values[0]]) if values.count(values[0]) == len(values) else None


def _decimals(numbers: Sequence[int], values: Values = ()) -> bytes:
    """Return numbers in decimal, each in as many digits, and none for those of `values` that are null."""
    if None not in values:
        return (_DECIMAL * len(numbers)) % tuple(numbers)
    pairs = zip(numbers, values, strict=True)
    return b"".join([_BLANK if value is None else _DECIMAL % one for one, value in pairs])

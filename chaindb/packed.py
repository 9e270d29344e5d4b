"""Many rows in one SQLite statement, which extracts the values from blobs, one blob for each column.

A statement with a placeholder for each value is run again for each row. Binding its values,
releasing the interpreter and getting it back cost more than writing the row. Here each column is an
expression of the row number `i`. Equal values are passed once; values of one width are
concatenated; for other values two more blobs have the start and the length of each. Numbers are in
decimal, since SQLite can read no other form from a blob.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import index
from typing import Any, Final

Values = Sequence[Any]
Expression = tuple[str, list[Any]]
"""SQL, and the values of its placeholders."""
Pack = Callable[[Values], Expression]
"""Takes the values of a column and returns the expression for them."""

_ROWS: Final = "WITH RECURSIVE row(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM row WHERE i < %s)"

_LEAST, _MOST = -(2**63), 2**63 - 1
_DIGITS: Final = 20
"""Digits of the longest 64-bit number, with its sign."""
_DECIMAL: Final = b"%%%dd" % _DIGITS
_BLANK: Final = b" " * _DIGITS
"""Placeholder for a number that is null."""
_NUMBER: Final = f"substr(%s, {_DIGITS} * i + 1, {_DIGITS})"
_NULLABLE: Final = f"nullif({_NUMBER}, x'{_BLANK.hex()}')"
_INTEGER: Final = "CAST({} AS INTEGER)"
_NULLABLE_INTEGER: Final = _INTEGER.format(_NULLABLE)
_EVEN: Final = "substr(%s, %s * i + 1, %s)"
_PIECE: Final = f"substr(%s, {_NULLABLE_INTEGER}, {_INTEGER.format(_NUMBER)})"


def packed(
    head: str, tail: str, packs: Sequence[Pack], rows: Sequence[Sequence[Any]]
) -> Expression:
    """Return a statement that writes rows in their order, and the values of its placeholders.

    Args:
        head: `INSERT INTO` with a table and columns.
        tail: The clause for conflicts, or an empty string.
        packs: A pack function for each column, in order. Values that are all equal are not packed
            and not checked.
        rows: At least one row; each has a value for each column.

    Raises:
        ValueError: The rows have different numbers of values.
        Exception: Any exception of a pack function.
    """
    expressions, params = [], [len(rows) - 1]
    for pack, values in zip(packs, zip(*rows, strict=True), strict=True):
        expression, marked = _same(values) or pack(values)
        expressions.append(expression)
        params += marked
    # Without a condition SQLite would parse the following ON CONFLICT as a join constraint.
    chosen = f"SELECT {', '.join(expressions)} FROM row WHERE true"  # noqa: S608  # marks, no values
    return f"{head} {_ROWS} {chosen} {tail}", params


def integers(values: Values) -> Expression:
    """Pack 64-bit integers; True is 1.

    Raises:
        OverflowError: A value needs more than 64 bits.
        TypeError: A value is not an integer.
    """
    has_none = None in values
    numbers = (
        [0 if value is None else index(value) for value in values]
        if has_none
        else [*map(index, values)]
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
        TypeError: A value is not bytes.
    """
    if None not in values and len({*map(len, values)}) == 1:
        width = len(values[0])
        return _EVEN, [b"".join(values), width, width]
    sizes = [0 if value is None else len(value) for value in values]
    begins = list(accumulate(sizes[:-1], initial=1))
    # SQLite's `substr` of an empty blob would be null.
    joined = b"".join([value for value in values if value is not None]) or _BLANK
    return _PIECE, [joined, _decimals(begins, values), _decimals(sizes)]


def texts(values: Values) -> Expression:
    """Pack text, as UTF-8.

    Raises:
        UnicodeEncodeError: A value has unpaired surrogates.
    """
    expression, params = blobs([None if value is None else value.encode() for value in values])
    return f"CAST({expression} AS TEXT)", params


def _same(values: Values) -> Expression | None:
    """Return an expression for the value that all rows share, or None if they have several."""
    return ("%s", [values[0]]) if values.count(values[0]) == len(values) else None


def _decimals(numbers: Sequence[int], values: Values = ()) -> bytes:
    """Return numbers in decimal, all of one width, with blanks where `values` has None."""
    if None not in values:
        return (_DECIMAL * len(numbers)) % tuple(numbers)
    pairs = zip(numbers, values, strict=True)
    return b"".join([_BLANK if value is None else _DECIMAL % number for number, value in pairs])

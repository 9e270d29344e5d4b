"""The backend itself, in the module that Django imports."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from django.db.backends.sqlite3 import base
from typing_extensions import override

_KEPT: Final = 512
"""Statements whose conversions are kept: each block runs about twenty, and each kind of read a few more."""

_LONGEST: Final = 2_000
"""Maximum length of such a statement, so that all take two MiB at most. Longer ones have lists of keys and are rarely repeated."""


class ConvertingCursor(base.SQLiteCursorWrapper):
    """A cursor that converts the placeholders of repeated statements once.

    The conversion takes as long as a lookup by key: a twentieth of the time of a block with one transaction.
    """

    @override
    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        if param_names is None and len(query) <= _LONGEST:
            return _converted(query)
        return super().convert_query(query, param_names=param_names)


@lru_cache(_KEPT)
def _converted(query: str) -> str:
    """Return the statement in SQLite's style. It depends on the text alone, so all connections of a process share it."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, with these cursors. Django looks for it by this name, as for that of PostgreSQL."""

    @override
    def create_cursor(self, name: str | None = None) -> ConvertingCursor:
        cursor: ConvertingCursor = self.connection.cursor(factory=ConvertingCursor)
        return cursor

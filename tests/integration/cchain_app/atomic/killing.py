"""The end of the process between any two statements of its database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nodeproject.apps import this_node


class KilledError(Exception):
    """The process ended."""


@contextmanager
def killed_at(statement: int) -> Iterator[list[int]]:
    """Raise at a statement of the body, counted from 0; yield the number of statements so far."""
    count = [0]

    def execute(run: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        if count[0] == statement:
            count[0] += 1
            raise KilledError(sql)
        count[0] += 1
        return run(sql, params, many, context)

    with this_node().database.connection.execute_wrapper(execute):
        yield count

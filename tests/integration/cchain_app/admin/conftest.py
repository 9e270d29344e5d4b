"""A chain of made-up rows, and a browser that notes what each page asks of the database."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from cchain_app.admin import dashboard
from cchain_app.selectors import blocks
from tests.builders import rows

BLOCKS = 130
"""More than two pages of blocks, 26 pages of transactions."""

WAITING = 60

_BIG = re.compile(r'"cchain_app_\w+"')


@dataclass
class Page:
    """An answer of the admin, and the statements that it took."""

    response: HttpResponse
    statements: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def text(self) -> str:
        return self.response.content.decode()

    @property
    def rows(self) -> list[Any]:
        return list(self.response.context["cl"].result_list)

    @property
    def chain_statements(self) -> list[tuple[str, Any]]:
        """The statements on the chain's tables, without session and user."""
        return [statement for statement in self.statements if _BIG.search(statement[0])]

    def slow_plans(self) -> list[str]:
        """Return plans that would read or sort more than a page: none of them may be there."""
        return [
            f"{step}: {sql}"
            for sql, params in self.chain_statements
            for step in _plan(sql, params)
            if _grows(step, sql)
        ]


def _plan(sql: str, params: Any) -> list[str]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A few hundred rows are scanned whatever indexes there are: ask what it could do.
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            cursor.execute("SET LOCAL enable_sort = off; SET LOCAL jit = off")
            cursor.execute(f"EXPLAIN {sql}", params)
            return [row[0].strip() for row in cursor.fetchall()]
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return [row[3] for row in cursor.fetchall()]


def _grows(step: str, sql: str) -> bool:
    if connection.vendor == "postgresql":
        return "Seq Scan" in step or "Sort" in step
    if "TEMP B-TREE" in step:
        return True
    if not step.startswith("SCAN") or "CONSTANT ROW" in step:
        return False
    # Walking a table in the order of its key ends with the page, if every row is on it.
    walks_a_page = "LIMIT" in sql and "WHERE" not in sql
    return not walks_a_page and "USING INDEX cchain_contract" not in step


Browse = Callable[..., Page]


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    for clear in (blocks.memory.cache_clear, dashboard._pool_counts.cache_clear):
        clear()
    yield
    for clear in (blocks.memory.cache_clear, dashboard._pool_counts.cache_clear):
        clear()


@pytest.fixture(scope="module")
def written_chain(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Write the chain once for all tests of a module: each rolls back what it changes."""
    with django_db_blocker.unblock():
        rows.write_chain(BLOCKS, idle_accounts=100, waiting=WAITING)
    yield
    with django_db_blocker.unblock():
        rows.erase_chain()


@pytest.fixture
def chain(written_chain: None, db: None) -> None:
    """The chain, in a test that may change it."""


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    def open_page(path: str, **parameters: Any) -> Page:
        statements: list[tuple[str, Any]] = []

        def note(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
            statements.append((sql, params))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            response = admin_client.get(path, parameters)
        return Page(response, statements)

    return open_page

"""Admin pages in tests: their content, and their database queries."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.test import Client

from cchain_app.apps import evm_chain


@dataclass
class Page:
    """A response of the admin, and the SQL statements that produced it."""

    response: HttpResponse
    app: str
    """The app whose tables the test checks."""
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
        """The statements on the chain's tables, without those on sessions and users."""
        big = re.compile(rf"\b{self.app}_\w+")
        return [statement for statement in self.statements if big.search(statement[0])]

    def note(self, execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        """Record SELECT statements, as an execute wrapper; of an executemany only the first."""
        if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE")):
            self.statements.append((sql, params[0] if many else params))
        return execute(sql, params, many, context)

    def plans(self) -> list[list[str]]:
        """Return the query plan steps of each statement on the chain's tables."""
        return [_plan(sql, params) for sql, params in self.chain_statements]

    def slow_plans(self) -> list[str]:
        """Return the plan steps that read or sort more than a page; tests expect an empty list."""
        return [
            f"{step}: {sql}"
            for sql, params in self.chain_statements
            for step in _plan(sql, params)
            if _grows(step, sql)
        ]


SUBSELECT = re.compile(r"\(SELECT [^()]*\)")
"""A scalar subquery evaluated for each row."""


def _plan(sql: str, params: Any) -> list[str]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # PostgreSQL scans a few hundred rows whatever indexes exist: forbid scans and sorts.
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            cursor.execute("SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off")
            cursor.execute("SET LOCAL jit = off")
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
    if step == "SCAN part":  # a part of a union; each part has its own LIMIT
        return False
    # A table scan in key order stops at the end of the page if every row belongs to it.
    walks_a_page = "LIMIT" in sql and "WHERE" not in SUBSELECT.sub("", sql)
    walks_its_own_index = step.endswith(
        (
            "USING INDEX cchain_contract",
            "USING INDEX cchain_creation_in_order",
            "USING INDEX explorer_stale_account",
            "USING INDEX platform_current_order",
        )
    )
    return not walks_a_page and not walks_its_own_index


Browse = Callable[..., Page]


def browser(client: Client, app: str) -> Browse:
    """Return a function that opens a page, given its path and query parameters."""

    def open_page(path: str, **parameters: Any) -> Page:
        statements: list[tuple[str, Any]] = []

        def note(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
            statements.append((sql, params))
            return execute(sql, params, many, context)

        _ = evm_chain().fork  # each process reads it once, with its first page of the admin
        with connection.execute_wrapper(note):
            response = client.get(path, parameters)
        return Page(response, app, statements)

    return open_page

"""Statements are counted by their first word, and failures by their class."""

from typing import Any

import pytest
from django.db import IntegrityError

from health_app.metrics import statements
from health_app.metrics.sources import SOURCES


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT 1", "select"),
        ("\n  SELECT number FROM block", "select"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "select"),
        ("select 1", "select"),
        ("INSERT INTO a VALUES (%s)", "insert"),
        ("UPDATE a SET b = 1", "update"),
        ("DELETE FROM a", "delete"),
        ("SAVEPOINT s1", "savepoint"),
        ("RELEASE SAVEPOINT s1", "savepoint"),
        ("BEGIN", "begin"),
        ("BEGIN IMMEDIATE", "begin"),
        ("PRAGMA foreign_keys", "pragma"),
        ("VACUUM", "other"),
        ("", "other"),
        (object(), "other"),
    ],
)
def test_a_statement_is_known_by_its_first_word(sql: object, word: str) -> None:
    assert statements._statement(sql) == word


def test_a_statement_is_executed_and_counted() -> None:
    before = SOURCES.statements.read()

    def execute(*what: Any) -> Any:
        return what

    def fail(*_: Any) -> Any:
        raise IntegrityError

    asked = ("DELETE FROM a", [1], False, {})
    assert statements.observe(execute, *asked) == asked
    with pytest.raises(IntegrityError):
        statements.observe(fail, *asked)
    after = SOURCES.statements.read()
    number = after.durations["delete"].number
    assert number - (before.durations["delete"].number if "delete" in before.durations else 0) == 2
    failed = ("delete", "IntegrityError")
    assert after.errors[failed] - before.errors.get(failed, 0) == 1

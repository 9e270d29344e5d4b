"""Statements are counted by first word, tasks by Celery's signals, failures by kind."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError

from health_app.metrics.listeners import StatementListener, TaskListener, statement_of
from health_app.metrics.process import ProcessMetrics
from health_app.metrics.sharing import SingleProcess
from health_app.writing import Writes

TICK = SimpleNamespace(name="cchain_app.tick")


@pytest.fixture
def process() -> ProcessMetrics:
    return ProcessMetrics()


@pytest.fixture
def tasks(process: ProcessMetrics) -> TaskListener:
    return TaskListener(process, SingleProcess(process), Writes())


def value(process: ProcessMetrics, name: str, **labels: str) -> float | None:
    return process.instruments.registry.get_sample_value(f"svc_{name}", labels)


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
def test_statements_are_classified_by_first_word(sql: object, word: str) -> None:
    assert statement_of(sql) == word


def test_a_statement_is_executed_and_counted(process: ProcessMetrics) -> None:
    timed = StatementListener(process).wrapper

    def execute(*what: Any) -> Any:
        return what

    def fail(*_: Any) -> Any:
        raise IntegrityError

    asked = ("DELETE FROM a", [1], False, {})
    assert timed(execute, *asked) == asked
    with pytest.raises(IntegrityError):
        timed(fail, *asked)
    counted = process.statements.read()
    assert counted.durations["delete"].number == 2
    assert counted.errors == {("delete", "IntegrityError"): 1}


def test_a_task_runs_from_its_beginning_to_its_end(
    process: ProcessMetrics, tasks: TaskListener
) -> None:
    tasks.begin(task_id="1", task=TICK)
    assert value(process, "celery_tasks_running") == 1
    tasks.end(task_id="1", task=TICK, state="SUCCESS")
    assert value(process, "celery_tasks_running") == 0
    assert value(process, "celery_task_duration_seconds_count", task=TICK.name) == 1
    assert value(process, "celery_tasks_total", task=TICK.name, outcome="success") == 1
    ended = value(process, "celery_task_last_ended_timestamp_seconds", task=TICK.name)
    assert ended is not None
    assert ended > 1.7e9


@pytest.mark.parametrize(
    ("state", "outcome"), [("FAILURE", "failure"), ("RETRY", "retry"), (None, "success")]
)
def test_failed_task_has_its_own_outcome(
    process: ProcessMetrics, tasks: TaskListener, state: str | None, outcome: str
) -> None:
    tasks.begin(task_id="1", task=TICK)
    tasks.end(task_id="1", task=TICK, state=state)
    assert value(process, "celery_tasks_total", task=TICK.name, outcome=outcome) == 1
    assert value(process, "celery_task_duration_seconds_count", task=TICK.name) == 1


def test_an_end_without_a_beginning_is_nothing(
    process: ProcessMetrics, tasks: TaskListener
) -> None:
    tasks.end(task_id="1", task=TICK, state="SUCCESS")
    assert list(process.instruments.registry.collect()) == []


def test_failed_task_write_is_reported_to_health(process: ProcessMetrics) -> None:
    writes = Writes()
    full = Exception("disk")
    full.sqlite_errorname = "SQLITE_FULL"  # type: ignore[attr-defined]
    TaskListener(process, SingleProcess(process), writes).fail(exception=full)
    assert writes.refusal() == "its disk is full"

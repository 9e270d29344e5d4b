"""Celery's signals become counts."""

from types import SimpleNamespace

import pytest

from health_app.metrics import celery_tasks
from health_app.metrics.sources import Sources

TICK = SimpleNamespace(name="cchain_app.tick")


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Sources:
    made = Sources()
    monkeypatch.setattr(celery_tasks, "SOURCES", made)
    return made


def test_a_task_runs_from_its_beginning_to_its_end(sources: Sources) -> None:
    celery_tasks._begin(task_id="1", task=TICK)
    assert len(sources.tasks.running) == 1
    celery_tasks._end(task_id="1", task=TICK, state="SUCCESS")
    assert len(sources.tasks.running) == 0
    counted = sources.tasks.durations.read()
    assert (counted.durations[TICK.name].number, counted.errors) == (1, {})
    assert sources.tasks.last_ended[TICK.name] > 0


@pytest.mark.parametrize(("state", "outcome"), [("FAILURE", "failure"), ("RETRY", "retry")])
def test_a_task_that_did_not_succeed_is_told_apart(
    sources: Sources, state: str, outcome: str
) -> None:
    celery_tasks._begin(task_id="1", task=TICK)
    celery_tasks._end(task_id="1", task=TICK, state=state)
    assert sources.tasks.durations.read().errors == {(TICK.name, outcome): 1}


def test_an_end_without_a_beginning_is_nothing(sources: Sources) -> None:
    celery_tasks._end(task_id="1", task=TICK, state="SUCCESS")
    assert sources.tasks.durations.read() == ({}, {})

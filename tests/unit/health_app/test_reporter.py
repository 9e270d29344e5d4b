"""Checks run in the background; a hanging or failing check gives an ordinary result."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from django.db import OperationalError

from health_app import reporter
from health_app.checks import ALL, APPLICATION, HealthCheck
from health_app.reporter import Reporter, _Runner, examine
from health_app.result import CheckResult, Finding

GOOD = Finding("fine")
BAD = Finding("not fine", "it is broken")
TAG = frozenset({"chain"})


class Scene:
    """A reporter of two checks, whose findings a test sets, with the reported changes."""

    def __init__(self, **options: float) -> None:
        self.findings = {"bootstrapped": GOOD, "C": GOOD}
        self.changes: list[tuple[str, str]] = []
        self.changed = threading.Condition()
        self.reporter = Reporter(
            (
                HealthCheck("bootstrapped", self.find("bootstrapped"), frozenset({APPLICATION})),
                HealthCheck("C", self.find("C"), TAG),
            ),
            {"bootstrapped"},
            changed=self.note,
            **{"interval": 0.01, **options},
        )

    def find(self, name: str) -> Callable[[], Finding]:
        return lambda: self.findings[name]

    def note(self, name: str, result: CheckResult) -> None:
        with self.changed:
            self.changes.append((name, result.error))
            self.changed.notify_all()

    def wait_for(self, change: tuple[str, str]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: change in self.changes, timeout=60)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.reporter.stop()


def test_before_the_first_run_nothing_is_well(scene: Scene) -> None:
    for report in (scene.reporter.health(), scene.reporter.readiness()):
        assert not report.healthy
        assert {result.error for result in report.checks.values()} == {"not yet run"}


def test_liveness_has_no_checks(scene: Scene) -> None:
    assert scene.reporter.liveness().to_json() == {"checks": {}, "healthy": True}


def test_a_run_of_all_checks(scene: Scene) -> None:
    scene.reporter.run_once()

    report = scene.reporter.health()
    assert report.healthy
    assert {name: result.message for name, result in report.checks.items()} == {
        "bootstrapped": "fine",
        "C": "fine",
    }


def test_one_failing_check_makes_the_node_unhealthy(scene: Scene) -> None:
    scene.findings["C"] = BAD
    scene.reporter.run_once()

    report = scene.reporter.health()
    assert not report.healthy
    assert report.checks["bootstrapped"].healthy
    assert report.checks["C"].error == "it is broken"
    assert report.checks["C"].message == "not fine"


def test_readiness_remains_after_first_success(scene: Scene) -> None:
    scene.findings["bootstrapped"] = BAD
    scene.reporter.run_once()
    assert not scene.reporter.readiness().healthy

    scene.findings["bootstrapped"] = GOOD
    scene.reporter.run_once()
    assert scene.reporter.readiness().healthy

    scene.findings["bootstrapped"] = BAD
    scene.reporter.run_once()
    assert scene.reporter.readiness().healthy
    assert not scene.reporter.health().healthy


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ((), {"bootstrapped", "C"}),
        ((ALL,), {"bootstrapped", "C"}),
        (("chain",), {"bootstrapped", "C"}),
        (("unknown",), {"bootstrapped"}),
        ((APPLICATION,), {"bootstrapped"}),
        (("unknown", "chain"), {"bootstrapped", "C"}),
    ],
)
def test_tags_choose_checks(scene: Scene, tags: tuple[str, ...], names: set[str]) -> None:
    assert set(scene.reporter.health(tags).checks) == names
    assert set(scene.reporter.readiness(tags).checks) == {"bootstrapped"}
    assert set(scene.reporter.liveness(tags).checks) == set()


def test_changes_are_reported_once(scene: Scene) -> None:
    for error in ("", "", "alone for 3s", "alone for 5s", "silent", ""):
        scene.findings["C"] = Finding(None, error)
        scene.reporter.run_once()

    told = [error for name, error in scene.changes if name == "C"]
    assert told == ["", "alone for 3s", "silent", ""]


def test_failures_and_recoveries_are_logged(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for finding in (GOOD, BAD, BAD, GOOD):
        scene.findings["C"] = finding
        scene.reporter.run_once()

    assert [record.getMessage() for record in caplog.records] == [
        "check C fails: it is broken",
        "check C passes again",
    ]


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (("not there yet", "still not", ""), [""]),
        (("not there yet", "", "gone", ""), ["", "gone", ""]),
        (("", "gone", ""), ["", "gone", ""]),
    ],
)
def test_failure_during_warm_up_is_not_reported(errors: Sequence[str], told: Sequence[str]) -> None:
    scene = Scene(warm_up=60.0)
    for error in errors:
        scene.findings["C"] = Finding(None, error)
        scene.reporter.run_once()
        assert scene.reporter.health().checks["C"].error == error

    assert [error for name, error in scene.changes if name == "C"] == told


def test_check_that_has_not_passed_is_repeated_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "STARTING_INTERVAL", 0.01)
    findings, passed = iter([BAD, BAD, GOOD]), threading.Event()
    made = Reporter(
        [HealthCheck("C", lambda: next(findings), TAG)],
        changed=lambda *_: passed.set(),
        interval=3600.0,
        seconds=3600.0,
        warm_up=3600.0,
    )

    made.start()
    assert passed.wait(60)
    made.stop()
    assert made.health().checks["C"].healthy


@pytest.mark.parametrize(
    ("error", "warm_up", "interval", "seconds"),
    [
        ("not yet", 3600.0, 20.0, 1.0),
        ("not yet", 3600.0, 0.5, 0.5),
        ("", 3600.0, 20.0, 20.0),
        ("broken", 0.0, 20.0, 20.0),
    ],
)
def test_how_soon_checks_are_run_again(
    error: str, warm_up: float, interval: float, seconds: float
) -> None:
    scene = Scene(interval=interval, warm_up=warm_up)
    scene.findings["C"] = Finding(None, error)
    scene.reporter.run_once()
    assert scene.reporter._pause() == seconds


def test_failure_after_warm_up_is_reported() -> None:
    scene = Scene(warm_up=60.0)
    scene.findings["C"] = BAD
    scene.reporter.run_once()
    assert scene.changes == [("bootstrapped", "")]

    scene.reporter._warm_at = time.monotonic()
    for _ in range(2):
        scene.reporter.run_once()
    assert scene.changes == [("bootstrapped", ""), ("C", "it is broken")]


def test_check_that_cannot_run_is_reported_immediately(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(warm_up=60.0)
    scene.findings["C"] = Finding(error="the database does not answer", cause=OperationalError())
    scene.reporter.run_once()

    assert ("C", "the database does not answer") in scene.changes
    assert "check C fails: the database does not answer" in caplog.text


def test_database_outage_is_reported_without_details() -> None:
    def measure() -> Finding:
        raise OperationalError("connection to 10.1.2.3 refused")

    found = examine(HealthCheck("P", measure, TAG))

    assert found.message is None
    assert found.error == "the database does not answer: OperationalError"


def test_exception_in_a_check_is_reported_without_details() -> None:
    def measure() -> Finding:
        raise ZeroDivisionError("an inside")

    found = examine(HealthCheck("P", measure, TAG))

    assert found.error == "the check raised an exception: ZeroDivisionError"
    assert isinstance(found.cause, ZeroDivisionError)


def test_the_checks_run_by_themselves(scene: Scene) -> None:
    scene.reporter.start()
    scene.reporter.start()
    scene.wait_for(("C", ""))
    scene.findings["C"] = BAD
    scene.wait_for(("C", "it is broken"))

    assert scene.reporter.readiness().healthy


def test_failing_listener_does_not_stop_the_checks(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    def break_when_it_passes(name: str, result: CheckResult) -> None:
        scene.note(name, result)
        if result.healthy:
            raise ZeroDivisionError

    scene.reporter._changed = break_when_it_passes
    scene.reporter.start()
    scene.wait_for(("C", ""))
    scene.findings["C"] = BAD
    scene.wait_for(("C", "it is broken"))
    assert "a run of check C raised an exception" in caplog.text


def test_a_check_that_hangs_fails_alone_and_recovers() -> None:
    scene, hangs = Scene(seconds=0.05), threading.Event()

    def hang() -> Finding:
        hangs.wait(60)
        return GOOD

    scene.reporter._checks = (*scene.reporter._checks[:1], HealthCheck("C", hang, TAG))
    others = set(threading.enumerate())
    scene.reporter.start()
    try:
        scene.wait_for(("C", "check timed out: no result within 0.05s"))
        scene.wait_for(("bootstrapped", ""))
        assert scene.reporter.readiness().healthy
        runs = [
            thread for thread in set(threading.enumerate()) - others if thread.name == "health-C"
        ]
        assert len(runs) == 1
        hangs.set()
        scene.wait_for(("C", ""))
    finally:
        hangs.set()
        scene.reporter.stop()


def test_a_check_that_replaces_another_one_takes_over_its_thread(scene: Scene) -> None:
    others = set(threading.enumerate())
    scene.reporter.start()
    scene.wait_for(("C", ""))
    for reason in ("no genesis", "no database", "no room"):
        scene.reporter.add(HealthCheck("C", partial(Finding, error=reason), TAG))
        scene.wait_for(("C", reason))
    runs = [thread for thread in set(threading.enumerate()) - others if thread.name == "health-C"]
    assert len(runs) == 1


def test_a_removed_check_is_not_reported_and_its_thread_ends(scene: Scene) -> None:
    others = set(threading.enumerate())
    scene.reporter.start()
    scene.wait_for(("C", ""))
    (thread,) = (
        thread for thread in set(threading.enumerate()) - others if thread.name == "health-C"
    )
    scene.reporter.remove("C")
    thread.join(60)
    assert not thread.is_alive()
    assert set(scene.reporter.health().checks) == {"bootstrapped"}


def test_a_check_is_run_again_at_once_and_alone(scene: Scene) -> None:
    scene.reporter.run_once()
    before = scene.reporter.health().checks
    scene.findings = {"bootstrapped": BAD, "C": BAD}

    found = scene.reporter.run_again("C")

    assert found.error == "it is broken"
    after = scene.reporter.health().checks
    assert after["C"] == found
    assert after["bootstrapped"] == before["bootstrapped"]
    with pytest.raises(KeyError):
        scene.reporter.run_again("nothing")


def test_whether_the_database_takes_writes_is_tried_before_a_check_is_run_again() -> None:
    order: list[str] = []

    def measure() -> Finding:
        order.append("measured")
        return GOOD

    reporter = Reporter(
        (HealthCheck("C", measure, TAG),),
        changed=lambda *_: None,
        begin=lambda: order.append("tried"),
        interval=600.0,
    )
    reporter.run_again("C")
    assert order == ["tried", "measured"]


def test_a_check_that_is_run_again_at_the_start_runs_in_its_own_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starting, asked = threading.Event(), threading.Event()
    ran_in: list[str] = []
    start = _Runner.start

    def start_late(runner: _Runner) -> None:
        starting.set()
        assert asked.wait(60)
        start(runner)

    def measure() -> Finding:
        ran_in.append(threading.current_thread().name)
        asked.set()  # reached early only if the check runs in the wrong thread
        return GOOD

    monkeypatch.setattr(_Runner, "start", start_late)
    reporter = Reporter(
        (HealthCheck("C", measure, TAG),), changed=lambda *_: None, begin=asked.set, interval=600.0
    )
    reporter.start()
    assert starting.wait(60)
    reporter.run_again("C")
    reporter.stop()
    assert set(ran_in) == {"health-C"}


def test_a_living_reporter_runs_it_in_its_thread_between_two_runs() -> None:
    scene = Scene(interval=600.0)
    scene.reporter.start()
    scene.wait_for(("C", ""))
    scene.wait_for(("bootstrapped", ""))
    scene.findings["C"] = BAD
    assert scene.reporter.run_again("C").error == "it is broken"
    assert ("C", "it is broken") in scene.changes
    scene.reporter.stop()


def test_a_check_that_hangs_is_not_waited_for_when_it_is_run_again() -> None:
    hangs, going = threading.Event(), threading.Event()

    def measure() -> Finding:
        if hangs.is_set():
            assert going.wait(60)
        return GOOD

    passed = threading.Event()
    reporter = Reporter(
        (HealthCheck("C", measure, TAG),),
        changed=lambda *_: passed.set(),
        interval=600.0,
        seconds=0.2,
    )
    reporter.start()
    assert passed.wait(60)
    hangs.set()
    assert reporter.run_again("C").error == "check timed out: no result within 0.2s"
    going.set()
    reporter.stop()

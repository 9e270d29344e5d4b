"""Runs the checks in the background and caches their results, so that requests never wait for a check.

Each check has its own thread and a timeout: a hanging database makes checks fail with an error that names it, and
has no other effect. Each process has its own reporter.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from django.db import Error as DatabaseError
from django.db import connections
from typing_extensions import override

from chaindb import servers
from chaindb.connections import release
from chaindb.unavailable import refusal
from health_app.checks import ALL, APPLICATION, READINESS, HealthCheck
from health_app.result import NOT_YET_RUN, CheckResult, Finding, Report

SECONDS: Final = 5.0
"""Timeout: a check that takes longer has failed."""

WARM_UP: Final = 30.0
"""Seconds after the start in which a check that has not passed yet may fail without the failure being reported as a
change: peers are still being connected, and other parts of the node have not reported yet."""

STARTING_INTERVAL: Final = 1.0
"""Seconds between runs while a check fails within `WARM_UP`, if the interval is longer: the failure may be over
soon."""

SHORTEST_INTERVAL: Final = 0.1
"""Lower limit of the interval in seconds, whatever the settings say: otherwise the node would only run checks."""

Changed = Callable[[str, CheckResult], object]
"""Called for each check that passes, fails, or fails for other reasons than before."""

_log: Final = logging.getLogger(__name__)


class Reporter:
    """The results of the checks, kept up to date between `start` and `stop`.

    Args:
        checks: The checks.
        readiness: Names of the checks that make the node ready; once passed, they stay passed.
        changed: Called for each change, in the thread of the check.
        begin: Called before each run of all checks and before each manual run of one check; must not block.
        outages: Returns an error for each server that is away, without blocking; during an outage the node is not ready.
        interval: Seconds between the starts of runs; at most `STARTING_INTERVAL` while a check fails in the node's
            first seconds.
        seconds: Timeout of a run.
        warm_up: Seconds from now on in which the first failures of a check do not count as a change. They
            appear in all answers nevertheless, and are reported as a change if they last longer. A check that
            raised an exception is reported immediately.
    """

    def __init__(
        self,
        checks: Iterable[HealthCheck],
        readiness: Collection[str] = READINESS,
        *,
        changed: Changed,
        begin: Callable[[], object] = lambda: None,
        outages: Callable[[], Sequence[str]] = tuple,
        interval: float,
        seconds: float = SECONDS,
        warm_up: float = 0.0,
    ) -> None:
        self._checks = tuple(checks)
        self._changed = changed
        self._begin = begin
        self._outages = outages
        self._interval = interval
        self._seconds = seconds
        self._lock = threading.Lock()
        self._warm_at = time.monotonic() + warm_up
        self._results = {check.name: NOT_YET_RUN for check in self._checks}
        self._notes = 0
        self._announced = dict(self._results)
        """The last reported change of each check; `NOT_YET_RUN` if there was none."""
        self._ready = dict.fromkeys(readiness, NOT_YET_RUN)
        self._stopped = threading.Event()
        self._added = threading.Event()
        """Set when a check was added or removed, or when no further run should start."""
        self._thread: threading.Thread | None = None
        self._runners: dict[str, _Runner] = {}
        """The threads of the checks by name, while they run."""

    def add(self, check: HealthCheck) -> None:
        """Run a further check, for the first time soon; a check with its name is replaced."""
        with self._lock:
            self._results.setdefault(check.name, NOT_YET_RUN)
            self._announced.setdefault(check.name, NOT_YET_RUN)
            kept = tuple(other for other in self._checks if other.name != check.name)
            self._checks = (*kept, check)
            self._notes += 1
        self._added.set()

    def remove(self, name: str) -> None:
        """Run a check no longer, and report it no longer."""
        with self._lock:
            self._checks = tuple(check for check in self._checks if check.name != name)
            self._notes += 1
        self._added.set()

    def start(self) -> None:
        """Start running the checks; a second call does nothing."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run_rounds, name="health", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Start no further runs."""
        self._stopped.set()
        self._added.set()

    def run_once(self) -> None:
        """Run all checks in this thread, one after the other."""
        for check in self._checks:
            self._run(check)

    def run_again(self, name: str) -> CheckResult:
        """Run a check of this process now and return its result, which is a failure if the run times out.

        A run that is already in progress is awaited first, because it may have started before the caller's request.

        Raises:
            KeyError: There is no such check.
        """
        check = {named.name: named for named in self._checks}[name]
        self._begin()
        runner = self._runners.get(name)
        if runner is None or self._stopped.is_set():
            self._run(check)
        elif self._wait(runner, time.monotonic() + self._seconds):
            runner.request_run()
            self._wait(runner, time.monotonic() + self._seconds)
        return self._results[name]

    def health(self, tags: Collection[str] = ()) -> Report:
        """Return the checks that have one of the tags, and the checks of the node as a whole."""
        chosen = {*(tags or (ALL,)), APPLICATION}
        return Report(
            {
                check.name: self._results[check.name]
                for check in self._checks
                if chosen & {ALL, *check.tags}
            }
        )

    def readiness(self, tags: Collection[str] = ()) -> Report:
        """Return the checks that must have passed once; all of them are about the whole node.

        Unspecified: while a server that the node needs is away, they fail again with an error that names it.
        """
        del tags
        if outages := self._outages():
            error, now = ", ".join(outages), time.time_ns()
            return Report(
                {
                    name: self._results[name].followed_by(Finding(error=error), now, now)
                    for name in self._ready
                }
            )
        return Report(dict(self._ready))

    def version(self) -> int | None:
        """Return a number that changes whenever a report changes; None while a server is away.

        During an outage reports change with every request, so they cannot be cached.
        """
        return None if self._outages() else self._notes

    def liveness(self, tags: Collection[str] = ()) -> Report:
        """Return no checks: a node that answers is alive."""
        del tags
        return Report({})

    def _run_rounds(self) -> None:
        self._run_new()
        while not self._stopped.is_set():
            self._added.clear()
            began = time.monotonic()
            self._begin()
            self._run_new()
            self._round(self._runners.values(), began + self._seconds)
            if not self._stopped.is_set():  # `stop` may have set the event before it was cleared
                self._added.wait(max(0.0, began + self._pause() - time.monotonic()))
        for runner in self._runners.values():
            runner.request_run()

    def _run_new(self) -> None:
        """Start the threads of checks that have none yet, and end those of removed checks.

        A check that replaces another one takes over its thread.

        A thread is known before it runs: `run_again` then waits for it even before the first run, and at most for one
        timeout.
        """
        runners, checks = [], self._checks
        for check in checks:
            if (known := self._runners.get(check.name)) is None:
                runners.append(_Runner(check, self._run, self._stopped))
            else:
                known.check = check
        names = {check.name for check in checks}
        for name, runner in self._runners.items():
            if name not in names:
                runner.end()
        kept = {name: runner for name, runner in self._runners.items() if name in names}
        self._runners = {**kept, **{runner.check.name: runner for runner in runners}}
        for runner in runners:
            runner.start()

    def _pause(self) -> float:
        """Return the seconds between the starts of two runs."""
        is_starting = time.monotonic() < self._warm_at
        if is_starting and not all(result.healthy for result in self._results.values()):
            return min(STARTING_INTERVAL, self._interval)
        return self._interval

    def _round(self, runners: Iterable["_Runner"], deadline: float) -> None:
        """Run each check that is not still running, and wait until all have ended or the deadline has passed."""
        for runner in runners:
            if runner.idle.is_set():
                runner.request_run()
        for runner in runners:
            self._wait(runner, deadline)

    def _wait(self, runner: "_Runner", deadline: float) -> bool:
        """Wait for a check's run to end and return whether it did; after the deadline the check has failed."""
        in_time = runner.idle.wait(max(0.0, deadline - time.monotonic()))
        if not in_time and not self._stopped.is_set():
            error = f"check timed out: no result within {self._seconds:g}s"
            self._note(runner.check, Finding(error=error), runner.began, time.time_ns())
        return in_time

    def _run(self, check: HealthCheck) -> None:
        began = time.time_ns()
        self._note(check, examine(check), began, time.time_ns())

    def _note(self, check: HealthCheck, finding: Finding, began: int, ended: int) -> None:
        with self._lock:
            result = self._results[check.name].followed_by(finding, began, ended)
            self._results[check.name] = result
            ready = self._ready.get(check.name)
            if ready is not None and not ready.healthy:
                self._ready[check.name] = ready.followed_by(finding, began, ended)
            self._notes += 1  # last: a page rendered meanwhile counts as outdated
            announced = self._announced[check.name]
            if announced.is_same_report_as(result) or self._may_pass_yet(announced, finding):
                return
            self._announced[check.name] = result
        if result.error:
            _log.warning("check %s fails: %s", check.name, result.error, exc_info=finding.cause)
        elif announced.ended is not None:
            _log.warning("check %s passes again", check.name)
        self._changed(check.name, result)

    def _may_pass_yet(self, announced: CheckResult, finding: Finding) -> bool:
        """Return whether a failure may be due to the node's start, so that it is not reported yet."""
        beginning = announced.ended is None and time.monotonic() < self._warm_at
        return beginning and bool(finding.error) and finding.cause is None


class _Runner(threading.Thread):
    """The thread of one check. It keeps its database connection, which takes longer to open than to use."""

    def __init__(
        self, check: HealthCheck, work: Callable[[HealthCheck], None], stopped: threading.Event
    ) -> None:
        super().__init__(name=f"health-{check.name}", daemon=True)
        self.check = check
        """The check of the next run."""
        self.began = time.time_ns()
        self.idle = threading.Event()
        self.idle.set()
        self._work = work
        self._stopped = stopped
        self._is_ended = False
        self._requested = threading.Event()

    def request_run(self) -> None:
        """Request one run of the check; after `stop` this ends the thread instead."""
        self.began = time.time_ns()
        self.idle.clear()
        self._requested.set()

    def end(self) -> None:
        """End the thread, after the run in progress."""
        self._is_ended = True
        self._requested.set()

    @override
    def run(self) -> None:
        while True:
            self._requested.wait()
            self._requested.clear()
            if self._is_ended or self._stopped.is_set():
                break
            try:
                self._work(self.check)
                release()
            except Exception:  # the next run tries again
                _log.exception("a run of check %s raised an exception", self.check.name)
            self.idle.set()
        connections.close_all()


def examine(check: HealthCheck) -> Finding:
    """Return the finding of a check; if the check raises an exception, that is its finding."""
    try:
        return check.measure()
    except Exception as error:
        if outage := servers.away(error):
            return Finding(error=outage)
        return _failure(error)


def _failure(error: Exception) -> Finding:
    """Return the finding for a check that raised an exception."""
    if isinstance(error, DatabaseError):
        why = refusal(error) or type(error).__name__
        return Finding(error=f"the database does not answer: {why}", cause=error)
    return Finding(error=f"the check raised an exception: {type(error).__name__}", cause=error)

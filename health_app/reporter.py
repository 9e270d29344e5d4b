"""Runs the checks in the background and remembers what they found: what is asked waits for nobody.

Each check has a thread of its own and a time within which it must end: a database that hangs makes
checks fail, in words, and nothing else. Each process has its own reporter.
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
from health_app.checks import ALL, APPLICATION, READINESS, Check
from health_app.result import NOT_YET_RUN, CheckResult, Finding, Report

SECONDS: Final = 5.0
"""A check that takes longer has failed."""

WARM_UP: Final = 30.0
"""Seconds after the start in which a check that has not passed yet may do so without having failed
first: peers are being reached, and what the node's other parts report is not there yet."""

STARTING_INTERVAL: Final = 1.0
"""Seconds between runs while a check fails within `WARM_UP`, where the interval is longer: what it waits for may be
there soon."""

SHORTEST_INTERVAL: Final = 0.1
"""Seconds, whatever the settings say: without a pause the node would do nothing but check."""

Changed = Callable[[str, CheckResult], object]
"""Told of each check that passes, fails, or fails for other reasons, than before."""

_log: Final = logging.getLogger(__name__)


class Reporter:
    """The checks' results, kept fresh between `start` and `stop`.

    Args:
        checks: the table.
        readiness: names of those that make the node ready; passed once, they stay passed.
        changed: told of changes, in the thread of the check.
        begin: called before each run of all checks, and of one that is run again; it must return at once.
        outages: says which servers are away, and returns at once: while one is, the node is not ready.
        interval: seconds between the beginnings of runs; `STARTING_INTERVAL` at most while a check fails in
            the node's first seconds.
        seconds: how long a run may take.
        warm_up: for how many seconds from now on a check's first failures are no change yet. They are
            part of every answer all the same; one that lasts longer is told then. A check that could
            not be made at all is told at once.
    """

    def __init__(
        self,
        checks: Iterable[Check],
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
        self._told = dict(self._results)
        """The last change of each check; not yet run: there was none."""
        self._ready = dict.fromkeys(readiness, NOT_YET_RUN)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._runners: dict[str, _Runner] = {}
        """The threads of the checks by their names, while they live."""

    def start(self) -> None:
        """Begin to run the checks; a second call does nothing."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._live, name="health", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin no more runs."""
        self._stopped.set()

    def run_once(self) -> None:
        """Run all checks here and now, one after the other, and wait for them."""
        for check in self._checks:
            self._run(check)

    def run_again(self, name: str) -> CheckResult:
        """Run a check of this process now, and return what it found; it has failed when it takes too long.

        One that is being run is waited for first: it may have looked before the caller did.

        Raises:
            KeyError: There is no such check.
        """
        check = {one.name: one for one in self._checks}[name]
        self._begin()
        runner = self._runners.get(name)
        if runner is None or self._stopped.is_set():
            self._run(check)
        elif self._wait(runner, time.monotonic() + self._seconds):
            runner.ask()
            self._wait(runner, time.monotonic() + self._seconds)
        return self._results[name]

    def health(self, tags: Collection[str] = ()) -> Report:
        """Return the checks that have one of the tags, and those of the node as a whole."""
        wanted = {*(tags or (ALL,)), APPLICATION}
        return Report(
            {
                check.name: self._results[check.name]
                for check in self._checks
                if wanted & {ALL, *check.tags}
            }
        )

    def readiness(self, tags: Collection[str] = ()) -> Report:
        """Return the checks that must have passed once; all of them are about the whole node.

        Unspecified: while a server is away that the node needs, they fail again, in words that name it.
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
        """Return a number that is another one where any report is; None while they change by themselves.

        They do so while a server is away.
        """
        return None if self._outages() else self._notes

    def liveness(self, tags: Collection[str] = ()) -> Report:
        """Return no checks: whoever answers is alive."""
        del tags
        return Report({})

    def _live(self) -> None:
        runners = [_Runner(check, self._run, self._stopped) for check in self._checks]
        # First: who asks for a check before they run waits for its thread, and no longer than a run may take.
        self._runners = {runner.check.name: runner for runner in runners}
        for runner in runners:
            runner.start()
        while not self._stopped.is_set():
            began = time.monotonic()
            self._begin()
            self._round(runners, began + self._seconds)
            self._stopped.wait(max(0.0, began + self._pause() - time.monotonic()))
        for runner in runners:
            runner.ask()

    def _pause(self) -> float:
        """Return the seconds from the beginning of a run to that of the next one."""
        is_starting = time.monotonic() < self._warm_at
        if is_starting and not all(one.healthy for one in self._results.values()):
            return min(STARTING_INTERVAL, self._interval)
        return self._interval

    def _round(self, runners: Iterable["_Runner"], deadline: float) -> None:
        """Have each check run that is not still running, and give all of them time to end."""
        for runner in runners:
            if runner.idle.is_set():
                runner.ask()
        for runner in runners:
            self._wait(runner, deadline)

    def _wait(self, runner: "_Runner", deadline: float) -> bool:
        """Wait for a check's run to end and say whether it did; one that does not end in time has failed."""
        in_time = runner.idle.wait(max(0.0, deadline - time.monotonic()))
        if not in_time and not self._stopped.is_set():
            error = f"check timed out: no result within {self._seconds:g}s"
            self._note(runner.check, Finding(error=error), runner.began, time.time_ns())
        return in_time

    def _run(self, check: Check) -> None:
        began = time.time_ns()
        self._note(check, examine(check), began, time.time_ns())

    def _note(self, check: Check, finding: Finding, began: int, ended: int) -> None:
        with self._lock:
            result = self._results[check.name].followed_by(finding, began, ended)
            self._results[check.name] = result
            ready = self._ready.get(check.name)
            if ready is not None and not ready.healthy:
                self._ready[check.name] = ready.followed_by(finding, began, ended)
            self._notes += 1  # last: what is rendered meanwhile counts as older
            told = self._told[check.name]
            if told.says_the_same_as(result) or self._may_pass_yet(told, finding):
                return
            self._told[check.name] = result
        if result.error:
            _log.warning("check %s fails: %s", check.name, result.error, exc_info=finding.cause)
        elif told.ended is not None:
            _log.warning("check %s passes again", check.name)
        self._changed(check.name, result)

    def _may_pass_yet(self, told: CheckResult, finding: Finding) -> bool:
        """Say whether a failure is one of a node that is starting, and not worth telling yet."""
        beginning = told.ended is None and time.monotonic() < self._warm_at
        return beginning and bool(finding.error) and finding.cause is None


class _Runner(threading.Thread):
    """The thread of one check: it keeps its connection, which takes longer to open than to use."""

    def __init__(
        self, check: Check, work: Callable[[Check], None], stopped: threading.Event
    ) -> None:
        super().__init__(name=f"health-{check.name}", daemon=True)
        self.check = check
        self.began = time.time_ns()
        self.idle = threading.Event()
        self.idle.set()
        self._work = work
        self._stopped = stopped
        self._asked = threading.Event()

    def ask(self) -> None:
        """Have the check run once, or the thread end where no more runs are to begin."""
        self.began = time.time_ns()
        self.idle.clear()
        self._asked.set()

    @override
    def run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._stopped.is_set():
                break
            try:
                self._work(self.check)
                release()
            except Exception:  # the next run has another try
                _log.exception("a run of check %s broke", self.check.name)
            self.idle.set()
        connections.close_all()


def examine(check: Check) -> Finding:
    """Return what a check finds; that it cannot find anything is a finding too."""
    try:
        return check.measure()
    except Exception as error:
        if words := servers.away(error):
            return Finding(error=words)
        return _failure(error)


def _failure(error: Exception) -> Finding:
    """Return what is told of a check that could not be made."""
    if isinstance(error, DatabaseError):
        why = refusal(error) or type(error).__name__
        return Finding(error=f"the database does not answer: {why}", cause=error)
    return Finding(error=f"the check could not be made: {type(error).__name__}", cause=error)

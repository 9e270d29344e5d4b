"""Availability of the servers that a node of the production profile needs: PostgreSQL and Redis.

The first caller that needs a lost server detects the outage. From then on every caller fails
immediately with the same message, until a thread that checks twice a second finds the server again.
The log has a line at the start of an outage and a line at its end, with the number of failures.

A server that hangs counts as lost too. A waiting caller cannot distinguish a hung server from one that
runs a long statement. So after a while it sends a query over a separate connection. As long as that
is answered, a statement may take any time.

A login at a busy server can take longer than the timeout for a hung one. So an unanswered query
counts as an outage only if no other data arrives from the server on any connection. The query stays
pending, so that the server is not burdened with a second one.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

SILENCE: Final = 0.4
"""Seconds without a byte after which a query checks whether the server is alive."""
PATIENCE: Final = 1.3
"""Seconds without a byte after such a query within which a live server answers: a slow login takes more
than one. A call loses at most this plus `SILENCE`, and 2 s are promised."""
POLL_SECONDS: Final = 0.5
"""Seconds between two checks of a server that is away."""

_log: Final = logging.getLogger(__name__)
_servers: Final[WeakSet["WatchedServer"]] = WeakSet()
"""Servers of this process. A forked process has to check for itself."""


class ServerAway(Exception):
    """A server does not answer. The message names the server and contains no secrets."""


class _ServerProbe:
    """A query that checks a server, run in its own thread.

    Args:
        server: Name of the server, for the thread's name.
        ask: Returns when the server has answered, else raises.
        explain: Describes why the server did not answer.
    """

    def __init__(
        self, server: str, ask: Callable[[], object], explain: Callable[[BaseException], str]
    ) -> None:
        self.began = time.monotonic()
        self.ended = threading.Event()
        self.refusal: str | None = None
        """Why the server did not answer; empty if it did, None while nothing has arrived."""
        self._ask = ask
        self._explain = explain
        threading.Thread(target=self._run, name=f"ask-{server}", daemon=True).start()

    def _run(self) -> None:
        try:
            self._ask()
            self.refusal = ""
        except TimeoutError:  # nothing arrived
            pass
        except Exception as error:  # any other exception is a refusal
            self.refusal = self._explain(error)
        self.ended.set()


class WatchedServer:
    """A server as this process sees it. Thread-safe.

    Args:
        name: Kind of the server, for example "PostgreSQL".
        address: Its address, without user and password.
        ask: Returns when the server has answered a query on a new connection, else raises the reason:
            `TimeoutError` if it has sent nothing.
        explain: Describes why the server did not answer.
        is_needed: Whether the node cannot answer while the server is away.
    """

    def __init__(
        self,
        name: str,
        address: str,
        ask: Callable[[], object],
        explain: Callable[[BaseException], str],
        *,
        is_needed: bool = True,
    ) -> None:
        self.name = name
        self.address = address
        self.is_needed = is_needed
        self._ask = ask
        self._explain = explain
        self._probing = threading.Lock()
        self._answered_at = -math.inf
        """When it last answered a query, by the monotonic clock."""
        self._received_at = -math.inf
        """When other data last arrived from it, by the same clock."""
        self._probe: _ServerProbe | None = None
        """The query that has no answer yet."""
        self._outage = ""
        """Message about the current outage, or empty."""
        self._began_at = 0.0
        self._failures = 0
        _servers.add(self)

    @property
    def away(self) -> str:
        """Message that the server does not answer, and why; empty if it answers."""
        return self._outage

    def failed(self) -> str:
        """Count a failure if the server is away; return the message about the outage, or ""."""
        if self._outage:
            self._failures += 1
        return self._outage

    def heard(self) -> None:
        """Note that data has arrived from the server. Called for each answer, so it is cheap."""
        self._received_at = time.monotonic()

    def suspect(self, error: BaseException | None = None) -> str:
        """Check whether the server caused a failure; return the message about its outage, if so.

        Waits for `PATIENCE` at most, and not at all during a known outage.

        Args:
            error: The failure. None: nothing arrived for `SILENCE`; data that arrived since proves
                that the server is alive. After an error only an answered query proves it, because a
                server that shuts down still sends messages on many connections.
        """
        started = time.monotonic()
        with self._probing:
            if self._outage:
                return self.failed()
            since = started if error is not None else started - SILENCE
            if self._answered_at > since or (error is None and self._received_at > since):
                return ""  # another thread has found out meanwhile
            refusal = self._answer()
            if not refusal:
                return ""
            self._begin(refusal)
            return self.failed()

    def _answer(self) -> str:
        """Wait for the answer to a query. Return why it failed, or "" if the server is alive."""
        if self._probe is None or self._probe.ended.is_set():
            self._probe = _ServerProbe(self.name, self._ask, self._explain)
        probe = self._probe
        silent_since = max(probe.began, self._received_at)
        probe.ended.wait(silent_since + PATIENCE - time.monotonic())
        if probe.refusal is None:
            return "" if self._received_at > silent_since else f"no answer within {PATIENCE:g}s"
        if not probe.refusal:
            self._answered_at = time.monotonic()
        return probe.refusal

    def _begin(self, why: str) -> None:
        self._outage = f"{self.name} at {self.address} does not answer: {why}"
        self._began_at = time.monotonic()
        self._failures = 0
        self._probe = None  # a query on a lost connection is not answered when the server is back
        _log.error("%s", self._outage)
        threading.Thread(target=self._watch, name=f"watch-{self.name}", daemon=True).start()

    def _watch(self) -> None:
        """Check the server periodically until it is back."""
        while True:
            time.sleep(POLL_SECONDS)
            try:
                self._ask()
            except Exception:  # noqa: S112  # still away, which is already logged
                continue
            break
        lasted, failures = time.monotonic() - self._began_at, self._failures
        _log.warning(
            "%s at %s answers again after %.1f s; %d operations failed meanwhile",
            self.name, self.address, lasted, failures,
        )  # fmt: skip
        # Last, so that the log line precedes any notice that the outage is over.
        self._answered_at, self._outage = time.monotonic(), ""

    def _forget(self) -> None:
        """Reset the state in a forked process, which has no threads of its parent."""
        self._probing = threading.Lock()
        self._probe = None
        self._outage = ""


def away(error: BaseException | None) -> str:
    """Return the message about the outage behind an exception; empty if it has another cause."""
    for _ in range(8):
        if error is None or isinstance(error, ServerAway):
            break
        error = error.__cause__ or error.__context__
    return str(error) if isinstance(error, ServerAway) else ""


def outages() -> list[str]:
    """Return the messages about servers that this process needs and that are away."""
    needed = [server for server in list(_servers) if server.is_needed]
    return sorted(outage for server in needed if (outage := server.away))


def _forget() -> None:
    for server in list(_servers):
        server._forget()  # noqa: SLF001  # same module


os.register_at_fork(after_in_child=_forget)

"""The servers that a node of the production profile needs, PostgreSQL and Redis: whether they answer.

A server that is away is found out once, by whoever needs it first, and remembered: everybody else fails at
once with the same words, until a thread that looks twice a second finds it back. The log has a line where an
outage begins and one where it ends, with the number of failures between.

One that hangs is a lost one too. Nobody can tell a hung server from one that works on a long statement by
waiting, so whoever has waited for a while has the server asked over a connection of its own: while that is
answered, a statement may take as long as it takes.

A login at a server with much to do can take longer than anybody wants to wait for a hung one. So a question
without an answer makes an outage only while nothing else comes from the server, whoever receives it; and it
stays asked, that nobody burdens the server with a second one.
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
"""Seconds without a byte after which it is asked whether the server lives."""
PATIENCE: Final = 1.3
"""Seconds without a byte after a question in which a server that lives has answered: a slow login takes more
than one. With `SILENCE` it is what a call loses at most, and 2 s are promised."""
LOOK: Final = 0.5
"""Seconds between two looks at a server that is away."""

_log: Final = logging.getLogger(__name__)
_servers: Final[WeakSet["Server"]] = WeakSet()
"""Those of this process: what was forked from it has to look for itself."""


class ServerAway(Exception):
    """A server does not answer; the message names it, and nothing secret."""


class _Question:
    """A question to a server, asked in a thread of its own.

    Args:
        server: who is asked; for the thread's name.
        ask: returns with the answer, else raises.
        explain: puts into words why there is none.
    """

    def __init__(
        self, server: str, ask: Callable[[], object], explain: Callable[[BaseException], str]
    ) -> None:
        self.began = time.monotonic()
        self.ended = threading.Event()
        self.refusal: str | None = None
        """Why the server did not answer; empty when it has, None as long as nothing came."""
        self._ask = ask
        self._explain = explain
        threading.Thread(target=self._run, name=f"ask-{server}", daemon=True).start()

    def _run(self) -> None:
        try:
            self._ask()
            self.refusal = ""
        except TimeoutError:  # nothing came
            pass
        except Exception as error:  # whatever it is, it is no answer
            self.refusal = self._explain(error)
        self.ended.set()


class Server:
    """A server as this process sees it. Safe to use from any thread.

    Args:
        name: what kind it is: "PostgreSQL".
        address: where it is, without user and password.
        ask: returns when the server has answered a question on a new connection, else raises why not:
            `TimeoutError` when it has said nothing.
        explain: puts into words why it did not.
    """

    def __init__(
        self,
        name: str,
        address: str,
        ask: Callable[[], object],
        explain: Callable[[BaseException], str],
    ) -> None:
        self.name = name
        self.address = address
        self._ask = ask
        self._explain = explain
        self._asking = threading.Lock()
        self._answered = -math.inf
        """When it answered a question last, by the monotonic clock."""
        self._heard = -math.inf
        """When something else came from it last, by the same clock."""
        self._question: _Question | None = None
        """The one that has no answer yet."""
        self._away = ""
        """What is told of the outage that lasts; empty when there is none."""
        self._began = 0.0
        self._failures = 0
        _servers.add(self)

    @property
    def away(self) -> str:
        """Say that the server does not answer, and why; empty while it does."""
        return self._away

    def failed(self) -> str:
        """Count something that failed since the server is away; return the words of it, if it is."""
        if self._away:
            self._failures += 1
        return self._away

    def heard(self) -> None:
        """Note that something has come from the server. Cheap: it is called for each answer."""
        self._heard = time.monotonic()

    def suspect(self, error: BaseException | None = None) -> str:
        """Find out whether the server is to blame for a failure; return the words of its outage, if so.

        Waits for `PATIENCE` at most, and not at all in an outage that is known.

        Args:
            error: what went wrong; None: nothing came for `SILENCE`, and whoever was heard since is trusted.
                After an error an answer alone is trusted: a server that ends says good-bye to many.
        """
        asked = time.monotonic()
        with self._asking:
            if self._away:
                return self.failed()
            since = asked if error is not None else asked - SILENCE
            if self._answered > since or (error is None and self._heard > since):
                return ""  # somebody else has found out meanwhile
            refusal = self._answer()
            if not refusal:
                return ""
            self._begin(refusal)
            return self.failed()

    def _answer(self) -> str:
        """Wait for the answer to a question; return why there is none, or nothing while the server lives."""
        if self._question is None or self._question.ended.is_set():
            self._question = _Question(self.name, self._ask, self._explain)
        question = self._question
        silent_since = max(question.began, self._heard)
        question.ended.wait(silent_since + PATIENCE - time.monotonic())
        if question.refusal is None:
            return "" if self._heard > silent_since else f"no answer within {PATIENCE:g}s"
        if not question.refusal:
            self._answered = time.monotonic()
        return question.refusal

    def _begin(self, why: str) -> None:
        self._away = f"{self.name} at {self.address} does not answer: {why}"
        self._began = time.monotonic()
        self._failures = 0
        self._question = None  # a connection that was lost answers nothing when the server is back
        _log.error("%s", self._away)
        threading.Thread(target=self._watch, name=f"watch-{self.name}", daemon=True).start()

    def _watch(self) -> None:
        """Look for the server until it is back."""
        while True:
            time.sleep(LOOK)
            try:
                self._ask()
            except Exception:  # noqa: S112  # it is away, as everybody knows
                continue
            break
        lasted, failures = time.monotonic() - self._began, self._failures
        _log.warning(
            "%s at %s answers again after %.1f s; %d operations failed meanwhile",
            self.name, self.address, lasted, failures,
        )  # fmt: skip
        # Last: whoever sees that the outage is over finds it in the log.
        self._answered, self._away = time.monotonic(), ""

    def _forget(self) -> None:
        """Begin anew in a process that was forked: no thread of its parent's looks here."""
        self._asking = threading.Lock()
        self._question = None
        self._away = ""


def away(error: BaseException | None) -> str:
    """Return the words of the outage behind an exception; empty if it has another cause."""
    for _ in range(8):
        if error is None or isinstance(error, ServerAway):
            break
        error = error.__cause__ or error.__context__
    return str(error) if isinstance(error, ServerAway) else ""


def outages() -> list[str]:
    """Return what is told of servers of this process that are away."""
    return sorted(words for server in list(_servers) if (words := server.away))


def _forget() -> None:
    for server in list(_servers):
        server._forget()  # noqa: SLF001  # its own module


os.register_at_fork(after_in_child=_forget)

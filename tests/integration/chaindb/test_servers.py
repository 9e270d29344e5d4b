"""An outage of a server: detected once, reported with the same message, counted, and ended on recovery."""

import contextlib
import logging
import threading
from collections.abc import Iterator
from weakref import WeakSet

import pytest

from chaindb import redis_cache, servers
from chaindb.outage_log import OutageFilter
from chaindb.postgresql import session
from chaindb.servers import ServerAway, WatchedServer
from nodeproject.settings.databases import database
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated

pytestmark = pytest.mark.sqlite_only

SECONDS = 60.0
PROMISED = 2.0
"""Seconds within which a call fails if the server it needs is down."""
ROOM = 0.15
"""Seconds of these that are reserved for work around the waits."""
SLOW_LOGIN = 1.2
"""Seconds of a login on a busy machine."""
AWAY = "PostgreSQL at db:5432 does not answer: "
WORDS = f"{AWAY}connection refused"


class Refused(Exception):
    """The connection error of a server that is down."""


class Somewhere:
    """A server that a test switches on and off; it counts connection attempts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(servers, "POLL_SECONDS", 0.01)
        monkeypatch.setattr(servers, "_servers", WeakSet())
        self.there = True
        self.hangs = threading.Event()
        self.hangs.set()
        self.asked = 0
        self.back = threading.Event()

    def ask(self) -> None:
        self.asked += 1
        self.hangs.wait()
        if not self.there:
            raise Refused

    def server(self) -> WatchedServer:
        return WatchedServer("PostgreSQL", "db:5432", self.ask, lambda _: "connection refused")


@pytest.fixture
def somewhere(monkeypatch: pytest.MonkeyPatch) -> Somewhere:
    return Somewhere(monkeypatch)


def wait_until_back(server: WatchedServer) -> None:
    pause = threading.Event()
    for _ in range(int(SECONDS / 0.01)):
        if not server.away:
            return
        pause.wait(0.01)
    pytest.fail("the outage does not end")


def test_failure_is_no_outage_if_the_server_responds(somewhere: Somewhere) -> None:
    server = somewhere.server()

    assert server.suspect(Refused()) == ""
    assert (server.away, server.failed()) == ("", "")


def test_recently_checked_server_is_checked_again_only_after_a_failure(
    somewhere: Somewhere,
) -> None:
    server = somewhere.server()
    server.suspect()
    assert somewhere.asked == 1
    somewhere.there = False

    assert server.suspect() == ""
    assert somewhere.asked == 1
    assert server.suspect(Refused()) == WORDS


def test_an_outage_has_a_line_at_each_end_and_the_count_between(
    somewhere: Somewhere, caplog: pytest.LogCaptureFixture
) -> None:
    server = somewhere.server()
    somewhere.there = False

    assert [server.suspect(Refused()) for _ in range(3)] == [WORDS] * 3
    assert server.failed() == WORDS
    assert WORDS in servers.outages()
    somewhere.there = True
    wait_until_back(server)

    first, last = caplog.messages
    assert first == WORDS
    assert last.startswith("PostgreSQL at db:5432 answers again after ")
    assert last.endswith("; 4 operations failed meanwhile")
    assert WORDS not in servers.outages()


def test_concurrent_failures_check_the_server_once(
    somewhere: Somewhere, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "POLL_SECONDS", 3600.0)
    server = somewhere.server()
    somewhere.there = False
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(server.suspect(Refused()))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)

    assert found == [WORDS] * 16
    assert somewhere.asked == 1
    assert caplog.messages == [WORDS]


def test_hanging_server_is_an_outage(somewhere: Somewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "PATIENCE", 0.05)
    server = somewhere.server()
    somewhere.hangs.clear()

    assert server.suspect() == "PostgreSQL at db:5432 does not answer: no answer within 0.05s"
    somewhere.hangs.set()
    wait_until_back(server)


@contextlib.contextmanager
def heard_by_somebody(server: WatchedServer) -> Iterator[None]:
    """Simulate data that arrives from the server continuously."""
    ending = threading.Event()

    def hear() -> None:
        while not ending.wait(0.01):
            server.heard()

    hearing = threading.Thread(target=hear)
    hearing.start()
    yield
    ending.set()
    hearing.join(SECONDS)


def test_server_with_other_responses_is_slow_but_available(
    somewhere: Somewhere, caplog: pytest.LogCaptureFixture
) -> None:
    server = somewhere.server()
    somewhere.hangs.clear()
    with heard_by_somebody(server):
        assert [server.suspect(Refused()) for _ in range(2)] == ["", ""]

    assert somewhere.asked == 1  # no second attempt is made in the meantime
    assert (server.away, caplog.messages) == ("", [])
    assert server.suspect(Refused()) == f"{AWAY}no answer within {servers.PATIENCE:g}s"
    assert server._probe is None  # the attempt lost in the outage is not waited for again
    somewhere.hangs.set()
    wait_until_back(server)


def test_late_check_result_is_not_used_for_the_next_check(
    somewhere: Somewhere,
) -> None:
    server = somewhere.server()
    somewhere.hangs.clear()
    with heard_by_somebody(server):
        assert server.suspect(Refused()) == ""
    somewhere.hangs.set()
    assert server._probe is not None
    assert server._probe.ended.wait(SECONDS)
    somewhere.there = False

    assert server.suspect(Refused()) == WORDS
    assert somewhere.asked >= 2


def test_responding_server_is_checked_only_after_an_error(somewhere: Somewhere) -> None:
    server = somewhere.server()
    somewhere.there = False
    server.heard()

    assert server.suspect() == ""
    assert somewhere.asked == 0
    assert server.suspect(Refused()) == WORDS


def test_call_during_an_outage_fails_within_the_limit() -> None:
    pool = database(updated(NodeSettings(), database_url="postgres://node@db/node"))["OPTIONS"][
        "pool"
    ]
    redis_answers = min(servers.PATIENCE, 2 * redis_cache.SECONDS)  # connect, and one request

    assert servers.SILENCE + session._TICK + servers.PATIENCE <= PROMISED - ROOM
    assert pool["timeout"] + servers.PATIENCE <= PROMISED - ROOM
    assert redis_cache.SECONDS + redis_answers <= PROMISED - ROOM
    assert servers.PATIENCE > SLOW_LOGIN


def test_the_cause_of_an_exception_is_found() -> None:
    error = Refused()
    error.__cause__ = ServerAway(WORDS)

    assert servers.away(error) == WORDS
    assert servers.away(Refused()) == ""
    assert servers.away(None) == ""


def test_only_log_records_of_an_outage_are_dropped() -> None:
    outage, other = ServerAway(WORDS), Refused("something else")

    def passes(*args: object, error: BaseException | None = None) -> bool:
        trace = None if error is None else (type(error), error, None)
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "%s", args, trace)
        return bool(OutageFilter().filter(record))

    assert not passes("crashed", error=outage)
    assert not passes(outage)
    assert passes("crashed", error=other)
    assert passes(other)
    assert passes("text")

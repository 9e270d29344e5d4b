"""Connections to PostgreSQL: slow statements are waited for, and lost connections are reported correctly."""

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from chaindb import servers
from chaindb.postgresql import session
from chaindb.servers import SILENCE
from tests.integration.waking import by_postgresql

SECONDS = 60.0

pytestmark = [by_postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def fresh() -> Iterator[None]:
    """Leave no broken connection to the next test."""
    yield
    connections.close_all()


def test_slow_statement_is_awaited_while_the_server_responds() -> None:
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [3 * SILENCE])
        assert cursor.fetchone() == ("",)

    assert time.monotonic() - began >= 3 * SILENCE
    assert session.server().away == ""


@pytest.fixture
def slow_logins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make each login take three seconds from now on; the pool already has its first connection."""
    connection.ensure_connection()
    options = connection.settings_dict["OPTIONS"]
    with monkeypatch.context() as patched:
        patched.setitem(options, "options", "-c post_auth_delay=3")
        yield
    question = session.server()._probe
    if question is not None:  # wait for that login, so that no other test does
        assert question.ended.wait(SECONDS)
    # The driver's connection attempt is a reference cycle with its socket: without collection the server would keep
    # its session open, and the test database could not be dropped.
    gc.collect()


@pytest.mark.usefixtures("fresh", "slow_logins")
def test_slow_login_is_no_outage_while_other_queries_succeed() -> None:
    ending = threading.Event()

    def ask() -> str:
        try:
            return session.server().suspect(psycopg.OperationalError("lost"))
        finally:
            ending.set()

    with ThreadPoolExecutor() as pool:
        asking = pool.submit(ask)
        while not ending.is_set():
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        found = asking.result()

    assert found == ""
    assert session.server().away == ""


@pytest.mark.usefixtures("fresh")
def test_terminated_connection_is_no_outage() -> None:
    with pytest.raises(OperationalError) as ended, connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    assert servers.away(ended.value) == ""
    assert session.server().away == ""


@pytest.mark.usefixtures("fresh")
def test_query_during_a_known_outage_fails_immediately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection.close()
    words = "PostgreSQL at db:5432 does not answer: connection refused"
    monkeypatch.setattr(session.server(), "_outage", words)

    with pytest.raises(OperationalError, match=words) as refused:
        connection.ensure_connection()

    assert servers.away(refused.value) == words


def test_password_is_in_no_message() -> None:
    server = session.server()

    assert server.address == f"127.0.0.1:{connection.settings_dict['PORT']}"
    assert connection.settings_dict["PASSWORD"]
    assert connection.settings_dict["PASSWORD"] not in f"{server.name} {server.address}"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connect as a role that may have only one connection."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE narrow LOGIN CONNECTION LIMIT 1 PASSWORD 'narrow'")
    with monkeypatch.context() as patched:
        patched.setitem(connection.settings_dict, "USER", "narrow")
        patched.setitem(connection.settings_dict, "PASSWORD", "narrow")
        yield
    with connection.cursor() as cursor:
        cursor.execute("DROP ROLE narrow")


@pytest.mark.usefixtures("narrow")
def test_connection_limit_of_the_server_is_no_outage() -> None:
    parameters = connection.get_connection_params()
    with psycopg.connect(**parameters):
        with pytest.raises(psycopg.OperationalError, match="too many connections") as full:
            psycopg.connect(**parameters)

        assert session.server().suspect(full.value) == ""
    assert session.server().away == ""


@pytest.mark.usefixtures("fresh")
def test_missing_database_is_reported_by_name() -> None:
    parameters = connection.get_connection_params() | {"dbname": "nobodys"}
    with pytest.raises(psycopg.OperationalError) as missing:
        psycopg.connect(**parameters)

    assert session._explain(missing.value) == "it has no such database or user"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            'connection to server at "127.0.0.1", port 1 failed: FATAL:  unsupported startup parameter: options',
            "FATAL: unsupported startup parameter: options",
        ),
        (
            'connection to server at "db", port 5432 failed: root certificate file "/root.crt" does not exist\n'
            "Either provide the file, or change sslmode.",
            'root certificate file "/root.crt" does not exist Either provide the file, or change sslmode.',
        ),
        (
            'connection to server at "db" (10.0.0.1), port 5432 failed: SSL error: certificate verify failed',
            "SSL error: certificate verify failed",
        ),
        (
            'connection failed: connection to server at "127.0.0.1", port 1 failed: FATAL:  the database '
            "system is starting up",
            "it is starting up or shutting down",
        ),
        (
            "failed to resolve host 'db': [Errno -2] Name or service not known",
            "its name is unknown",
        ),
        ("", "no connection"),
    ],
)
def test_unknown_connection_error_is_quoted(message: str, cause: str) -> None:
    assert session._explain(psycopg.OperationalError(message)) == cause


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reopen the connections with a parameter that the operator's URL may contain."""
    connection.close()
    connection.close_pool()
    options = connection.settings_dict["OPTIONS"]
    with monkeypatch.context() as patched:
        patched.setitem(options, "options", "-c lock_timeout=1234")
        yield
        connection.close()
        connection.close_pool()


def parameter(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting FROM pg_settings WHERE name = %s", [name])
        value: str = cursor.fetchone()[0]
        return value


def test_sessions_have_limits_without_startup_options() -> None:
    assert {name: parameter(name) for name in session.SESSION} == session.SESSION


@pytest.mark.usefixtures("chosen")
def test_chosen_connection_options_are_kept() -> None:
    assert parameter("lock_timeout") == "1234"
    assert parameter("statement_timeout") == session.SESSION["statement_timeout"]

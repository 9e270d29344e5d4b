"""Logins: guessing is slowed down, few passwords are hashed concurrently, and refusals state the reason."""

import getpass
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.management.commands import changepassword
from django.contrib.auth.models import User
from django.core.cache import caches
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from chaindb.attempts import AttemptLimit, Slots
from nodeproject.apps import this_node
from nodeproject.startup.process import DJANGO_THREADS
from nodeproject.web import logins
from nodeproject.web.logins import HASHING, OF_ADDRESS, OF_NAME
from tests.builders.modules import module_with

pytestmark = [pytest.mark.sqlite_only, pytest.mark.django_db]

OURS, THEIRS = "192.0.2.1", "198.51.100.7"


@pytest.fixture(autouse=True)
def _nobody_has_failed() -> Iterator[None]:
    caches[logins.CACHE].clear()
    yield
    caches[logins.CACHE].clear()


@pytest.fixture
def long_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every lock last as long as the longest: a short one could expire before a test checks it."""

    def seconds_after(limit: AttemptLimit, failures: int) -> int:
        return 0 if failures < limit.free else limit.longest

    monkeypatch.setattr(AttemptLimit, "seconds_after", seconds_after)


@pytest.fixture
def anna(django_user_model: type[User]) -> User:
    return django_user_model.objects.create_superuser("anna", password="right")


def log_in(password: str, name: str = "anna", address: str = OURS, **headers: str) -> HttpResponse:
    sent = {"username": name, "password": password, "next": "/admin/"}
    return Client(REMOTE_ADDR=address, headers=headers).post("/admin/login/", sent)  # type: ignore[return-value]


def fail(times: int, name: str = "anna", address: str = OURS) -> None:
    for _ in range(times):
        assert log_in("wrong", name, address).status_code == 200


@pytest.mark.usefixtures("anna")
def test_a_few_wrong_passwords_are_free() -> None:
    fail(OF_NAME.free - 1)

    assert log_in("right").status_code == 302


@pytest.mark.usefixtures("anna", "long_locks")
def test_locked_name_is_refused_without_hashing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fail(OF_NAME.free)
    monkeypatch.delattr(MD5PasswordHasher, "encode")

    answer = log_in("right")

    seconds = int(answer.headers["Retry-After"])
    assert answer.status_code == 429
    assert OF_NAME.longest - 60 < seconds <= OF_NAME.longest + 1
    assert f"Too many failed logins: try again in {seconds} s." in answer.content.decode()


@pytest.mark.usefixtures("anna")
def test_login_succeeds_after_the_reported_time() -> None:
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        fail(OF_NAME.free)
        refused = log_in("right")
        assert refused.status_code == 429
        clock.shift(int(refused.headers["Retry-After"]))

        assert log_in("right").status_code == 302


@pytest.mark.usefixtures("anna", "long_locks")
def test_failed_logins_lock_only_their_address() -> None:
    fail(OF_NAME.free, address=THEIRS)

    assert log_in("right", address=THEIRS).status_code == 429
    assert log_in("right").status_code == 302


@pytest.mark.usefixtures("anna", "long_locks")
def test_unknown_names_are_locked_too() -> None:
    fail(OF_NAME.free, "nobody")

    assert log_in("wrong", "nobody").status_code == 429
    assert log_in("right").status_code == 302


@pytest.mark.usefixtures("anna", "long_locks")
def test_trying_many_names_locks_the_address() -> None:
    for number in range(OF_ADDRESS.free):
        fail(1, f"user {number}", THEIRS)

    assert log_in("right", address=THEIRS).status_code == 429
    assert log_in("right").status_code == 302


@pytest.mark.usefixtures("anna", "long_locks")
def test_a_network_of_ipv6_is_one_client() -> None:
    for number in range(OF_NAME.free):
        fail(1, address=f"2001:db8::{number + 1:x}")

    assert log_in("right", address="2001:db8::ffff").status_code == 429
    assert log_in("right", address="2001:db8:0:1::1").status_code == 302


@pytest.mark.usefixtures("anna", "long_locks")
def test_forwarded_address_of_a_trusted_proxy_counts(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from jsonrpc.limits.client_address import TrustedProxies

    behind = replace(this_node().endpoints.gate_config, proxies=TrustedProxies.of(OURS))
    monkeypatch.setattr(this_node().endpoints, "gate_config", behind)
    for _ in range(OF_NAME.free):
        log_in("wrong", **{"x-forwarded-for": THEIRS})

    assert log_in("right", **{"x-forwarded-for": THEIRS}).status_code == 429
    assert log_in("right", **{"x-forwarded-for": "203.0.113.9"}).status_code == 302


@pytest.mark.usefixtures("anna")
def test_the_right_password_makes_the_names_count_zero() -> None:
    fail(OF_NAME.free - 1)
    assert log_in("right").status_code == 302
    fail(OF_NAME.free - 1)

    assert log_in("right").status_code == 302


@pytest.mark.usefixtures("anna")
def test_login_above_the_hashing_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slots = Slots(at_once=1, slots=1)
    monkeypatch.setattr(logins, "HASHING", slots)
    with slots.slot():
        answer = log_in("right")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "Too many logins are being checked. Try again in a moment." in (answer.content.decode())
    assert log_in("right").status_code == 302


def test_logins_leave_threads_for_logged_in_users() -> None:
    assert HASHING.at_once < HASHING.slots < DJANGO_THREADS


def test_any_user_name_is_counted(long_locks: None) -> None:
    for name in ("ä" * 150, "with space", "a:b/c\x07"):
        fail(1, name)


def test_number_of_counted_names_is_limited(settings: Any) -> None:
    entries = settings.CACHES["logins"]["OPTIONS"]["MAX_ENTRIES"]
    failures = logins.Failures(caches[logins.CACHE], OF_NAME)
    for number in range(entries + 100):
        failures.count(logins._key(str(number)))

    assert len(caches[logins.CACHE]._cache) <= entries  # type: ignore[attr-defined]


def test_a_forgotten_password_is_reset_and_ends_sessions(
    anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/operations.md says."""
    session = Client(REMOTE_ADDR=OURS)
    assert session.login(username="anna", password="right")
    assert session.get("/admin/").status_code == 200
    typed = module_with(getpass, getpass=lambda **_: "another long passphrase")
    monkeypatch.setattr(changepassword, "getpass", typed)

    call_command("changepassword", "anna", stdout=StringIO())

    assert session.get("/admin/").status_code == 302
    assert log_in("right").status_code == 200
    assert log_in("another long passphrase").status_code == 302

"""Wrong passwords lock for longer and longer, and few passwords are tried at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import time_machine
from django.core.cache import cache

from platform_app.services import keystore, keystore_guard
from platform_app.services.keystore_errors import (
    IncorrectPassword,
    KeystoreBusy,
    TooManyAttempts,
    UserNotRetrieved,
)
from platform_app.services.keystore_guard import AT_ONCE, OF_USER, OVERALL, Limit, derivation
from platform_app.wallet import sealing
from tests.builders.keystore import NAME, PASSWORD, make_cheap, some_user
from tests.builders.platform import KEYS, NOW

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


def fail(times: int, name: str = NAME) -> None:
    for _ in range(times):
        with pytest.raises(IncorrectPassword):
            keystore.export_user(name, "wrong")


def locked_for(name: str = NAME) -> int:
    """Return for how many seconds a user cannot try the right password."""
    with pytest.raises(TooManyAttempts) as refused:
        keystore.export_user(name, PASSWORD)
    assert str(refused.value) == f"too many failed attempts, try again in {refused.value.seconds}s"
    return refused.value.seconds


def test_a_few_wrong_passwords_are_free() -> None:
    some_user()
    fail(OF_USER.free - 1)

    assert keystore.list_addresses(NAME, PASSWORD) == []


def test_each_further_one_locks_twice_as_long() -> None:
    some_user()
    with time_machine.travel(NOW, tick=False) as clock:
        fail(OF_USER.free)
        for seconds in (1, 2, 4, 8):
            assert locked_for() == seconds + 1
            clock.shift(seconds + 1)
            fail(1)


def test_even_the_right_password_waits_and_nothing_is_derived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user()
    fail(OF_USER.free)
    monkeypatch.delattr(sealing, "hash_secret_raw")

    assert locked_for() > 0


def test_no_lock_is_longer_than_five_minutes() -> None:
    assert OF_USER.seconds_after(OF_USER.free - 1) == 0
    assert OF_USER.seconds_after(OF_USER.free + 8) == 256
    assert OF_USER.seconds_after(OF_USER.free + 9) == 300
    assert OF_USER.seconds_after(10**9) == 300


def test_the_right_password_makes_the_count_zero() -> None:
    some_user()
    fail(OF_USER.free - 1)
    keystore.list_addresses(NAME, PASSWORD)
    fail(OF_USER.free - 1)

    assert keystore.list_addresses(NAME, PASSWORD) == []


def test_a_lock_is_one_users_alone() -> None:
    some_user()
    some_user(name="bob")
    fail(OF_USER.free)

    assert keystore.list_addresses("bob", PASSWORD) == []


def test_the_methods_of_the_p_chain_say_so_in_their_words() -> None:
    some_user()
    fail(OF_USER.free)

    with pytest.raises(UserNotRetrieved) as refused:
        keystore.list_addresses(NAME, PASSWORD)

    assert isinstance(refused.value.reason, TooManyAttempts)
    assert str(refused.value).startswith(
        'problem retrieving user "anna": too many failed attempts, try again in '
    )


def test_wrong_passwords_of_all_together_lock_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore_guard, "OVERALL", Limit(free=6, longest=60, remembered=60))
    some_user()
    some_user(name="bob")
    fail(2)
    fail(4, "nobody")

    assert locked_for("bob") > 0
    with pytest.raises(TooManyAttempts):
        keystore.import_user("new", PASSWORD, b"\0\1" + bytes(100))


def test_passwords_of_exported_users_are_counted_overall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore_guard, "OVERALL", Limit(free=2, longest=60, remembered=60))
    some_user(KEYS[0])
    exported = keystore.export_user(NAME, PASSWORD)
    for _ in range(2):
        with pytest.raises(IncorrectPassword):
            keystore.import_user("back", "wrong", exported)

    assert locked_for() > 0


def test_names_that_nobody_has_leave_nothing_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    add = cache.add
    monkeypatch.setattr(cache, "add", lambda key, *rest: written.append(key) or add(key, *rest))

    fail(3, "nobody")
    some_user()
    fail(1)

    assert [key for key in written if "overall" not in key] == [
        f"keystore-user-{keystore.store.user(NAME).user_id}"  # type: ignore[union-attr]
    ]


def test_the_overall_limit_lets_many_users_mistype() -> None:
    assert OVERALL.free >= 10 * OF_USER.free


def test_few_passwords_are_tried_at_a_time() -> None:
    together = threading.Barrier(AT_ONCE)
    lock = threading.Lock()
    running, most = 0, 0

    def work() -> None:
        nonlocal running, most
        with derivation():
            with lock:
                running += 1
                most = max(most, running)
            together.wait(30)
            with lock:
                running -= 1

    with ThreadPoolExecutor(AT_ONCE + 2) as pool:
        for done in [pool.submit(work) for _ in range(AT_ONCE + 2)]:
            done.result()

    assert most == AT_ONCE


def test_who_finds_no_place_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    monkeypatch.setattr(keystore_guard, "_places", threading.BoundedSemaphore(1))

    with ExitStack() as busy:
        busy.enter_context(derivation())
        for refuse in (
            lambda: keystore.create_user("bob", PASSWORD),
            lambda: keystore.export_user(NAME, PASSWORD),
            lambda: keystore.import_user("bob", PASSWORD, b""),
        ):
            with pytest.raises(KeystoreBusy) as refused:
                refuse()
            assert str(refused.value) == "keystore is busy, try again"

    assert keystore.list_addresses(NAME, PASSWORD) == []


def test_a_place_is_free_again_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore_guard, "_places", threading.BoundedSemaphore(1))
    some_user()

    fail(3)

    assert keystore.list_addresses(NAME, PASSWORD) == []


def test_a_count_that_was_forgotten_in_between_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user()

    def forgotten(key: str) -> int:
        raise ValueError(key)

    monkeypatch.setattr(cache, "incr", forgotten)
    fail(OF_USER.free + 1)

    assert keystore.list_addresses(NAME, PASSWORD) == []

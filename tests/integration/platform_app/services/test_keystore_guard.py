"""Wrong passwords lock a user for increasing times, and few passwords are checked concurrently."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.core.cache import cache

from chaindb.attempts import AttemptLimit
from platform_app.apps import platform_chain
from platform_app.chain import DerivationSlots, KeyDerivation
from platform_app.services import keystore
from platform_app.services.keystore import OF_USER
from platform_app.wallet import sealing
from platform_app.wallet.errors import IncorrectPassword, KeystoreError, KeystoreReason
from tests.builders.keystore import NAME, PASSWORD, make_cheap, some_user
from tests.builders.platform import KEYS, NOW
from tests.builders.reasons import raises, reason_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


def fail(times: int, name: str = NAME) -> None:
    for _ in range(times):
        with pytest.raises(IncorrectPassword):
            keystore.export_user(platform_chain(), name, "wrong")


@pytest.fixture
def long_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every lock last as long as the longest: a short one could expire before a test checks it."""

    def seconds_after(limit: AttemptLimit, failures: int) -> int:
        return 0 if failures < limit.free else limit.longest

    monkeypatch.setattr(AttemptLimit, "seconds_after", seconds_after)


def locked_for(name: str = NAME) -> int:
    """Return the number of seconds for which even the right password is refused."""
    with raises(KeystoreReason.TOO_MANY_ATTEMPTS, kind=KeystoreError) as refused:
        keystore.export_user(platform_chain(), name, PASSWORD)
    assert (
        str(refused.value)
        == f"too many failed attempts, try again in {refused.value.values['seconds']}s"
    )
    return refused.value.values["seconds"]


def narrow(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Limit one kind of slots to a single slot."""
    chain = platform_chain()
    slots = DerivationSlots(at_once=1, slots=1)
    monkeypatch.setattr(chain, "key_derivation", chain.key_derivation._replace(**{name: slots}))


def test_a_few_wrong_passwords_are_free() -> None:
    some_user()
    fail(OF_USER.free - 1)

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


def test_each_further_one_locks_twice_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    write = cache.set
    # The cache expires entries by real time: keep them until the test has checked them.
    monkeypatch.setattr(cache, "set", lambda key, value, seconds: write(key, value, seconds + 600))
    with time_machine.travel(NOW, tick=False) as clock:
        fail(OF_USER.free)
        for seconds in (1, 2, 4, 8):
            assert locked_for() == seconds + 1
            clock.shift(seconds + 1)
            fail(1)


@pytest.mark.usefixtures("long_locks")
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
    keystore.list_addresses(platform_chain(), NAME, PASSWORD)
    fail(OF_USER.free - 1)

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


def test_a_lock_is_one_users_alone() -> None:
    some_user()
    some_user(name="bob")
    fail(OF_USER.free)

    assert keystore.list_addresses(platform_chain(), "bob", PASSWORD) == []


@pytest.mark.usefixtures("long_locks")
def test_p_chain_methods_report_the_lockout() -> None:
    some_user()
    fail(OF_USER.free)

    with raises(KeystoreReason.USER_NOT_RETRIEVED, kind=KeystoreError) as refused:
        keystore.list_addresses(platform_chain(), NAME, PASSWORD)

    assert reason_of(refused.value.values["cause"]) is KeystoreReason.TOO_MANY_ATTEMPTS
    assert str(refused.value).startswith(
        'problem retrieving user "anna": too many failed attempts, try again in '
    )


@pytest.mark.usefixtures("long_locks")
def test_guesses_for_others_do_not_lock_a_user() -> None:
    some_user(KEYS[0])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)
    for number in range(20):
        some_user(name=f"user {number}")
        fail(OF_USER.free, f"user {number}")
    fail(50, "nobody")
    for _ in range(50):
        with pytest.raises(IncorrectPassword):
            keystore.import_user(platform_chain(), "back", "wrong", exported)

    assert keystore.keys_of(platform_chain(), NAME, PASSWORD) == [KEYS[0]]
    keystore.import_user(platform_chain(), "back", PASSWORD, exported)
    assert locked_for("user 0") > 0


def test_unknown_names_leave_no_cache_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    add = cache.add
    monkeypatch.setattr(cache, "add", lambda key, *rest: written.append(key) or add(key, *rest))

    fail(3, "nobody")
    some_user()
    fail(1)

    assert written == [
        f"keystore-user-{keystore.store.user(platform_chain().db, NAME).user_id}"  # type: ignore[union-attr]
    ]


def test_few_derive_a_key_at_a_time() -> None:
    slots = DerivationSlots(at_once=2, slots=4)
    together = threading.Barrier(2)
    lock = threading.Lock()
    running, most = 0, 0

    def work() -> None:
        nonlocal running, most
        with slots.slot():
            with lock:
                running += 1
                most = max(most, running)
            together.wait(60)
            with lock:
                running -= 1

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result()

    assert most == 2


def test_request_without_free_slot_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user()
    for name in ("users", "strangers"):
        narrow(monkeypatch, name)

    with (
        platform_chain().key_derivation.users.slot(),
        platform_chain().key_derivation.strangers.slot(),
    ):
        for refuse in (
            lambda: keystore.create_user(platform_chain(), "bob", PASSWORD),
            lambda: keystore.export_user(platform_chain(), NAME, PASSWORD),
            lambda: keystore.export_user(platform_chain(), "nobody", PASSWORD),
            lambda: keystore.import_user(platform_chain(), "bob", PASSWORD, b""),
        ):
            with raises(KeystoreReason.KEYSTORE_BUSY, kind=KeystoreError) as refused:
                refuse()
            assert str(refused.value) == "keystore is busy, try again"

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


def test_unknown_names_do_not_use_slots_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user(KEYS[0])
    narrow(monkeypatch, "strangers")

    with platform_chain().key_derivation.strangers.slot():
        with raises(KeystoreReason.KEYSTORE_BUSY, kind=KeystoreError):
            keystore.create_user(platform_chain(), "bob", PASSWORD)
        assert keystore.keys_of(platform_chain(), NAME, PASSWORD) == [KEYS[0]]
        exported = keystore.export_user(platform_chain(), NAME, PASSWORD)

    keystore.import_user(platform_chain(), "bob", PASSWORD, exported)
    assert keystore.list_users(platform_chain()) == [NAME, "bob"]


@pytest.mark.usefixtures("long_locks")
def test_locked_user_uses_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    fail(OF_USER.free)
    narrow(monkeypatch, "users")

    with platform_chain().key_derivation.users.slot():
        assert locked_for() > 0


@pytest.mark.usefixtures("long_locks")
def test_user_locked_while_waiting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    narrow(monkeypatch, "users")
    place = platform_chain().key_derivation.users.slot

    def meanwhile() -> object:
        monkeypatch.setattr(platform_chain().key_derivation.users, "slot", place)
        fail(OF_USER.free)
        return place()

    monkeypatch.setattr(platform_chain().key_derivation.users, "slot", meanwhile)
    assert locked_for() > 0


def test_slot_is_released_after_any_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("users", "strangers"):
        narrow(monkeypatch, name)
    some_user()

    fail(3)
    fail(3, "nobody")

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


@pytest.mark.parametrize("threads", [3, 4, 7, 16, 64])
def test_passwords_leave_threads_to_other_calls(threads: int) -> None:
    users, strangers = KeyDerivation.of(threads)

    assert users.slots >= 1
    assert strangers.slots >= 1
    assert users.slots + strangers.slots < threads


def test_a_process_of_sixteen_threads_lets_ten_wait_for_passwords() -> None:
    users, strangers = platform_chain().key_derivation
    assert (users.at_once, users.slots) == (2, 6)
    assert (strangers.at_once, strangers.slots) == (1, 4)


def test_evicted_failure_count_restarts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user()

    def forgotten(key: str) -> int:
        raise ValueError(key)

    monkeypatch.setattr(cache, "incr", forgotten)
    fail(OF_USER.free + 1)

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []

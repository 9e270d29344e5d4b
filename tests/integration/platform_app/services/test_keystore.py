"""Users of the keystore: created, deleted, listed, exported and imported (pchain.md 8.3)."""

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.chain import DerivationSlots
from platform_app.services import keystore
from platform_app.store import keystore as store
from platform_app.wallet import sealing
from platform_app.wallet.errors import (
    IncorrectPassword,
    KeystoreError,
    KeystoreReason,
    WalletError,
    WalletReason,
)
from tests.builders.keystore import CHEAP, NAME, PASSWORD, make_cheap, some_user
from tests.builders.platform import ADDRESSES, KEYS
from tests.builders.reasons import raises

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


def test_a_user_is_made_without_keys() -> None:
    keystore.create_user(platform_chain(), NAME, PASSWORD)

    assert keystore.list_users(platform_chain()) == [NAME]
    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


def test_user_keeps_the_hashing_cost_of_its_creation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user()
    monkeypatch.setattr(sealing, "COST", sealing.Cost(2, 128, 2))

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []
    (row,) = models.KeystoreUser.objects.all()
    assert (row.time_cost, row.memory_cost, row.parallelism) == CHEAP


def test_users_are_listed_by_name() -> None:
    for name in ("b", "é", "a"):
        some_user(name=name)

    assert keystore.list_users(platform_chain()) == ["a", "b", "é"]


def test_a_name_is_taken_once() -> None:
    some_user()

    with raises(KeystoreReason.USER_EXISTS, kind=KeystoreError) as refused:
        keystore.create_user(platform_chain(), NAME, "another good password")

    assert str(refused.value) == "user already exists: anna"
    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


def test_concurrent_creation_of_a_user_succeeds_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = platform_chain().key_derivation._replace(strangers=DerivationSlots(at_once=2, slots=2))
    monkeypatch.setattr(platform_chain(), "key_derivation", slots)
    lock = sealing.lock

    def meanwhile(*arguments: object) -> object:
        monkeypatch.setattr(sealing, "lock", lock)
        some_user()
        return lock(*arguments)

    monkeypatch.setattr(sealing, "lock", meanwhile)
    with raises(KeystoreReason.USER_EXISTS, kind=KeystoreError):
        keystore.create_user(platform_chain(), NAME, "another good password")

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == []


@pytest.mark.parametrize("name", ["a", "n" * 1024, "é" * 512, 'quoted "name"\n', "key\x1b[0m"])
def test_names_of_up_to_1024_bytes_are_taken(name: str) -> None:
    some_user(KEYS[0], name=name)

    assert keystore.list_users(platform_chain()) == [name]
    assert keystore.list_addresses(platform_chain(), name, PASSWORD) == [ADDRESSES[0]]


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("", KeystoreReason.EMPTY_USERNAME, "empty username"),
        (
            "n" * 1025,
            KeystoreReason.USERNAME_TOO_LONG,
            "username exceeds maximum length of 1024 chars",
        ),
        (
            "é" * 513,
            KeystoreReason.USERNAME_TOO_LONG,
            "username exceeds maximum length of 1024 chars",
        ),
        (
            "a\0b",
            KeystoreReason.UNSTORABLE_USERNAME,
            "username holds a character that cannot be stored",
        ),
        (
            "a\ud800",
            KeystoreReason.UNSTORABLE_USERNAME,
            "username holds a character that cannot be stored",
        ),
    ],
    ids=["empty", "long", "long in bytes", "zero", "half a pair"],
)
def test_other_names_are_refused_everywhere(name: str, reason: type[Exception], words: str) -> None:
    for refuse in (
        lambda: keystore.create_user(platform_chain(), name, PASSWORD),
        lambda: keystore.delete_user(platform_chain(), name, PASSWORD),
        lambda: keystore.export_user(platform_chain(), name, PASSWORD),
        lambda: keystore.import_user(platform_chain(), name, PASSWORD, b""),
    ):
        with raises(reason) as refused:
            refuse()
        assert str(refused.value) == words


@pytest.mark.parametrize(
    ("password", "reason", "words"),
    [
        ("", WalletReason.EMPTY_PASSWORD, "empty password"),
        (
            "p" * 1025,
            WalletReason.PASSWORD_TOO_LONG,
            "password exceeds maximum length of 1024 chars",
        ),
        ("password", WalletReason.PASSWORD_TOO_WEAK, "password is too weak"),
    ],
    ids=["empty", "long", "weak"],
)
def test_other_passwords_make_no_user(password: str, reason: type[Exception], words: str) -> None:
    with raises(reason) as refused:
        keystore.create_user(platform_chain(), NAME, password)

    assert str(refused.value) == words
    assert keystore.list_users(platform_chain()) == []


def test_a_user_is_deleted_with_its_keys() -> None:
    some_user(*KEYS[:2])
    some_user(KEYS[0], name="other")

    keystore.delete_user(platform_chain(), NAME, PASSWORD)

    assert keystore.list_users(platform_chain()) == ["other"]
    assert models.KeystoreKey.objects.count() == 1


def test_deletion_with_wrong_password_is_refused() -> None:
    some_user()

    with pytest.raises(IncorrectPassword) as refused:
        keystore.delete_user(platform_chain(), NAME, "another good password")

    assert str(refused.value) == 'incorrect password: user "anna"'
    assert keystore.list_users(platform_chain()) == [NAME]


def test_deletion_of_missing_user_is_refused() -> None:
    with raises(KeystoreReason.USER_MISSING, kind=KeystoreError) as refused:
        keystore.delete_user(platform_chain(), NAME, PASSWORD)

    assert str(refused.value) == "user doesn't exist: anna"


def test_a_name_is_free_again_after_its_user_is_deleted() -> None:
    some_user(KEYS[0])
    keystore.delete_user(platform_chain(), NAME, PASSWORD)

    some_user(password="another good password")

    assert keystore.list_addresses(platform_chain(), NAME, "another good password") == []


def test_exported_user_is_imported_under_another_name() -> None:
    some_user(*KEYS[:3])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)
    keystore.delete_user(platform_chain(), NAME, PASSWORD)

    keystore.import_user(platform_chain(), "back", PASSWORD, exported)

    assert keystore.list_users(platform_chain()) == ["back"]
    assert keystore.list_addresses(platform_chain(), "back", PASSWORD) == list(ADDRESSES[:3])
    assert keystore.keys_of(platform_chain(), "back", PASSWORD) == list(KEYS[:3])


def test_user_exported_at_real_cost_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    some_user(KEYS[0])

    keystore.import_user(
        platform_chain(), "back", PASSWORD, keystore.export_user(platform_chain(), NAME, PASSWORD)
    )

    assert keystore.export_key(platform_chain(), "back", PASSWORD, ADDRESSES[0]) == KEYS[0]


def test_each_import_has_a_salt_of_its_own() -> None:
    some_user(KEYS[0])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)
    for name in ("one", "two"):
        keystore.import_user(platform_chain(), name, PASSWORD, exported)

    locks = {store.user(platform_chain().db, name).lock for name in (NAME, "one", "two")}  # type: ignore[union-attr]
    assert len({lock.salt for lock in locks}) == 3
    assert exported.find(next(iter(locks)).salt) == -1


@pytest.mark.parametrize("password", ["another good password", "", "p" * 2000])
def test_a_user_is_not_exported_with_a_wrong_password(password: str) -> None:
    some_user()

    with pytest.raises(IncorrectPassword) as refused:
        keystore.export_user(platform_chain(), NAME, password)

    assert str(refused.value) == 'incorrect password: user "anna"'


def test_missing_user_is_reported_as_wrong_password() -> None:
    with pytest.raises(IncorrectPassword) as refused:
        keystore.export_user(platform_chain(), "nobody", PASSWORD)

    assert str(refused.value) == 'incorrect password: user "nobody"'


def test_a_user_is_not_imported_with_a_wrong_password() -> None:
    some_user(KEYS[0])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)

    with pytest.raises(IncorrectPassword) as refused:
        keystore.import_user(platform_chain(), "back", "another good password", exported)

    assert str(refused.value) == 'incorrect password: user "back"'
    assert keystore.list_users(platform_chain()) == [NAME]


def test_a_user_is_not_imported_over_another() -> None:
    some_user(KEYS[0])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)

    with raises(KeystoreReason.USER_EXISTS, kind=KeystoreError) as refused:
        keystore.import_user(platform_chain(), NAME, PASSWORD, exported)

    assert str(refused.value) == "user already exists: anna"


def test_a_key_that_a_backup_holds_twice_is_imported_once() -> None:
    exported = sealing.write_backup([KEYS[1], KEYS[0], KEYS[1]], PASSWORD)

    keystore.import_user(platform_chain(), NAME, PASSWORD, exported)

    assert keystore.keys_of(platform_chain(), NAME, PASSWORD) == [KEYS[1], KEYS[0]]


@pytest.mark.node_settings(keystore_users=2)
def test_number_of_users_is_limited(node_settings: object) -> None:
    some_user(KEYS[0])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)
    some_user(name="bob")

    for refuse in (
        lambda: keystore.create_user(platform_chain(), "carl", PASSWORD),
        lambda: keystore.import_user(platform_chain(), "carl", PASSWORD, exported),
    ):
        with raises(KeystoreReason.TOO_MANY_USERS, kind=KeystoreError) as refused:
            refuse()
        assert str(refused.value) == "keystore has reached its limit of 2 users"
    with raises(KeystoreReason.USER_EXISTS, kind=KeystoreError):
        keystore.create_user(platform_chain(), "bob", PASSWORD)
    keystore.delete_user(platform_chain(), "bob", PASSWORD)
    keystore.import_user(platform_chain(), "carl", PASSWORD, exported)
    assert keystore.list_users(platform_chain()) == [NAME, "carl"]


@pytest.mark.node_settings(keystore_users=1)
def test_concurrent_creation_of_the_last_user_succeeds_once(
    node_settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = platform_chain().key_derivation._replace(strangers=DerivationSlots(at_once=2, slots=2))
    monkeypatch.setattr(platform_chain(), "key_derivation", slots)
    lock = sealing.lock

    def meanwhile(*arguments: object) -> object:
        monkeypatch.setattr(sealing, "lock", lock)
        some_user(name="bob")
        return lock(*arguments)

    monkeypatch.setattr(sealing, "lock", meanwhile)
    with raises(KeystoreReason.TOO_MANY_USERS, kind=KeystoreError):
        keystore.create_user(platform_chain(), NAME, PASSWORD)

    assert keystore.list_users(platform_chain()) == ["bob"]


def test_concurrent_deletion_reports_a_missing_user(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    unlock = sealing.unlock

    def meanwhile(*arguments: object) -> object:
        monkeypatch.setattr(sealing, "unlock", unlock)
        keystore.delete_user(platform_chain(), NAME, PASSWORD)
        return unlock(*arguments)

    monkeypatch.setattr(sealing, "unlock", meanwhile)
    with raises(KeystoreReason.USER_MISSING, kind=KeystoreError) as refused:
        keystore.delete_user(platform_chain(), NAME, PASSWORD)

    assert str(refused.value) == "user doesn't exist: anna"


def test_something_else_is_not_imported() -> None:
    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError) as refused:
        keystore.import_user(platform_chain(), NAME, PASSWORD, b"something else")

    assert str(refused.value) == "exported user is damaged or of an unknown version"
    assert keystore.list_users(platform_chain()) == []


def test_concurrent_import_of_a_user_succeeds_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user(KEYS[0])
    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)
    slots = platform_chain().key_derivation._replace(strangers=DerivationSlots(at_once=2, slots=2))
    monkeypatch.setattr(platform_chain(), "key_derivation", slots)
    lock = sealing.lock

    def meanwhile(*arguments: object) -> object:
        monkeypatch.setattr(sealing, "lock", lock)
        some_user(name="back")
        return lock(*arguments)

    monkeypatch.setattr(sealing, "lock", meanwhile)
    with raises(KeystoreReason.USER_EXISTS, kind=KeystoreError):
        keystore.import_user(platform_chain(), "back", PASSWORD, exported)

    assert keystore.list_addresses(platform_chain(), "back", PASSWORD) == []

"""Keys of a user: imported, created, exported, and limited in number (pchain.md 8.3)."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.services import keystore
from platform_app.store import keystore as store
from platform_app.wallet import sealing
from platform_app.wallet.errors import DamagedSeal, IncorrectPassword, KeystoreError, KeystoreReason
from primitives.ids import ShortID
from primitives.keys import address_of
from primitives.secp256k1 import InvalidPrivateKey
from tests.builders.keystore import NAME, PASSWORD, make_cheap, some_user
from tests.builders.platform import ADDRESSES, KEYS
from tests.builders.reasons import raises

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


def test_imported_key_is_exported() -> None:
    some_user()

    assert keystore.import_key(platform_chain(), NAME, PASSWORD, KEYS[0]) == ADDRESSES[0]

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == [ADDRESSES[0]]
    assert keystore.export_key(platform_chain(), NAME, PASSWORD, ADDRESSES[0]) == KEYS[0]


def test_keys_keep_their_order() -> None:
    some_user(KEYS[2], KEYS[0], KEYS[1])

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == [
        ADDRESSES[2],
        ADDRESSES[0],
        ADDRESSES[1],
    ]
    assert keystore.keys_of(platform_chain(), NAME, PASSWORD) == [KEYS[2], KEYS[0], KEYS[1]]


def test_key_imported_twice_is_stored_once() -> None:
    some_user(KEYS[0], KEYS[1], KEYS[0])

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == list(ADDRESSES[:2])


def test_two_users_can_have_the_same_key() -> None:
    for name in ("one", "two"):
        some_user(KEYS[0], name=name)

    first, second = models.KeystoreKey.objects.all()
    assert first.sealed != second.sealed


def test_made_keys_are_the_users_own() -> None:
    some_user()

    made = [keystore.create_address(platform_chain(), NAME, PASSWORD) for _ in range(3)]

    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == made
    assert len(set(made)) == 3
    assert [address_of(key) for key in keystore.keys_of(platform_chain(), NAME, PASSWORD)] == made


def test_only_keys_of_named_addresses_are_opened() -> None:
    some_user(*KEYS[:3])

    wanted = {ADDRESSES[2], ADDRESSES[0], ADDRESSES[4]}
    assert keystore.keys_of(platform_chain(), NAME, PASSWORD, among=wanted) == [KEYS[0], KEYS[2]]


def test_a_key_that_the_user_does_not_have_is_not_found() -> None:
    some_user(KEYS[0])

    with raises(KeystoreReason.KEY_MISSING, kind=KeystoreError) as refused:
        keystore.export_key(platform_chain(), NAME, PASSWORD, ADDRESSES[1])

    assert str(refused.value) == "problem retrieving private key: not found"


@pytest.mark.parametrize("key", [b"", bytes(32), b"\xff" * 32, KEYS[0][:31]])
def test_malformed_key_is_refused_before_the_password(key: bytes) -> None:
    with pytest.raises(InvalidPrivateKey) as refused:
        keystore.import_key(platform_chain(), "nobody", "", key)

    assert str(refused.value) == "invalid private key"


def test_a_user_has_at_most_5000_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    full = [ShortID(number.to_bytes(20, "big")) for number in range(4999)] + [ADDRESSES[0]]
    monkeypatch.setattr(store, "addresses", lambda _db, _user: full)

    assert keystore.import_key(platform_chain(), NAME, PASSWORD, KEYS[0]) == ADDRESSES[0]
    with raises(KeystoreReason.TOO_MANY_KEYS, kind=KeystoreError) as refused:
        keystore.create_address(platform_chain(), NAME, PASSWORD)

    assert str(refused.value) == "keystore user has reached its limit of 5000 addresses"


METHODS: dict[str, Callable[[str, str], object]] = {
    "import_key": lambda name, password: keystore.import_key(
        platform_chain(), name, password, KEYS[0]
    ),
    "export_key": lambda name, password: keystore.export_key(
        platform_chain(), name, password, ADDRESSES[0]
    ),
    "create_address": lambda name, password: keystore.create_address(
        platform_chain(), name, password
    ),
    "list_addresses": lambda name, password: keystore.list_addresses(
        platform_chain(), name, password
    ),
    "keys_of": lambda name, password: keystore.keys_of(platform_chain(), name, password),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        (NAME, "wrong", 'problem retrieving user "anna": incorrect password: user "anna"'),
        ("bob", PASSWORD, 'problem retrieving user "bob": incorrect password: user "bob"'),
        ("", PASSWORD, 'problem retrieving user "": empty username'),
        (
            "n" * 1025,
            PASSWORD,
            'problem retrieving user "": username exceeds maximum length of 1024 chars',
        ),
        (
            "\ud800\0",
            PASSWORD,
            r'problem retrieving user "\ud800\u0000": '
            "username holds a character that cannot be stored",
        ),
    ],
    ids=["password", "user", "no name", "long name", "odd name"],
)
def test_wrong_user_is_refused_with_avalanchegos_message(
    method: Callable[[str, str], object], name: str, password: str, words: str
) -> None:
    some_user(KEYS[0])

    with raises(KeystoreReason.USER_NOT_RETRIEVED, kind=KeystoreError) as refused:
        method(name, password)

    assert str(refused.value) == words
    str(refused.value).encode()
    assert keystore.list_addresses(platform_chain(), NAME, PASSWORD) == [ADDRESSES[0]]


def test_user_deleted_concurrently_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    unlock = sealing.unlock

    def meanwhile(*arguments: object) -> object:
        cipher = unlock(*arguments)
        monkeypatch.setattr(sealing, "unlock", unlock)
        keystore.delete_user(platform_chain(), NAME, PASSWORD)
        return cipher

    monkeypatch.setattr(sealing, "unlock", meanwhile)
    with raises(KeystoreReason.USER_NOT_RETRIEVED, kind=KeystoreError) as refused:
        keystore.import_key(platform_chain(), NAME, PASSWORD, KEYS[0])

    assert isinstance(refused.value.values["cause"], IncorrectPassword)
    assert models.KeystoreKey.objects.count() == 0


def test_a_sealed_key_does_not_open_in_another_row() -> None:
    some_user(*KEYS[:2])
    first, second = models.KeystoreKey.objects.all()
    models.KeystoreKey.objects.filter(id=first.id).update(sealed=second.sealed)

    with pytest.raises(DamagedSeal):
        keystore.export_key(platform_chain(), NAME, PASSWORD, ADDRESSES[0])


def test_a_sealed_key_does_not_open_for_another_name() -> None:
    some_user(KEYS[0])
    models.KeystoreUser.objects.update(name="bob")

    with pytest.raises(DamagedSeal):
        keystore.export_key(platform_chain(), "bob", PASSWORD, ADDRESSES[0])


def test_invalid_random_key_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    some_user()
    drawn = [bytes(32), b"\xff" * 32, KEYS[0]]
    monkeypatch.setattr(
        keystore, "secrets", SimpleNamespace(token_bytes=lambda _size: drawn.pop(0))
    )

    assert keystore.create_address(platform_chain(), NAME, PASSWORD) == ADDRESSES[0]

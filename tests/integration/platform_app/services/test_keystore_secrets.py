"""Keys and passwords appear nowhere except in the response to a request with the password."""

import logging
import traceback
from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.db import connection

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.services import keystore
from platform_app.store import keystore as store
from platform_app.wallet.errors import KeystoreError, WalletError
from primitives.keys import address_of, format_private_key
from tests.builders.keystore import NAME, PASSWORD, make_cheap, some_user
from tests.builders.platform import ADDRESSES, KEYS

pytestmark = pytest.mark.django_db

WRONG = "a wrong but good password"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


def secrets_of(*keys: bytes) -> list[bytes]:
    """Return every form in which a secret could be stored."""
    forms = [PASSWORD.encode(), PASSWORD.encode().hex().encode(), WRONG.encode()]
    for key in keys:
        text = format_private_key(key)
        forms += [key, key.hex().encode(), text.encode(), text.split("-")[1].encode()]
        forms.append(repr(key)[2:-1].encode())
    return forms


def assert_nothing_secret(shown: bytes, *keys: bytes) -> None:
    for form in secrets_of(*keys):
        assert form not in shown
        assert form.upper() not in shown


def dump() -> Iterator[bytes]:
    """Yield every value of every table, as bytes."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                for value in row:
                    binary = isinstance(value, bytes | memoryview)
                    yield bytes(value) if binary else str(value).encode()


def whole_story() -> list[bytes]:
    """Do everything that a user can do; return the keys."""
    some_user(*KEYS[:2])
    made = keystore.create_address(platform_chain(), NAME, PASSWORD)
    keys = [*KEYS[:2], keystore.export_key(platform_chain(), NAME, PASSWORD, made)]
    keystore.import_user(
        platform_chain(), "bob", PASSWORD, keystore.export_user(platform_chain(), NAME, PASSWORD)
    )
    return keys


FAILURES: list[Callable[[], object]] = [
    lambda: keystore.create_user(platform_chain(), NAME, PASSWORD),
    lambda: keystore.create_user(platform_chain(), "carl", "password"),
    lambda: keystore.import_user(platform_chain(), "carl", PASSWORD, b"\0\1" + KEYS[0] * 5),
    lambda: keystore.import_user(platform_chain(), "carl", PASSWORD, KEYS[0]),
    lambda: keystore.export_key(platform_chain(), NAME, PASSWORD, ADDRESSES[4]),
    lambda: keystore.import_key(platform_chain(), NAME, WRONG, KEYS[0]),
    lambda: keystore.export_key(platform_chain(), NAME, WRONG, ADDRESSES[0]),
    lambda: keystore.export_user(platform_chain(), NAME, WRONG),
    lambda: keystore.delete_user(platform_chain(), NAME, WRONG),
    lambda: keystore.delete_user(platform_chain(), "nobody", PASSWORD),
    lambda: keystore.list_addresses(platform_chain(), NAME, WRONG),
    lambda: keystore.list_addresses(platform_chain(), NAME, PASSWORD),
]
"""By the last of these calls the user is locked."""


def test_the_database_holds_nothing_secret() -> None:
    keys = whole_story()

    values = list(dump())

    assert NAME.encode() in values
    assert bytes(ADDRESSES[0]) in values
    assert_nothing_secret(b"\n".join(values), *keys)


def test_statements_and_logs_show_nothing_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    connection.force_debug_cursor = True
    try:
        keys = whole_story()
        for failure in FAILURES:
            with pytest.raises((KeystoreError, WalletError)):
                failure()
    finally:
        connection.force_debug_cursor = False
    statements = [query["sql"] for query in connection.queries_log]

    assert any("platform_app_keystorekey" in statement for statement in statements)
    assert_nothing_secret("\n".join([*statements, caplog.text]).encode(), *keys)


def test_errors_show_nothing_secret() -> None:
    keys = whole_story()

    for failure in FAILURES:
        with pytest.raises((KeystoreError, WalletError)) as refused:
            failure()
        error = refused.value
        trace = "".join(traceback.format_exception(error))
        assert_nothing_secret(f"{error!r} {error} {vars(error)}".encode(), *keys)
        assert_nothing_secret(trace.encode(), *keys)
        assert error.__cause__ is None


def test_rows_and_values_show_nothing_secret() -> None:
    keys = whole_story()
    shown: list[object] = [
        *models.KeystoreUser.objects.all(),
        *models.KeystoreKey.objects.all(),
        store.user(platform_chain().db, NAME),
        *(vars(row) for row in models.KeystoreUser.objects.all()),
        *(vars(row) for row in models.KeystoreKey.objects.all()),
    ]

    assert_nothing_secret(" ".join(f"{item!r} {item}" for item in shown).encode(), *keys)


def test_the_cache_holds_nothing_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []
    for name in ("add", "set", "incr"):
        method = getattr(cache, name)

        def recorded(*args: object, _method: Callable[..., object] = method) -> object:
            written.append(args)
            return _method(*args)

        monkeypatch.setattr(cache, name, recorded)
    keys = whole_story()
    for failure in FAILURES:
        with pytest.raises((KeystoreError, WalletError)):
            failure()

    assert written
    assert_nothing_secret(repr(written).encode(), *keys)
    assert NAME not in repr(written)


def test_an_exported_user_shows_nothing_secret() -> None:
    keys = whole_story()

    exported = keystore.export_user(platform_chain(), NAME, PASSWORD)

    assert_nothing_secret(exported, *keys)
    assert bytes(address_of(keys[0])) not in exported

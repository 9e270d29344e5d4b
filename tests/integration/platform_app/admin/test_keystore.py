"""The keystore in the admin: its users and their number of keys, and nothing that decrypts a key."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from platform_app import models
from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.paths import PLATFORM, detail, listing
from tests.integration.platform_app.admin.shown import address

pytestmark = pytest.mark.usefixtures("history")

SECRET = ("salt", "verifier", "sealed", "time_cost", "memory_cost", "parallelism")


def _user(number: int) -> models.KeystoreUser:
    return models.KeystoreUser.objects.get(name=f"user {number:03} <b>")


def test_a_user_is_shown_with_name_time_and_addresses(browse: Browse) -> None:
    text = browse(detail("keystoreuser", _user(3).pk)).text
    assert "user 003 &lt;b&gt;" in text
    assert "2026-09-21 14:13:23 UTC" in text
    for number in range(3):
        assert address(past.person(number)) in text
    assert address(past.person(3)) not in text


def test_a_list_counts_the_keys_of_each_user(browse: Browse) -> None:
    found = {row.name: row.key_count for row in browse(listing("keystoreuser")).rows}
    assert [found[f"user {number:03} <b>"] for number in range(5)] == [0, 1, 2, 3, 0]


def test_very_many_addresses_are_cut(browse: Browse) -> None:
    user = _user(0)
    models.KeystoreKey.objects.bulk_create(
        models.KeystoreKey(user=user, address=past.person(number), sealed=past.SEALED)
        for number in range(120)
    )
    text = browse(detail("keystoreuser", user.pk)).text
    assert address(past.person(99)) in text
    assert address(past.person(100)) not in text
    assert "The first 100." in text


@pytest.mark.parametrize("path", ["list", "search", "page", "history"])
def test_nothing_secret_is_read_or_shown(browse: Browse, path: str) -> None:
    user = _user(3)
    page = {
        "list": lambda: browse(listing("keystoreuser")),
        "search": lambda: browse(listing("keystoreuser"), q=user.name),
        "page": lambda: browse(detail("keystoreuser", user.pk)),
        "history": lambda: browse(f"{PLATFORM}keystoreuser/{user.pk}/history/"),
    }[path]()
    assert page.status == 200
    for sql, _ in page.statements:
        assert not any(f'"{column}"' in sql for column in SECRET)
    for value in (past.SALT, past.VERIFIER, past.SEALED):
        assert value.decode() not in page.text
        assert value.hex() not in page.text


def test_a_secret_can_neither_be_searched_nor_sorted_by(browse: Browse) -> None:
    for name in SECRET:
        page = browse(listing("keystoreuser"), **{f"{name}__startswith": "a"})
        assert (page.status, page.chain_statements) == (302, [])
    for value in (past.SALT, past.VERIFIER):
        assert browse(listing("keystoreuser"), q=value.hex()).rows == []


def test_looking_leaves_no_entry_in_the_log(admin_client: Client) -> None:
    admin_client.get(detail("keystoreuser", _user(3).pk))
    assert not LogEntry.objects.exists()

"""Keystore users in one call, with passwords that are cheap to hash."""

import pytest
from django.core.cache import cache

from platform_app.apps import platform_chain
from platform_app.services import keystore
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost

NAME = "anna"
PASSWORD = "ewoqvmRQ7Zpm"
CHEAP = Cost(passes=1, memory=64, lanes=1)


def make_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make password hashing cheap and reset the failed attempts."""
    cache.clear()
    monkeypatch.setattr(sealing, "COST", CHEAP)
    monkeypatch.setattr(sealing, "VERSION_1", CHEAP)


def some_user(*keys: bytes, name: str = NAME, password: str = PASSWORD) -> str:
    """Create a user with these keys and return the name."""
    keystore.create_user(platform_chain(), name, password)
    for key in keys:
        keystore.import_key(platform_chain(), name, password, key)
    return name

"""A P-Chain with history, and a browser that records the database queries of each page."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from chaindb import clock
from tests.builders import platform_history
from tests.builders.platform_history import NOW, Sizes
from tests.builders.process import restart_node
from tests.integration.admin_pages import Browse, browser

SIZES = Sizes()


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Empty the process's cache of stakers, and stop its clock."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    restart_node()
    yield
    restart_node()


@pytest.fixture(scope="module")
def written_history(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Write the history once for all tests of a module; each test rolls back its own changes."""
    with django_db_blocker.unblock():
        platform_history.write_history(SIZES)
    yield
    with django_db_blocker.unblock():
        platform_history.erase_history()


@pytest.fixture
def history(written_history: None, db: None) -> None:
    """The history, for a test that may change it."""


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    return browser(admin_client, "platform_app")

"""A chain of generated rows, and a browser that records the database queries of each page."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from tests.builders import rows
from tests.integration.admin_pages import Browse, browser
from tests.integration.conftest import forget_memory

BLOCKS = 130
"""More than two pages of blocks, and 26 pages of transactions."""

WAITING = 60


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    forget_memory()
    yield
    forget_memory()


@pytest.fixture(scope="module")
def written_chain(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Write the chain once for all tests of a module; each test rolls back its own changes."""
    with django_db_blocker.unblock():
        rows.write_chain(BLOCKS, idle_accounts=100, waiting=WAITING)
    yield
    with django_db_blocker.unblock():
        rows.erase_chain()


@pytest.fixture
def chain(written_chain: None, db: None) -> None:
    """The chain, for a test that may change it."""


@pytest.fixture
def browse(admin_client: Client) -> Browse:
    return browser(admin_client, "cchain_app")

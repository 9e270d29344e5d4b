"""The first start, the second one, and what only the owner may read."""

import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model

from cchain_app.selectors import blocks
from nodeproject.initialise import initialise, password_file


@pytest.fixture
def empty_directory(
    transactional_db: None, node_settings: Any, settings: Any, tmp_path: Path
) -> Path:
    from dataclasses import replace

    settings.NODE = replace(settings.NODE, data_dir=str(tmp_path))
    return tmp_path


def test_a_first_start_makes_chain_and_admin(empty_directory: Path) -> None:
    initialise()

    assert blocks.head().number == 0
    password = password_file().read_text().strip()
    user = authenticate(username="admin", password=password)
    assert user is not None
    assert user.is_superuser


def test_the_password_is_for_its_owner_only(empty_directory: Path) -> None:
    initialise()

    assert stat.S_IMODE(password_file().stat().st_mode) == 0o600
    assert len(password_file().read_text().strip()) >= 24


def test_a_second_start_changes_nothing(empty_directory: Path) -> None:
    initialise()
    password, genesis = password_file().read_text(), blocks.head()

    initialise()

    assert password_file().read_text() == password
    assert blocks.catch_up() == genesis
    assert get_user_model().objects.count() == 1

"""The data directory and the names of commands, in a checkout and for an installed package."""

import sys
from pathlib import Path

import pytest

from primitives.product import BASE_DIR, as_process, as_typed, data_home, is_checkout

ROOT = Path(__file__).parents[3]


def test_these_tests_run_in_a_checkout() -> None:
    assert (is_checkout(), BASE_DIR) == (True, ROOT)
    assert data_home() == ROOT / "data"
    assert as_typed("node_status") == ".venv/bin/python manage.py node_status"
    assert as_process("runnode") == [sys.executable, str(ROOT / "manage.py"), "runnode"]


def test_installed_package_stores_no_data_in_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")

    assert not is_checkout(tmp_path)
    assert data_home(tmp_path, {}) == Path("/home/somebody/.local/share/nunatak")
    assert data_home(tmp_path, {"XDG_DATA_HOME": "/srv/data"}) == Path("/srv/data/nunatak")
    assert as_typed("node_status", tmp_path) == "nunatak node_status"
    assert as_process("runnode", base=tmp_path) == [
        sys.executable, "-P", "-m", "nodeproject", "runnode",
    ]  # fmt: skip


@pytest.mark.parametrize("given", ["", "data", "./data", "~/data"])
def test_a_data_home_that_is_not_absolute_is_passed_over(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")

    assert data_home(tmp_path, {"XDG_DATA_HOME": given}) == Path(
        "/home/somebody/.local/share/nunatak"
    )

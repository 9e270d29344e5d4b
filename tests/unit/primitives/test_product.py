"""The product has one name and one version in all places that repeat them."""

import json
import platform
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import cchain_native
import pytest
from django.contrib import admin

from adminkit.loading import load_admins
from cchain_app.api.eth.node import client_version
from info_app.version import PRODUCT
from nodeproject import cli
from nodeproject.apps import this_node
from nodeproject.settings.theme import UNFOLD
from nodeproject.web.api import api
from primitives import product
from primitives.product import COMMIT_DIGITS, NAME, VERSION, commit, version_line

ROOT = Path(__file__).parents[3]


def manifest(place: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / place).read_text())


def test_the_package_and_its_command_have_the_name_in_lower_case() -> None:
    project = manifest("pyproject.toml")["project"]

    assert project["name"] == NAME.lower()
    assert list(project["scripts"]) == [NAME.lower()]


@pytest.mark.parametrize(
    ("place", "table"),
    [
        ("pyproject.toml", "project"),
        ("native/pyproject.toml", "project"),
        ("native/Cargo.toml", "package"),
    ],
)
def test_each_manifest_has_the_version(place: str, table: str) -> None:
    assert manifest(place)[table]["version"] == VERSION


def test_the_native_engine_was_built_in_this_version() -> None:
    assert cchain_native.__version__ == VERSION


def test_the_version_line_names_commit_engine_and_python() -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    assert version_line("native engine") == (
        f"nunatak {VERSION} (commit {head[:COMMIT_DIGITS]}, native engine, Python {platform.python_version()})"
    )


def test_a_build_knows_its_commit_and_other_directories_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert commit(tmp_path) is None
    built = tmp_path / "commit.txt"
    built.write_text("0123456789abcdef0123\n")
    monkeypatch.setattr(product, "COMMIT_FILE", built)

    assert commit(tmp_path) == "0123456789ab"


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["-V"], ["status", "--version"], ["migrate", "--version"], ["run", "-V"]],
)
def test_every_command_prints_the_version(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(arguments, program="node")

    assert capsys.readouterr().out == f"{version_line('native engine')}\n"


def test_the_changelog_has_this_version_at_its_top() -> None:
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert versions[0] == VERSION


@pytest.mark.node_settings(client_name="plain")
def test_clients_people_and_monitors_see_the_same_name(node_settings: Any) -> None:
    dashboard = json.loads((ROOT / "monitoring/grafana-dashboard.json").read_text())
    load_admins()

    assert client_version(this_node().evm_rpc).startswith(f"{NAME}/v{VERSION}/")
    assert f"{NAME.lower()}/{VERSION}" == PRODUCT
    assert {UNFOLD["SITE_TITLE"], UNFOLD["SITE_HEADER"], api.title, dashboard["title"]} == {NAME}
    assert {admin.site.site_title, admin.site.site_header} == {NAME}
    assert (ROOT / "README.md").read_text().startswith(f"# {NAME}\n")

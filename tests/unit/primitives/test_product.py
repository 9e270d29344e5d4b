"""The product has one name and one version in all places that repeat them."""

import json
import tomllib
from pathlib import Path
from typing import Any

import cchain_native
import pytest
from django.contrib import admin

from adminkit.loading import load_admins
from cchain_app.api.eth.node import client_version
from info_app.version import PRODUCT
from nodeproject.apps import this_node
from nodeproject.settings.theme import UNFOLD
from nodeproject.web.api import api
from primitives.product import NAME, VERSION

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


@pytest.mark.node_settings(client_name="plain")
def test_clients_people_and_monitors_see_the_same_name(node_settings: Any) -> None:
    dashboard = json.loads((ROOT / "monitoring/grafana-dashboard.json").read_text())
    load_admins()

    assert client_version(this_node().evm_rpc).startswith(f"{NAME}/v{VERSION}/")
    assert f"{NAME.lower()}/{VERSION}" == PRODUCT
    assert {UNFOLD["SITE_TITLE"], UNFOLD["SITE_HEADER"], api.title, dashboard["title"]} == {NAME}
    assert {admin.site.site_title, admin.site.site_header} == {NAME}
    assert (ROOT / "README.md").read_text().startswith(f"# {NAME}\n")

"""Versions are those of what runs."""

import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from cchain_app.apps import evm_chain
from info_app import version


def project_version() -> str:
    project = tomllib.loads((Path(version.__file__).parents[1] / "pyproject.toml").read_text())
    return str(project["project"]["version"])


def test_the_product_is_this_project() -> None:
    assert f"pychain/{project_version()}" == version.PRODUCT


@pytest.mark.parametrize(
    ("engine", "package"),
    [("revm", "cchain-native"), ("ethereum-execution", "ethereum-execution")],
)
def test_the_evm_has_the_version_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, engine: str, package: str
) -> None:
    monkeypatch.setattr(evm_chain(), "engine", SimpleNamespace(name=engine))
    version.vm_versions.cache_clear()
    try:
        assert version.vm_versions() == {
            "avm": f"v{project_version()}",
            "evm": f"v{metadata.version(package)}",
            "platform": f"v{project_version()}",
        }
    finally:
        version.vm_versions.cache_clear()

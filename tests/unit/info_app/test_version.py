"""Versions are those of the running code."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from info_app import version


def project_version() -> str:
    project = tomllib.loads((Path(version.__file__).parents[1] / "pyproject.toml").read_text())
    return str(project["project"]["version"])


def test_the_product_is_this_project() -> None:
    assert f"nunatak/{project_version()}" == version.PRODUCT


@pytest.mark.parametrize(
    ("engine", "package"),
    [("revm", "cchain-native"), ("ethereum-execution", "ethereum-execution")],
)
def test_the_evm_has_the_version_of_the_engine(engine: str, package: str) -> None:
    assert version.vm_versions(engine) == {
        "avm": f"v{project_version()}",
        "evm": f"v{metadata.version(package)}",
        "platform": f"v{project_version()}",
    }

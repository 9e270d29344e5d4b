"""The wheel without the native engine: what is left out, and what an installer checks."""

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

import pytest

from cchain_app.evm.select import EngineReason
from scripts.pure_wheel import write_pure

ROOT = Path(__file__).parents[2]
INFO = "nunatak-1.2.3.dist-info"
FILES = {
    "cchain_native/__init__.py": "from .cchain_native import *\n",
    "cchain_native/cchain_native.abi3.so": "\x7fELF",
    "nunatak/__init__.py": "",
    "nodeproject/startup/empty-0123456789abcdef.sqlite3": "SQLite format 3",
    f"{INFO}/METADATA": "Metadata-Version: 2.4\nName: nunatak\nVersion: 1.2.3\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: maturin\nRoot-Is-Purelib: false\n"
    "Tag: cp311-abi3-manylinux_2_28_x86_64\n",
    f"{INFO}/sboms/cchain_native.cyclonedx.json": "{}",
    f"{INFO}/RECORD": "cchain_native/__init__.py,sha256=x,1\n",
}


@pytest.fixture
def pure(tmp_path: Path) -> Path:
    wheel = tmp_path / "nunatak-1.2.3-cp311-abi3-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        for name, text in FILES.items():
            made.writestr(name, text)
    (tmp_path / "to").mkdir()
    return write_pure(wheel, tmp_path / "to")


def test_only_the_engine_is_omitted(pure: Path) -> None:
    assert pure.name == "nunatak-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(pure) as made:
        assert made.namelist() == [
            "nunatak/__init__.py",
            "nodeproject/startup/empty-0123456789abcdef.sqlite3",
            f"{INFO}/METADATA",
            f"{INFO}/WHEEL",
            f"{INFO}/RECORD",
        ]
        said = made.read(f"{INFO}/WHEEL").decode().splitlines()
        assert "Root-Is-Purelib: true" in said
        assert [line for line in said if line.startswith("Tag:")] == ["Tag: py3-none-any"]


def test_record_lists_files_with_hashes(pure: Path) -> None:
    with zipfile.ZipFile(pure) as made:
        record = [line.split(",") for line in made.read(f"{INFO}/RECORD").decode().splitlines()]
        assert [name for name, *_ in record] == made.namelist()
        assert record[-1][1:] == ["", ""]
        for name, digest, size in record[:-1]:
            content = made.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert (digest, size) == (f"sha256={found.decode()}", str(len(content)))


def test_advice_for_the_reference_engine_matches_the_locks() -> None:
    (advised,) = [
        word for word in str(EngineReason.REFERENCE_NOT_INSTALLED).split() if "==" in word
    ]
    locked = (ROOT / "requirements/runtime.lock").read_text()
    assert f"\n{advised.rstrip(';')} " in locked
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "reference" in project["optional-dependencies"]

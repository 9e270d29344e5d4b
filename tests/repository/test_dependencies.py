"""The lock files fit each supported Python, and the installed packages are compatible."""

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from OpenSSL import SSL
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SUPPORTED = ("3.11", "3.12", "3.13")
LOCKS = ("runtime", "dev")
# Overridden in pyproject.toml, which gives the reason.
OVERRIDDEN = {
    "3.11": {("ethereum-execution", "cryptography")},
    "3.12": {("ethereum-execution", "cryptography")},
    "3.13": {("ethereum-execution", "cryptography"), ("ethereum-execution", "coincurve")},
}
# The TLS libraries of the staking port. Raise these with each release of OpenSSL that fixes a vulnerability.
OLDEST = {"cryptography": "50.0.2", "pyOpenSSL": "26.4.0"}
OLDEST_OPENSSL = (4, 0, 3)


def environment(python: str) -> dict[str, str]:
    return {
        "python_version": python,
        "python_full_version": f"{python}.7",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "extra": "",
    }


def locked(name: str, python: str) -> list[tuple[Requirement, int]]:
    """Return the requirements that a lock file installs on a Python, and their numbers of hashes."""
    text = (ROOT / "requirements" / f"{name}.lock").read_text()
    entries = re.findall(r"^([a-z0-9].*?) *\\\n((?: +--hash=sha256:[0-9a-f]{64}.*\n)*)", text, re.M)
    requirements = [(Requirement(line), hashes.count("--hash")) for line, hashes in entries]
    return [
        (one, hashes)
        for one, hashes in requirements
        if one.marker is None or one.marker.evaluate(environment(python))
    ]


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("name", LOCKS)
def test_each_package_is_locked_to_one_version_with_its_hashes(name: str, python: str) -> None:
    chosen = locked(name, python)
    names = [one.name for one, _ in chosen]

    assert len(names) == len(set(names)) > 80
    assert all(hashes for _, hashes in chosen)
    assert all(re.fullmatch(r"==[^*,]+", str(one.specifier)) for one, _ in chosen)


@pytest.mark.parametrize("python", SUPPORTED)
@pytest.mark.parametrize("name", LOCKS)
def test_locked_versions_satisfy_the_requirements_for_each_python(name: str, python: str) -> None:
    chosen = {one.name: one.specifier for one, _ in locked(name, python)}
    asked = wanted(name)

    assert len(asked) > 15
    for item in asked:
        (pin,) = chosen[canonicalize_name(item.name)]
        assert item.specifier.contains(pin.version), item


def wanted(name: str) -> list[Requirement]:
    """Return the input of a lock file: pyproject.toml and the file with the same name."""
    found = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    for line in (ROOT / "requirements" / f"{name}.in").read_text().splitlines():
        if line.startswith("-r "):
            found += wanted(line.removeprefix("-r ").removesuffix(".in"))
        elif line and not line.startswith("#"):
            found.append(Requirement(line))
    return found


@pytest.mark.parametrize("python", SUPPORTED)
def test_the_tests_run_with_the_versions_of_the_node(python: str) -> None:
    runtime, dev = (
        {(one.name, str(one.specifier)) for one, _ in locked(name, python)}
        for name in ("runtime", "dev")
    )
    assert runtime < dev


@pytest.mark.parametrize("python", SUPPORTED)
def test_locked_versions_satisfy_the_requirements_of_packages(python: str) -> None:
    # the same as `pip check`, but for every Python: the files are installed without resolving again
    chosen = {one.name: one.specifier for one, _ in locked("dev", python)}
    versions = {name: next(iter(pin)).version for name, pin in chosen.items()}
    looked_at, overridden = 0, set()
    for name, version in versions.items():
        for item in asked_by(name, version, python):
            other = canonicalize_name(item.name)
            assert other in versions, f"{name} asks for {item}"
            looked_at += 1
            if not item.specifier.contains(versions[other], prereleases=True):
                overridden.add((name, other))

    assert looked_at > 150
    assert overridden == OVERRIDDEN[python]


def test_the_tls_libraries_are_not_older_than_the_last_security_release() -> None:
    required = {
        item.name: item.specifier for item in map(Requirement, PROJECT["project"]["dependencies"])
    }
    bounds = {
        name: Version(bound.version)
        for name in OLDEST
        for bound in required[name]
        if bound.operator == ">="
    }
    number = SSL.OPENSSL_VERSION_NUMBER  # 0xMNN00PP0, as in OpenSSL's header

    assert bounds.keys() == OLDEST.keys()
    assert all(bounds[name] >= Version(oldest) for name, oldest in OLDEST.items())
    assert (number >> 28, number >> 20 & 0xFF, number >> 4 & 0xFF) >= OLDEST_OPENSSL


def test_development_tools_do_not_constrain_the_versions_of_the_node() -> None:
    script = (ROOT / "scripts/lock.sh").read_text()
    compiled = re.findall(
        r"^compile requirements/(\w+)\.lock(?: -c requirements/(\w+)\.lock)?", script, re.M
    )

    assert compiled == [("runtime", ""), ("dev", "runtime")]
    assert "requirements/dev" not in (ROOT / "requirements/runtime.lock").read_text()


def asked_by(name: str, version: str, python: str) -> list[Requirement]:
    """Return the requirements of a package on a Python; empty if that version is not installed."""
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return []
    if package.version != version:
        return []
    asked = [Requirement(line) for line in package.requires or []]
    here = environment(python)
    return [item for item in asked if item.marker is None or item.marker.evaluate(here)]


def test_all_places_speak_of_the_same_pythons() -> None:
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    native: dict[str, Any] = tomllib.loads((ROOT / "native/pyproject.toml").read_text())
    readme = (ROOT / "README.md").read_text()

    inside = [minor for minor in range(30) if f"3.{minor}.0" in allowed]
    assert tuple(f"3.{minor}" for minor in inside) == SUPPORTED
    assert all(
        f"{python}.0" in SpecifierSet(native["project"]["requires-python"]) for python in SUPPORTED
    )
    assert PROJECT["tool"]["mypy"]["python_version"] == SUPPORTED[0]
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{SUPPORTED[0].replace('.', '')}"
    assert f"Python {SUPPORTED[0]} to {SUPPORTED[-1]}" in readme
    assert f"for version in {' '.join(SUPPORTED)}; do" in (ROOT / "scripts/lock.sh").read_text()

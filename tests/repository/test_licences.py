"""The list of licences is complete and correct, and contains no forbidden or unknown licence."""

import re
from email.message import Message

import pytest
from packaging.utils import canonicalize_name

from scripts import licences

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "LGPL-2.1-or-later", "LGPL-3.0-only", "MIT", "MIT-0", "MPL-2.0",
    "PSF-2.0", "Public-Domain", "TCL", "Unicode-3.0", "Unlicense", "ZPL-2.1", "Zlib",
}  # fmt: skip
LOADED_ONLY = {"psycopg", "psycopg-binary", "psycopg-pool", "python-crontab"}
"""Packages under the LGPL: they are loaded at run time and are part of no built artifact."""


def named(expression: str) -> set[str]:
    """Return each licence in an expression."""
    return set(re.split(r" (?:AND|OR) ", expression.replace("(", "").replace(")", "")))


def test_list_equals_locked_packages_and_crates() -> None:
    packages, crates = licences.listed()

    assert sorted(packages) == licences.locked_packages()
    assert sorted(crates) == licences.locked_crates()
    assert len(packages) > 80
    assert len(crates) > 300


def test_listed_licences_match_package_metadata() -> None:
    packages, _ = licences.listed()
    compared = 0
    for name, licence in packages.items():
        try:
            said = licences.package_licence(name)
        except licences.UnknownLicence as error:
            assert str(error) == f"{name} is not installed here"  # noqa: PT017  # no other reason
            continue
        assert licence == said, name
        compared += 1

    assert compared > 80


def test_licences_are_complete_and_compatible() -> None:
    packages, crates = licences.listed()
    assert not set().union(*map(named, packages.values()), *map(named, crates.values())) - ALLOWED
    assert {name for name, licence in packages.items() if "GPL" in licence} == LOADED_ONLY
    # a crate becomes part of the built binary, so it must be available without such a licence
    assert not {
        name for name, licence in crates.items() if "GPL" in licence and "OR" not in licence
    }


def test_package_without_licence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = Message()
    silent["License"] = "see the file"
    monkeypatch.setattr(licences.metadata, "metadata", lambda name: silent)

    with pytest.raises(
        licences.UnknownLicence, match=r"^silent does not say which licence it has: \[\]$"
    ):
        licences.package_licence("silent")


def test_project_has_a_licence() -> None:
    assert (licences.ROOT / "LICENSE").read_text().startswith("MIT License\n")
    for place in ("pyproject.toml", "native/pyproject.toml", "native/Cargo.toml"):
        assert 'license = "MIT"\n' in (licences.ROOT / place).read_text(), place


def test_names_are_normalised_as_in_the_index() -> None:
    assert all(name == canonicalize_name(name) for name in licences.locked_packages())

"""Writes LICENCES.md: the licences of the packages and crates that a node uses at run time.

The licence of a package comes from its metadata. A package that this Python does not install keeps its
existing line; without such a line, run the script with a Python that installs the package.
"""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LIST = ROOT / "LICENCES.md"
LOCK = ROOT / "requirements/runtime.lock"
CRATE = ROOT / "native/Cargo.toml"
OWN_CRATE = "cchain_native"
SUPPORTED = {
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
}
PYTHONS = ("3.11.0", "3.11.3", "3.12.0", "3.13.0")
"""One Python version for each case that the lock file distinguishes."""

SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
    "ISC License (ISCL)": "ISC",
    "LGPLv3": "LGPL-3.0-only",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Public Domain": "Public-Domain",
    "Python Software Foundation License": "PSF-2.0",
}
"""Spellings of licences in package metadata and their identifiers; some do not name the BSD variant."""

INTRODUCTION = """\
# Licences of what the node runs with

The node itself is under the MIT licence (`LICENSE`). It copies none of these packages and crates; they
are installed from their registries, or built into the native crate, under the licences that they name.
Those under LGPL-3.0 are loaded as they come, and anybody can put others in their place.

Made by `make licences` out of `requirements/runtime.lock` and `native/Cargo.lock`.
"""


class UnknownLicence(Exception):
    """A package does not name its licence, or is not installed here."""


def locked_packages() -> list[str]:
    """Return the names of the packages that supported machines install."""
    environments = [
        SUPPORTED | {"python_full_version": version, "python_version": version.rpartition(".")[0]}
        for version in PYTHONS
    ]
    found = re.findall(r"^([a-z0-9].*?) *\\$", LOCK.read_text(), re.MULTILINE)
    requirements = [Requirement(line) for line in found]
    return sorted(
        {
            requirement.name
            for requirement in requirements
            if requirement.marker is None or any(map(requirement.marker.evaluate, environments))
        }
    )


def locked_crates() -> list[tuple[str, str]]:
    """Return the name and version of each crate in the lock file."""
    packages = tomllib.loads((ROOT / "native/Cargo.lock").read_text())["package"]
    return sorted(
        (package["name"], package["version"])
        for package in packages
        if package["name"] != OWN_CRATE
    )


def package_licence(name: str) -> str:
    """Return a package's licence as the package names it, as an SPDX identifier where possible.

    Raises:
        UnknownLicence: The package is not installed, or does not name its licence.
    """
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        raise UnknownLicence(f"{name} is not installed here") from None
    names = [*(about.get_all("License-Expression") or []), *(about.get_all("License") or [])]
    for said in names:
        try:
            return str(canonicalize_license_expression(SPELLINGS.get(said, said)))
        except InvalidLicenseExpression:
            continue
    classifiers = about.get_all("Classifier") or []
    kinds = [
        classifier.rpartition(" :: ")[2]
        for classifier in classifiers
        if classifier.startswith("License :: ")
    ]
    # "OSI Approved" alone names no licence.
    kinds = [kind for kind in kinds if kind != "OSI Approved"]
    if not kinds and names in (["BSD"], ["BSD License"]):
        kinds = ["BSD License"]
    if not kinds or any(kind not in SPELLINGS for kind in kinds):
        raise UnknownLicence(f"{name} does not say which licence it has: {kinds}")
    return " AND ".join(sorted(SPELLINGS[kind] for kind in kinds))


def crate_licences() -> dict[tuple[str, str], str]:
    """Return each crate's licence by name and version, as reported by cargo."""
    listing = subprocess.run(  # noqa: S603  # nothing of it comes from outside
        ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", CRATE],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    licences = {}
    for crate in json.loads(listing.stdout)["packages"]:
        if crate["name"] != OWN_CRATE and not crate["license"]:
            raise UnknownLicence(f"the crate {crate['name']} does not say which licence it has")
        licences[crate["name"], crate["version"]] = crate["license"]
    return licences


def listed() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the entries of the existing list: licences of packages, and of crates by name and version."""
    text = LIST.read_text() if LIST.exists() else ""
    packages, _, crates = text.partition("\n## Crates\n")
    return (
        dict(re.findall(r"^\| `(\S+)` \| (.+) \|$", packages, re.MULTILINE)),
        {
            (name, version): licence
            for name, version, licence in re.findall(
                r"^\| `(\S+) (\S+)` \| (.+) \|$", crates, re.MULTILINE
            )
        },
    )


def render() -> tuple[str, list[str]]:
    """Return the text of the list, and the entries that it lacks."""
    known, _ = listed()
    rows, missing = [], []
    for name in locked_packages():
        try:
            known[name] = package_licence(name)
        except UnknownLicence as error:
            if name not in known:
                missing.append(str(error))
                continue
        rows.append(f"| `{name}` | {known[name]} |")
    licences = crate_licences()
    crates = [
        # Some crates write / for OR.
        f"| `{name} {version}` | {re.sub(' */ *', ' OR ', licences[name, version])} |"
        for name, version in locked_crates()
    ]
    head = "| {} | Licence |\n|---|---|\n"
    text = (
        f"{INTRODUCTION}\n## Packages\n\n{head.format('Package')}{chr(10).join(rows)}\n"
        f"\n## Crates\n\n{head.format('Crate')}{chr(10).join(crates)}\n"
    )
    return text, missing


if __name__ == "__main__":
    text, missing = render()
    LIST.write_text(text)
    sys.exit("; ".join(missing))

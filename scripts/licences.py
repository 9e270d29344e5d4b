"""Writes LICENCES.md: under which licences the packages and crates are that a node runs with.

What a package says of itself is in its metadata, so one that this Python does not install keeps the
line that it has; where it has none yet, the list waits for a run with a Python that installs it.
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
"""One of each kind that the lock file tells apart."""

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
"""What packages write in place of the identifiers; some of them do not say which BSD licence."""

INTRODUCTION = """\
# Licences of what the node runs with

The node itself is under the MIT licence (`LICENSE`). It copies none of these packages and crates; they
are installed from their registries, or built into the native crate, under the licences that they name.
Those under LGPL-3.0 are loaded as they come, and anybody can put others in their place.

Made by `make licences` out of `requirements/runtime.lock` and `native/Cargo.lock`.
"""


class UnknownLicence(Exception):
    """A package that does not say under which licence it is, or is not installed here."""


def locked_packages() -> list[str]:
    """Return the names of the packages that a supported machine installs."""
    environments = [
        SUPPORTED | {"python_full_version": version, "python_version": version.rpartition(".")[0]}
        for version in PYTHONS
    ]
    found = re.findall(r"^([a-z0-9].*?) *\\$", LOCK.read_text(), re.MULTILINE)
    requirements = [Requirement(line) for line in found]
    return sorted(
        {
            one.name
            for one in requirements
            if one.marker is None or any(map(one.marker.evaluate, environments))
        }
    )


def locked_crates() -> list[tuple[str, str]]:
    """Return name and version of each crate of the lock file."""
    packages = tomllib.loads((ROOT / "native/Cargo.lock").read_text())["package"]
    return sorted((one["name"], one["version"]) for one in packages if one["name"] != OWN_CRATE)


def package_licence(name: str) -> str:
    """Return a package's licence as the package names it, in identifiers where there are.

    Raises:
        UnknownLicence: It is not installed, or does not say.
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
    kinds = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: ")]
    # what is no kind of licence by itself
    kinds = [kind for kind in kinds if kind != "OSI Approved"]
    if not kinds and names in (["BSD"], ["BSD License"]):
        kinds = ["BSD License"]
    if not kinds or any(kind not in SPELLINGS for kind in kinds):
        raise UnknownLicence(f"{name} does not say which licence it has: {kinds}")
    return " AND ".join(sorted(SPELLINGS[kind] for kind in kinds))


def crate_licences() -> dict[tuple[str, str], str]:
    """Return each crate's licence by name and version, as cargo knows it."""
    told = subprocess.run(  # noqa: S603  # nothing of it comes from outside
        ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", CRATE],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    licences = {}
    for crate in json.loads(told.stdout)["packages"]:
        if crate["name"] != OWN_CRATE and not crate["license"]:
            raise UnknownLicence(f"the crate {crate['name']} does not say which licence it has")
        licences[crate["name"], crate["version"]] = crate["license"]
    return licences


def listed() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return what the list says: licences of packages, and of crates by name and version."""
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
    """Return the text of the list, and what it lacks."""
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
        # some crates write / for OR
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

"""Product, version and commit of this node (pchain.md 10.1). None of them needs the database."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

from primitives.product import NAME, VERSION

PRODUCT: Final = f"{NAME.lower()}/{VERSION}"
"""The name that operators and monitoring see. Peers see another one: that of the protocol they expect."""

RPC_PROTOCOL: Final = 45
"""Version of the protocol between a node and virtual machines that run as separate programs.

Unspecified: this node has no such virtual machines. The number is that of the reference's release whose peer
protocol this node speaks, because tools that compare it choose their plugins by it.
"""


def _native_version() -> str:
    """Return the native engine's version; the engine is a separate package in a checkout, else part of this one."""
    return str(import_module("cchain_native").__version__)


_ENGINES: Final[Mapping[str, Callable[[], str]]] = {
    "revm": _native_version,
    "ethereum-execution": partial(metadata.version, "ethereum-execution"),
}
"""Functions that return the version of an EVM engine, by the engine's name."""


def vm_versions(engine: str) -> Mapping[str, str]:
    """Return the version of each virtual machine by its name.

    For the P-Chain and the few X-Chain functions it is the product's version; for the C-Chain it is that of
    the EVM engine which this process runs.
    """
    own = f"v{VERSION}"
    return {"avm": own, "evm": f"v{_ENGINES[engine]()}", "platform": own}


UNKNOWN: Final = ""
"""The commit of an installation without a repository."""

_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF: Final = re.compile(r"refs/[\w./-]+")


def commit_of(project: Path) -> str:
    """Return the commit that is checked out in a directory, or `UNKNOWN` if it cannot be read."""
    try:
        return _head(_repository(project / ".git"))
    except (OSError, UnicodeDecodeError):
        return UNKNOWN


def _repository(entry: Path) -> Path:
    """Return the directory that contains HEAD; in a linked worktree `.git` is a file that names it."""
    if entry.is_dir():
        return entry
    return (entry.parent / _line(entry).removeprefix("gitdir: ")).resolve()


def _head(repository: Path) -> str:
    head = _line(repository / "HEAD")
    if not head.startswith("ref: "):
        return _checked(head)
    name = head.removeprefix("ref: ")
    if _REF.fullmatch(name) is None or ".." in name:
        return UNKNOWN
    shared = repository / "commondir"
    places = (
        [repository, (repository / _line(shared)).resolve()] if shared.is_file() else [repository]
    )
    for place in places:
        if (place / name).is_file():
            return _checked(_line(place / name))
        commit = _packed(place / "packed-refs", name)
        if commit:
            return commit
    return UNKNOWN


def _packed(refs: Path, name: str) -> str:
    if not refs.is_file():
        return UNKNOWN
    for line in refs.read_text().splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _checked(commit)
    return UNKNOWN


def _line(file: Path) -> str:
    return file.read_text().strip()


def _checked(text: str) -> str:
    return text if _HASH.fullmatch(text) else UNKNOWN


COMMIT: Final = commit_of(Path(__file__).resolve().parents[1])
"""The commit of the code that this process has loaded; a later checkout does not change it."""

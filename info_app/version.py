"""Which product, version and commit this is: what info.getNodeVersion says that needs no database."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

from primitives.product import NAME, VERSION

PRODUCT: Final = f"{NAME.lower()}/{VERSION}"
"""As operators and monitors see it. Peers are told another name: that of the protocol they expect."""

RPC_PROTOCOL: Final = 45
"""Of the protocol between a node and virtual machines that run as programs of their own.

Unspecified: here none does. It is the number of the reference's release whose peer protocol is spoken,
since tools that compare it choose their plugins by it.
"""


def _native_version() -> str:
    """Return the native engine's version: in a checkout it is a package of its own, else a part of this one."""
    return str(import_module("cchain_native").__version__)


_ENGINES: Final[Mapping[str, Callable[[], str]]] = {
    "revm": _native_version,
    "ethereum-execution": partial(metadata.version, "ethereum-execution"),
}
"""What knows the version of an EVM engine."""


def vm_versions(engine: str) -> Mapping[str, str]:
    """Return the version of each virtual machine by its name.

    The P-Chain's is the product's own, as is the little that there is of the X-Chain; the C-Chain's
    is that of the EVM engine which this process runs.
    """
    own = f"v{VERSION}"
    return {"avm": own, "evm": f"v{_ENGINES[engine]()}", "platform": own}


UNKNOWN: Final = ""
"""What a copy without a repository answers."""

_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF: Final = re.compile(r"refs/[\w./-]+")


def commit_of(project: Path) -> str:
    """Return the commit that is checked out in a directory, `UNKNOWN` where none can be read."""
    try:
        return _head(_repository(project / ".git"))
    except (OSError, UnicodeDecodeError):
        return UNKNOWN


def _repository(entry: Path) -> Path:
    """Return where HEAD is; a linked worktree has a file that names the place."""
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
        found = _packed(place / "packed-refs", name)
        if found:
            return found
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
"""Of the code that this process has loaded: what is checked out later is not what it runs."""

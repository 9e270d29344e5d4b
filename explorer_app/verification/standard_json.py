"""Builds a compiler's input from a submission, and variants of it that may match better. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from explorer_app.verification.submission import Submission
from explorer_app.verification.versions import CompilerVersion

_SINCE_LAYOUT: Final = (0, 5, 13)
_SINCE_IMMUTABLES: Final = (0, 6, 5)
_ALWAYS: Final = (
    "abi", "metadata", "devdoc", "userdoc", "evm.methodIdentifiers",
    "evm.bytecode.object", "evm.bytecode.linkReferences",
    "evm.deployedBytecode.object", "evm.deployedBytecode.linkReferences",
)  # fmt: skip
MAX_EVM_VERSIONS: Final = 5
"""Limit of EVM versions that are tried if a single file was submitted without one."""


class Attempt(NamedTuple):
    """An input that is worth compiling."""

    input: Mapping[str, Any]
    what: str
    """How it differs from the submission; empty if it does not."""


def prepared(given: Mapping[str, Any], version: CompilerVersion, path: str, name: str) -> bytes:
    """Return the text for the compiler: the submitted input with our own output selection.

    The output selection is not part of the metadata, and a small one saves work.
    """
    wanted = list(_ALWAYS)
    if version.number >= _SINCE_LAYOUT:
        wanted.append("storageLayout")
    if version.number >= _SINCE_IMMUTABLES:
        wanted.append("evm.deployedBytecode.immutableReferences")
    selection = {path or "*": {name: wanted}}
    settings = {**given.get("settings", {}), "outputSelection": selection}
    return msgspec.json.encode({**given, "settings": settings})


def with_other_texts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with changed sources but the same code: the compiled codes differ only in hashes of metadata.

    Yul has no comments that a compiler would hash; its code has no metadata either.
    """
    sources = {
        path: {"content": source["content"] + " "} for path, source in given["sources"].items()
    }
    return {**given, "sources": sources}


def alternatives(submission: Submission) -> Iterator[Attempt]:
    """Yield inputs that may match exactly if the submitted one matches partially: other metadata, the same code.

    First without the addresses of libraries, which many tools link afterwards; then with other line endings.
    """
    given = submission.input
    if submission.libraries:
        settings = {key: value for key, value in given["settings"].items() if key != "libraries"}
        yield Attempt({**given, "settings": settings}, "without the addresses of libraries")
    contents = [source["content"] for source in given["sources"].values()]
    if any("\r\n" in content for content in contents):
        yield Attempt(_changed(given, _unix), "with LF at the ends of lines")
    elif any("\n" in content for content in contents):
        yield Attempt(_changed(given, _dos), "with CRLF at the ends of lines")
    if all(content.endswith("\n") for content in contents):
        yield Attempt(_changed(given, _open), "without the last end of line")
    else:
        yield Attempt(_changed(given, _closed), "with an end of line at the end")


def other_rules(submission: Submission) -> Iterator[Attempt]:
    """Yield inputs for other EVM versions, if a single file was submitted without one."""
    if not submission.is_single_file or submission.knows_evm_version:
        return
    given = submission.input
    for name in submission.version.evm_versions()[1 : MAX_EVM_VERSIONS + 1]:
        settings = {**given["settings"], "evmVersion": name}
        yield Attempt({**given, "settings": settings}, f"for the rules of {name}")


def _changed(given: Mapping[str, Any], change: Any) -> dict[str, Any]:
    sources = {
        path: {"content": change(source["content"])} for path, source in given["sources"].items()
    }
    return {**given, "sources": sources}


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _dos(text: str) -> str:
    return _unix(text).replace("\n", "\r\n")


def _open(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"

"""Builds a compiler's input from a submission, and variants of it that may match better. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.submission import Submission

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


def prepared(
    input_json: Mapping[str, Any], version: CompilerVersion, path: str, name: str
) -> bytes:
    """Return the text for the compiler: the submitted input with our own output selection.

    The output selection is not part of the metadata, and a small one saves work.
    """
    outputs = list(_ALWAYS)
    if version.number >= _SINCE_LAYOUT:
        outputs.append("storageLayout")
    if version.number >= _SINCE_IMMUTABLES:
        outputs.append("evm.deployedBytecode.immutableReferences")
    selection = {path or "*": {name: outputs}}
    settings = {**input_json.get("settings", {}), "outputSelection": selection}
    return msgspec.json.encode({**input_json, "settings": settings})


def with_other_texts(input_json: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with changed sources but the same code: the compiled codes differ only in hashes of metadata.

    Yul has no comments that a compiler would hash; its code has no metadata either.
    """
    sources = {
        path: {"content": source["content"] + " "} for path, source in input_json["sources"].items()
    }
    return {**input_json, "sources": sources}


def alternatives(submission: Submission) -> Iterator[Attempt]:
    """Yield inputs that may match exactly if the submitted one matches partially: other metadata, the same code.

    First without the addresses of libraries, which many tools link afterwards; then with other line endings.
    """
    input_json = submission.input
    if submission.libraries:
        settings = {
            key: value for key, value in input_json["settings"].items() if key != "libraries"
        }
        yield Attempt({**input_json, "settings": settings}, "without the addresses of libraries")
    contents = [source["content"] for source in input_json["sources"].values()]
    if any("\r\n" in content for content in contents):
        yield Attempt(_changed(input_json, _unix), "with LF at the ends of lines")
    elif any("\n" in content for content in contents):
        yield Attempt(_changed(input_json, _dos), "with CRLF at the ends of lines")
    if all(content.endswith("\n") for content in contents):
        yield Attempt(_changed(input_json, _open), "without the last end of line")
    else:
        yield Attempt(_changed(input_json, _closed), "with an end of line at the end")


def other_rules(submission: Submission) -> Iterator[Attempt]:
    """Yield inputs for other EVM versions, if a single file was submitted without one."""
    if not submission.is_single_file or submission.knows_evm_version:
        return
    input_json = submission.input
    for name in submission.version.evm_versions()[1 : MAX_EVM_VERSIONS + 1]:
        settings = {**input_json["settings"], "evmVersion": name}
        yield Attempt({**input_json, "settings": settings}, f"for the rules of {name}")


def _changed(input_json: Mapping[str, Any], change: Any) -> dict[str, Any]:
    sources = {
        path: {"content": change(source["content"])}
        for path, source in input_json["sources"].items()
    }
    return {**input_json, "sources": sources}


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _dos(text: str) -> str:
    return _unix(text).replace("\n", "\r\n")


def _open(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"

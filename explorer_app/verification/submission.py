"""What somebody submits for an address: sources, compiler, settings, and which contract of them it is. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer_app.verification.errors import (
    MalformedArguments,
    NoContractName,
    NoJson,
    NoSources,
    NotAnObject,
    SourceElsewhere,
    TooLarge,
    UnknownCodeFormat,
    UnsupportedLanguage,
)
from explorer_app.verification.versions import Version
from primitives.evm import Address

STANDARD_JSON: Final = "solidity-standard-json-input"
SINGLE_FILE: Final = "solidity-single-file"
LANGUAGES: Final = ("Solidity", "Yul")
MOST_NAME: Final = 1024
"""Characters of a contract's name with its path."""
MOST_ARGUMENTS: Final = 256 * 1024
"""Digits of constructor arguments."""
_LIBRARIES: Final = 10
_DEFAULT: Final = ("", "default")


@dataclass(frozen=True)
class Submission:
    """Sources that are said to be a contract's."""

    address: Address
    input: Mapping[str, Any]
    """The compiler's standard JSON input."""
    version: Version
    path: str
    """Of the file with the contract; empty where only the name is known."""
    name: str
    arguments: bytes | None = None
    """Of the constructor; None: nobody says."""
    is_single_file: bool = False
    """It was one file, and what the form does not say of the settings may have been different."""
    knows_evm_version: bool = True
    license: str = ""
    """Etherscan's number of a licence."""

    @property
    def full_name(self) -> str:
        """`path:Name`."""
        return f"{self.path}:{self.name}" if self.path else self.name

    @property
    def libraries(self) -> Mapping[str, Any]:
        """Addresses of libraries that the settings name."""
        found = self.input.get("settings", {}).get("libraries") or {}
        return found if isinstance(found, Mapping) else {}


def read_json(text: str | bytes) -> Any:
    """Read JSON that a stranger sends.

    Raises:
        NoJson: It is none, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoJson from error


def from_form(address: Address, form: Mapping[str, str], *, most: int) -> Submission:
    """Read Etherscan's form of a submission (explorer.md 2, 3 and 8).

    Unspecified: `sourceCode` in double braces, as answers have it, is read too. Unnamed optimisation is off, with
    200 runs.

    Args:
        address: The contract's.
        form: What was sent.
        most: Bytes that the source may have.

    Raises:
        BadSubmission: It cannot be read; which class says why.
    """
    source = form.get("sourceCode", "")
    if len(source) > most:
        raise TooLarge(most)
    if not source.strip():
        raise NoSources
    code_format = form.get("codeformat", SINGLE_FILE).strip().lower()
    if code_format == "vyper-json" or form.get("compilerversion", "").startswith("vyper"):
        raise UnsupportedLanguage("Vyper")
    if code_format not in {STANDARD_JSON, SINGLE_FILE}:
        raise UnknownCodeFormat
    version = Version.parse(form.get("compilerversion", "").strip())
    path, name = split_name(form.get("contractname", ""))
    arguments = read_arguments(form)
    rest = (version, path, name, arguments)
    if code_format == STANDARD_JSON:
        text = source.strip()
        if text.startswith("{{") and text.endswith("}}"):
            text = text[1:-1]
        return Submission(
            address, checked_input(read_json(text)), *rest, license=form.get("licenseType", "")[:8]
        )
    path = path or f"{name}.sol"
    evm_version = form.get("evmversion", form.get("evmVersion", "")).strip().lower()
    return Submission(
        address,
        _single_file(path, source, form, evm_version),
        version,
        path,
        name,
        arguments,
        is_single_file=True,
        knows_evm_version=evm_version not in _DEFAULT,
        license=form.get("licenseType", "")[:8],
    )


def from_sourcify(address: Address, body: Any, *, most: int) -> Submission:
    """Read Sourcify's form of a submission (explorer.md 5). Raises as `from_form`."""
    if not isinstance(body, Mapping):
        raise NotAnObject("it is no object")
    given = body.get("stdJsonInput")
    if isinstance(given, str):
        if len(given) > most:
            raise TooLarge(most)
        given = read_json(given)
    version = Version.parse(str(body.get("compilerVersion", "")))
    path, name = split_name(str(body.get("contractIdentifier", "")))
    return Submission(address, checked_input(given), version, path, name)


def from_metadata(address: Address, body: Any) -> Submission:
    """Read a contract's metadata with its sources, as Sourcify takes them.

    The metadata's settings are a compiler's, but for the compilation target, which says the contract.

    Raises:
        BadSubmission: It cannot be read; which class says why.
    """
    if not isinstance(body, Mapping) or not isinstance(body.get("metadata"), Mapping):
        raise NotAnObject("there are no metadata")
    metadata, sources = body["metadata"], body.get("sources")
    settings = metadata.get("settings")
    if not isinstance(settings, Mapping) or not isinstance(sources, Mapping):
        raise NotAnObject("the metadata have no settings, or there are no sources")
    target = settings.get("compilationTarget")
    compiler = metadata.get("compiler")
    if not isinstance(target, Mapping) or len(target) != 1 or not isinstance(compiler, Mapping):
        raise NoContractName
    ((path, name),) = target.items()
    wanted = metadata.get("sources")
    named = wanted if isinstance(wanted, Mapping) else sources
    given = {
        "language": metadata.get("language", "Solidity"),
        "sources": {str(one): {"content": sources.get(one)} for one in named},
        "settings": {key: value for key, value in settings.items() if key != "compilationTarget"},
    }
    libraries = given["settings"].get("libraries")
    if isinstance(libraries, Mapping):
        given["settings"]["libraries"] = _nested(libraries)
    version = Version.parse(str(compiler.get("version", "")))
    return Submission(address, checked_input(given), version, str(path), str(name))


def checked_input(given: Any) -> Mapping[str, Any]:
    """Return a standard JSON input whose shape is right: what is in its settings is the compiler's affair.

    Raises:
        NotAnObject: It, or a part of it, is of another shape.
        UnsupportedLanguage: It is in a language that is not compiled here.
        NoSources: It has no source.
        SourceElsewhere: A source is not in it.
    """
    if not isinstance(given, Mapping):
        raise NotAnObject("it is no object")
    language = given.get("language", "Solidity")
    if language not in LANGUAGES:
        raise UnsupportedLanguage(str(language))
    sources = given.get("sources")
    if not isinstance(sources, Mapping) or not sources:
        raise NoSources
    for path, source in sources.items():
        if not isinstance(source, Mapping):
            raise NotAnObject("a source is no object")
        if not isinstance(source.get("content"), str):
            raise SourceElsewhere(path)
    if not isinstance(given.get("settings", {}), Mapping):
        raise NotAnObject("the settings are no object")
    return {
        "language": language,
        "sources": {path: {"content": one["content"]} for path, one in sources.items()},
        "settings": dict(given.get("settings", {})),
    }


def split_name(text: str) -> tuple[str, str]:
    """Return path and name of `path:Name`; the path is empty where there is none.

    Raises:
        NoContractName: There is no name, or it is too long to be one.
    """
    path, _, name = text.strip().rpartition(":")
    if not name or len(text) > MOST_NAME:
        raise NoContractName
    return path, name


def read_arguments(form: Mapping[str, str]) -> bytes | None:
    """Return constructor arguments of a form, in either spelling; None where there are none.

    Raises:
        MalformedArguments: They are no hex.
        TooLarge: They are longer than init code can be.
    """
    for name in ("constructorArguements", "constructorArguments"):
        digits = form.get(name, "").strip().removeprefix("0x")
        if len(digits) > MOST_ARGUMENTS:
            raise TooLarge(MOST_ARGUMENTS // 2)
        if digits:
            try:
                return bytes.fromhex(digits)
            except ValueError as error:
                raise MalformedArguments from error
    return None


def _single_file(
    path: str, source: str, form: Mapping[str, str], evm_version: str
) -> dict[str, Any]:
    runs = form.get("runs", "").strip()
    settings: dict[str, Any] = {
        "optimizer": {
            "enabled": form.get("optimizationUsed", "0").strip() == "1",
            "runs": int(runs) if runs.isdecimal() and len(runs) < 12 else 200,
        }
    }
    if evm_version not in _DEFAULT:
        settings["evmVersion"] = evm_version
    if form.get("viaIR", "").strip().lower() == "true":
        settings["viaIR"] = True
    libraries = {}
    for number in range(1, _LIBRARIES + 1):
        name = form.get(f"libraryname{number}", "").strip()
        if name:
            libraries[name] = form.get(f"libraryaddress{number}", "").strip()
    if libraries:
        settings["libraries"] = {path: libraries}
    return {"language": "Solidity", "sources": {path: {"content": source}}, "settings": settings}


def _nested(libraries: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return metadata's `file:Name` → address as settings have it."""
    found: dict[str, dict[str, Any]] = {}
    for full_name, address in libraries.items():
        path, _, name = full_name.rpartition(":")
        found.setdefault(path, {})[name] = address
    return found

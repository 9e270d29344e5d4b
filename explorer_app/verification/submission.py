"""Submissions for an address: sources, compiler, settings, and the name of the contract among them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.errors import BadSubmission, SubmissionReason, SubmissionTooLarge
from primitives.evm import Address
from primitives.json_limits import has_more_strings, may_hold_more

STANDARD_JSON: Final = "solidity-standard-json-input"
SINGLE_FILE: Final = "solidity-single-file"
LANGUAGES: Final = ("Solidity", "Yul")
MAX_NAME: Final = 1024
"""Limit of characters of a contract's name with its path."""
MAX_ARGUMENTS: Final = 256 * 1024
"""Limit of digits of constructor arguments."""
MAX_SOURCES: Final = 10_000
MAX_STRINGS: Final = 4 * MAX_SOURCES
"""Limit of strings in a submission, including names of members: path, `content` and text per source, and others."""
MAX_SETTINGS: Final = 512 * 1024
"""Limit of bytes of a compiler's settings: there may be many remappings and libraries."""
MAX_VALUES: Final = 30_000
"""Limit of values in settings, or in metadata with them; commas and brackets in strings are counted too."""
_LIBRARIES: Final = 10
_DEFAULT: Final = ("", "default")


@dataclass(frozen=True)
class Submission:
    """Sources that are claimed to be a contract's."""

    address: Address
    input: Mapping[str, Any]
    """The compiler's standard JSON input."""
    version: CompilerVersion
    path: str
    """The path of the contract's file; empty if only the name is known."""
    name: str
    arguments: bytes | None = None
    """Constructor arguments; None if the submission has none."""
    is_single_file: bool = False
    """Whether it was submitted as a single file; settings that the form lacks may then have been different."""
    knows_evm_version: bool = True
    license: str = ""
    """Etherscan's number of a license."""

    @property
    def full_name(self) -> str:
        """`path:Name`."""
        return f"{self.path}:{self.name}" if self.path else self.name

    @property
    def libraries(self) -> Mapping[str, Any]:
        """The addresses of libraries in the settings."""
        libraries = self.input.get("settings", {}).get("libraries") or {}
        return libraries if isinstance(libraries, Mapping) else {}


class _SubmittedSource(msgspec.Struct):
    content: str | None = None


class _SubmittedInput(msgspec.Struct):
    language: str = "Solidity"
    sources: dict[str, _SubmittedSource] = {}
    settings: msgspec.Raw = msgspec.Raw(b"{}")


class _SourcifyRequest(msgspec.Struct, rename="camel"):
    """Sourcify's request."""

    std_json_input: msgspec.Raw = msgspec.Raw(b"null")
    compiler_version: str = ""
    contract_identifier: str = ""
    creation_transaction_hash: str = ""


def read_json(text: str | bytes, type_: Any = Any) -> Any:
    """Parse untrusted JSON as a type; members that the type lacks use no memory.

    Raises:
        BadSubmission: The text has more strings than any submission; it is not parsed; the text is
            not JSON, or is nested too deeply; or the JSON has another form.
    """
    if has_more_strings(text, MAX_STRINGS):
        raise BadSubmission(SubmissionReason.TOO_MANY_STRINGS, maximum=MAX_STRINGS)
    try:
        return msgspec.json.decode(text, type=type_)
    except msgspec.ValidationError as error:
        raise BadSubmission(SubmissionReason.NOT_AN_OBJECT, cause=str(error)) from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadSubmission(SubmissionReason.NO_JSON) from error


def from_form(address: Address, form: Mapping[str, str], *, maximum: int) -> Submission:
    """Parse Etherscan's form of a submission (explorer.md 2, 3 and 8).

    Unspecified: `sourceCode` in double braces, as in Etherscan's answers, is accepted too. The default is no
    optimization, with 200 runs.

    Args:
        address: The contract's address.
        form: The form's fields.
        maximum: Size limit of the source in bytes.

    Raises:
        BadSubmission: The submission cannot be parsed; the class says why.
    """
    source = form.get("sourceCode", "")
    if len(source) > maximum:
        raise SubmissionTooLarge(SubmissionReason.SUBMISSION_TOO_LARGE, maximum=maximum)
    if not source.strip():
        raise BadSubmission(SubmissionReason.NO_SOURCES)
    code_format = form.get("codeformat", SINGLE_FILE).strip().lower()
    if code_format == "vyper-json" or form.get("compilerversion", "").startswith("vyper"):
        raise BadSubmission(SubmissionReason.UNSUPPORTED_LANGUAGE, language=("Vyper")[:40])
    if code_format not in {STANDARD_JSON, SINGLE_FILE}:
        raise BadSubmission(SubmissionReason.UNKNOWN_CODE_FORMAT)
    version = CompilerVersion.parse(form.get("compilerversion", "").strip())
    path, name = split_name(form.get("contractname", ""))
    arguments = read_arguments(form)
    common = (version, path, name, arguments)
    if code_format == STANDARD_JSON:
        text = source.strip()
        if text.startswith("{{") and text.endswith("}}"):
            text = text[1:-1]
        return Submission(address, read_input(text), *common, license=_license(form))
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
        license=_license(form),
    )


def from_sourcify(address: Address, body: bytes, *, maximum: int) -> Submission:
    """Parse Sourcify's form of a submission (explorer.md 5). Raises as `from_form`."""
    if len(body) > maximum:
        raise SubmissionTooLarge(SubmissionReason.SUBMISSION_TOO_LARGE, maximum=maximum)
    request: _SourcifyRequest = read_json(body, _SourcifyRequest)
    input_text = bytes(request.std_json_input)
    if input_text.startswith(b'"'):
        input_text = read_json(input_text, str).encode()
    if input_text == b"null":
        raise BadSubmission(SubmissionReason.NO_SOURCES)
    version = CompilerVersion.parse(request.compiler_version)
    path, name = split_name(request.contract_identifier)
    return Submission(address, read_input(input_text), version, path, name)


class _Compiler(msgspec.Struct, frozen=True):
    version: str = ""


class _Metadata(msgspec.Struct):
    compiler: _Compiler = _Compiler()
    language: str = "Solidity"
    settings: dict[str, Any] = {}
    sources: dict[str, msgspec.Raw] = {}


class _WithMetadata(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    sources: dict[str, str] = {}


def from_metadata(address: Address, body: bytes, *, maximum: int) -> Submission:
    """Parse a contract's metadata with its sources, in Sourcify's form.

    The metadata's settings are a compiler's, except for the compilation target, which names the contract.

    Raises:
        BadSubmission: The submission cannot be parsed; the class says why.
    """
    if len(body) > maximum:
        raise SubmissionTooLarge(SubmissionReason.SUBMISSION_TOO_LARGE, maximum=maximum)
    request: _WithMetadata = read_json(body, _WithMetadata)
    metadata: _Metadata = _read_bounded(request.metadata, _Metadata, "the metadata")
    target = metadata.settings.get("compilationTarget")
    if not isinstance(target, dict) or len(target) != 1:
        raise BadSubmission(SubmissionReason.NO_CONTRACT_NAME)
    ((path, name),) = target.items()
    settings = {
        key: value for key, value in metadata.settings.items() if key != "compilationTarget"
    }
    if isinstance(settings.get("libraries"), dict):
        settings["libraries"] = _nested(settings["libraries"])
    input_json = {
        "language": metadata.language,
        "sources": {path: {"content": request.sources.get(path)} for path in metadata.sources},
        "settings": settings,
    }
    version = CompilerVersion.parse(metadata.compiler.version)
    path, name = split_name(f"{path}:{name}")
    return Submission(address, read_input(msgspec.json.encode(input_json)), version, path, name)


def read_input(text: str | bytes) -> Mapping[str, Any]:
    """Parse a standard JSON input: its language, sources and settings. The settings are left to the compiler.

    Raises:
        BadSubmission: The text is not JSON; the input has more strings than any submission; the
            input or a part of it has another form, or has too many sources or settings; no compiler
            of this node supports the language; the input has no source; or a source has no content.
    """
    submitted: _SubmittedInput = read_json(text, _SubmittedInput)
    if submitted.language not in LANGUAGES:
        raise BadSubmission(SubmissionReason.UNSUPPORTED_LANGUAGE, language=submitted.language[:40])
    if not submitted.sources:
        raise BadSubmission(SubmissionReason.NO_SOURCES)
    if len(submitted.sources) > MAX_SOURCES:
        raise BadSubmission(
            SubmissionReason.NOT_AN_OBJECT, cause=f"more than {MAX_SOURCES} sources"
        )
    sources = {}
    for path, source in submitted.sources.items():
        if source.content is None:
            raise BadSubmission(SubmissionReason.SOURCE_ELSEWHERE, path=path[:200])
        sources[path] = {"content": source.content}
    settings = _read_bounded(submitted.settings, dict[str, Any], "the settings")
    if not isinstance(settings.get("libraries", {}), dict):
        raise BadSubmission(SubmissionReason.NOT_AN_OBJECT, cause="the libraries are not an object")
    return {"language": submitted.language, "sources": sources, "settings": settings}


def _read_bounded(raw: msgspec.Raw, type_: Any, what: str) -> Any:
    """Parse a part that is kept completely. Raises as `read_json`."""
    text = bytes(raw)
    if len(text) > MAX_SETTINGS or may_hold_more(text, MAX_VALUES):
        raise BadSubmission(
            SubmissionReason.NOT_AN_OBJECT,
            cause=f"{what} have more than {MAX_SETTINGS} bytes, or {MAX_VALUES} values",
        )
    return read_json(text, type_)


def split_name(text: str) -> tuple[str, str]:
    """Return path and name of `path:Name`; the path may be empty.

    Raises:
        BadSubmission: The name is missing, too long, or has unprintable characters.
    """
    path, _, name = text.strip().rpartition(":")
    if not name or len(text) > MAX_NAME or not text.isprintable():
        raise BadSubmission(SubmissionReason.NO_CONTRACT_NAME)
    return path, name


def read_arguments(form: Mapping[str, str]) -> bytes | None:
    """Return constructor arguments of a form, in either spelling; None if there are none.

    Raises:
        BadSubmission: The arguments are not hexadecimal.
        SubmissionTooLarge: The arguments are longer than init code can be.
    """
    for name in ("constructorArguements", "constructorArguments"):
        digits = form.get(name, "").strip().removeprefix("0x")
        if len(digits) > MAX_ARGUMENTS:
            raise SubmissionTooLarge(
                SubmissionReason.SUBMISSION_TOO_LARGE, maximum=MAX_ARGUMENTS // 2
            )
        if digits:
            try:
                return bytes.fromhex(digits)
            except ValueError as error:
                raise BadSubmission(SubmissionReason.MALFORMED_ARGUMENTS) from error
    return None


def _license(form: Mapping[str, str]) -> str:
    text = form.get("licenseType", "").strip()
    return text if text.isdecimal() and text.isascii() and len(text) <= 2 else ""


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
    """Convert the metadata's map of `file:Name` to address into the form of settings."""
    nested: dict[str, dict[str, Any]] = {}
    for full_name, address in libraries.items():
        path, _, name = full_name.rpartition(":")
        nested.setdefault(path, {})[name] = address
    return nested

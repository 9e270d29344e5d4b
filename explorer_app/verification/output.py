"""A compiler's output for one contract, as values. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from explorer_app.verification.errors import CompilerErrors, VerificationFailed, VerificationReason

_LIBRARY: Final = re.compile(r"__.{36}__", re.DOTALL)
_MAX_ERRORS: Final = 20
_MAX_ERROR: Final = 1000


class CodeRange(NamedTuple):
    """A range of bytes that is filled in after compilation."""

    start: int
    length: int


@dataclass(frozen=True)
class CompiledCode:
    """A compiled code, with zeros at ranges that are filled in later."""

    code: bytes
    links: Mapping[str, Sequence[CodeRange]] = field(default_factory=dict)
    """Places of libraries' addresses, by `path:Name`."""
    immutables: Mapping[str, Sequence[CodeRange]] = field(default_factory=dict)
    """Places of immutables, by the ID of their declaration."""


@dataclass(frozen=True)
class CompilationResult:
    """One contract of a compiler's output."""

    path: str
    name: str
    creation: CompiledCode
    runtime: CompiledCode
    abi: Sequence[Mapping[str, Any]]
    metadata: str
    """As JSON, exactly as it was hashed."""
    others: Mapping[str, Any]
    """`devdoc`, `userdoc`, `storageLayout` and `methodIdentifiers`, if the compiler generates them."""


def read_output(output: Any, path: str, name: str) -> CompilationResult:
    """Return a contract of a compiler's standard JSON output.

    Args:
        output: The output, as decoded JSON.
        path: The contract's file; empty for any file that has a contract with the name.
        name: The contract's name.

    Raises:
        CompilerErrors: The compiler reported errors.
        VerificationFailed: The output has another form; the contract is missing; several files have
            a contract with the name; or the contract has no code.
    """
    if not isinstance(output, Mapping):
        raise VerificationFailed(VerificationReason.NO_COMPILER_OUTPUT)
    errors = [
        str(error.get("formattedMessage") or error.get("message"))[:_MAX_ERROR]
        for error in output.get("errors", ())
        if error.get("severity") == "error"
    ]
    if errors:
        raise CompilerErrors(errors[:_MAX_ERRORS])
    contracts = output.get("contracts", {})
    files = [file for file in ([path] if path else contracts) if name in contracts.get(file, {})]
    if not files:
        raise VerificationFailed(
            VerificationReason.NO_SUCH_CONTRACT, name=(f"{path}:{name}" if path else name)[:200]
        )
    if len(files) > 1:
        raise VerificationFailed(VerificationReason.AMBIGUOUS_CONTRACT, name=name[:200])
    try:
        return _compiled(files[0], name, contracts[files[0]][name])
    except (KeyError, TypeError, ValueError) as error:
        raise VerificationFailed(VerificationReason.NO_COMPILER_OUTPUT) from error


def _compiled(path: str, name: str, contract: Mapping[str, Any]) -> CompilationResult:
    evm = contract["evm"]
    creation, runtime = _code(evm["bytecode"]), _code(evm["deployedBytecode"])
    if not creation.code:
        raise VerificationFailed(VerificationReason.NOTHING_COMPILED)
    others = {
        key: contract[key] for key in ("devdoc", "userdoc", "storageLayout") if contract.get(key)
    }
    others["methodIdentifiers"] = evm.get("methodIdentifiers", {})
    return CompilationResult(
        path, name, creation, runtime, contract.get("abi", []), contract.get("metadata", ""), others
    )


def _code(bytecode: Mapping[str, Any]) -> CompiledCode:
    digits = _LIBRARY.sub("0" * 40, bytecode["object"])
    links = {
        f"{path}:{name}": _ranges(ranges)
        for path, libraries in bytecode.get("linkReferences", {}).items()
        for name, ranges in libraries.items()
    }
    immutables = {
        key: _ranges(ranges) for key, ranges in bytecode.get("immutableReferences", {}).items()
    }
    return CompiledCode(bytes.fromhex(digits), links, immutables)


def _ranges(ranges: Sequence[Mapping[str, int]]) -> tuple[CodeRange, ...]:
    return tuple(CodeRange(range_["start"], range_["length"]) for range_ in ranges)

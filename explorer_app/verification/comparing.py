"""Compares compiled code with the code at an address (explorer.md 6; functions cite its steps). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from cchain_app.transaction_log.errors import Undecodable
from explorer_app.verification.errors import NoMatch, OtherArguments, VerificationReason
from explorer_app.verification.metadata import hashes_in, section_of
from explorer_app.verification.output import CodeRange, CompilationResult, CompiledCode

if TYPE_CHECKING:
    from eth_typing import ABIConstructor

MAX_BYTES: Final = 128 * 1024
"""Limit of bytes of arguments: more than any creation code may have (EIP-3860)."""


def are_arguments(abi: Sequence[Mapping[str, Any]], data: bytes) -> bool:
    """Return whether bytes are exactly an encoding of a contract's constructor arguments.

    Args:
        abi: The contract's ABI.
        data: The bytes after its creation code.
    """
    types = constructor_types(abi)
    if not types or not data:
        return not types and not data
    # Imported here, because the import takes a fifth of a second.
    from cchain_app.transaction_log import bounded_abi

    try:
        return bounded_abi.is_canonical(types, data, most=MAX_BYTES)
    except Undecodable:
        return False


def constructor_types(abi: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the types of a contract's constructor arguments; empty if it has no constructor."""
    for entry in abi:
        if entry.get("type") == "constructor":
            # Imported here for the same reason.
            from eth_utils.abi import get_abi_input_types

            return list(get_abi_input_types(cast("ABIConstructor", entry)))
    return []


_PUSH20: Final = 0x73
_PROTECTION: Final = bytes([_PUSH20]) + bytes(20)
"""The start of a library's compiled code; the deployed code has the library's own address in range_ of the zeros."""
_INVALID: Final = 0xFE
"""The instruction between code and metadata."""


class Match(StrEnum):
    """The quality of a match, in Sourcify's terms."""

    EXACT = "exact_match"
    """The sources are identical: the code contains their hash."""
    PARTIAL = "match"
    """The code is equivalent; comments, file names or variable names may differ."""

    @property
    def rank(self) -> int:
        """A number that is higher for a better match."""
        return 2 if self is Match.EXACT else 1


class OnChain(NamedTuple):
    """The code of a contract on the chain."""

    runtime: bytes
    creation: bytes | None
    """Init code with constructor arguments; None if unknown."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. At least one of both codes matches."""

    runtime: Match | None
    creation: Match | None
    arguments: bytes | None = None
    """Constructor arguments, if the creation code matches."""
    libraries: Mapping[str, bytes] = field(default_factory=dict)
    """Addresses that were filled in, by `path:Name`."""
    immutables: Mapping[str, bytes] = field(default_factory=dict)
    """Values that were filled in, by the ID of their declaration."""

    @property
    def rank(self) -> tuple[int, int]:
        """The overall quality: the better match of the two first."""
        ranks = sorted(
            0 if match is None else match.rank for match in (self.runtime, self.creation)
        )
        return ranks[1], ranks[0]

    @property
    def is_exact(self) -> bool:
        """Whether one of both codes matches exactly."""
        return Match.EXACT in {self.runtime, self.creation}


class _FilledRange(NamedTuple):
    code: bytes
    libraries: Mapping[str, bytes]
    immutables: Mapping[str, bytes]


class _Differs(Exception):
    """The occurrences of a library or immutable have different values."""


def compare(
    compiled: CompilationResult,
    chain: OnChain,
    *,
    submitted_arguments: bytes | None = None,
    twin: CompilationResult | None = None,
) -> Comparison:
    """Compare a compiled contract with the code on the chain.

    Args:
        compiled: The compiled contract.
        chain: The code at the address.
        submitted_arguments: Submitted constructor arguments; None to take those on the chain.
        twin: The contract compiled from sources with an additional blank: the codes differ exactly at hashes of
            metadata. Without it only the hash at the end of the code may differ from the chain's.

    Raises:
        OtherArguments: The code matches, but the given arguments do not.
        NoMatch: The metadata match, but the code does not; nothing matches, and the code has
            another length; or nothing matches.
    """
    runtime, filled = _runtime(compiled, chain.runtime, twin)
    creation, arguments = None, None
    linked = {} if filled is None else filled.libraries
    if chain.creation is not None:
        creation_parts = _creation(compiled, chain.creation, twin)
        if creation_parts is not None:
            creation, arguments, linked = creation_parts
    if runtime is None and creation is None:
        raise _reason(compiled, chain)
    if (
        submitted_arguments is not None
        and arguments is not None
        and submitted_arguments != arguments
    ):
        raise OtherArguments(VerificationReason.OTHER_ARGUMENTS)
    immutables = {} if filled is None or runtime is None else filled.immutables
    return Comparison(runtime, creation, arguments, linked, immutables)


def may_need_twin(compiled: CompilationResult) -> bool:
    """Return whether the code contains hashes that only a second compilation can distinguish from data."""
    return any(len(hashes_in(part.code)) > 1 for part in (compiled.runtime, compiled.creation))


def _runtime(
    compiled: CompilationResult, theirs: bytes, twin: CompilationResult | None
) -> tuple[Match | None, _FilledRange | None]:
    try:
        filled = _fill(compiled.runtime, theirs)
    except _Differs:
        return None, None
    ours = filled.code
    if ours == theirs:
        return _how_exact(ours), filled
    ranges = _hash_ranges(compiled.runtime, None if twin is None else twin.runtime)
    if _with_their_hashes(ours, theirs, ranges) == theirs:
        return Match.PARTIAL, filled
    inner = [range_ for range_ in ranges if range_.start + range_.length < len(ours) - _tail(ours)]
    mine, other = _without_tail(ours), _without_tail(theirs)
    if mine != ours and _with_their_hashes(mine, other, inner) == other:
        return Match.PARTIAL, filled
    return None, filled


def _creation(
    compiled: CompilationResult, theirs: bytes, twin: CompilationResult | None
) -> tuple[Match, bytes, Mapping[str, bytes]] | None:
    """Return match, constructor arguments and libraries of the creation code; None if it does not match."""
    try:
        filled = _fill(compiled.creation, theirs)
    except _Differs:
        return None
    ours = filled.code
    arguments = theirs[len(ours) :]
    if theirs.startswith(ours):
        match = _how_exact(ours)
    else:
        ranges = _hash_ranges(compiled.creation, None if twin is None else twin.creation)
        if _with_their_hashes(ours, theirs, ranges) != theirs[: len(ours)]:
            return None
        match = Match.PARTIAL
    if not are_arguments(compiled.abi, arguments):
        return None
    return match, arguments, filled.libraries


def _how_exact(ours: bytes) -> Match:
    section = section_of(ours)
    return Match.EXACT if section is not None and section.hash else Match.PARTIAL


def _fill(code: CompiledCode, theirs: bytes) -> _FilledRange:
    """Fill in values that are only known after compilation: steps 1 to 3.

    Raises:
        _Differs: A library or immutable has several values.
    """
    filled = bytearray(code.code)
    if filled.startswith(_PROTECTION) and theirs[:1] == _PROTECTION[:1]:
        filled[1:21] = theirs[1:21]
    immutables = {
        key: _fill_ranges(filled, theirs, ranges) for key, ranges in code.immutables.items()
    }
    libraries = {name: _fill_ranges(filled, theirs, ranges) for name, ranges in code.links.items()}
    return _FilledRange(bytes(filled), libraries, immutables)


def _fill_ranges(filled: bytearray, theirs: bytes, ranges: Sequence[CodeRange]) -> bytes:
    values = {theirs[start : start + length] for start, length in ranges}
    if len(values) != 1:
        raise _Differs
    (value,) = values
    for start, length in ranges:
        if len(value) != length:
            raise _Differs
        filled[start : start + length] = value
    return value


def _hash_ranges(code: CompiledCode, twin: CompiledCode | None) -> list[CodeRange]:
    """Return the ranges of metadata hashes: at the end, and inside the code if the twin differs there."""
    ours = code.code
    differences = []
    end = len(ours) - _tail(ours)
    for start, stop in hashes_in(ours):
        at_end = start >= end
        shown = (
            twin is not None
            and len(twin.code) == len(ours)
            and twin.code[start:stop] != ours[start:stop]
        )
        if at_end or shown:
            differences.append(CodeRange(start, stop - start))
    return differences


def _with_their_hashes(ours: bytes, theirs: bytes, ranges: Sequence[CodeRange]) -> bytes:
    """Return a code with the chain's bytes at some ranges: step 5."""
    changed = bytearray(ours)
    for start, length in ranges:
        part = theirs[start : start + length]
        if len(part) == length:
            changed[start : start + length] = part
    return bytes(changed)


def _tail(code: bytes) -> int:
    section = section_of(code)
    return 0 if section is None else section.length


def _without_tail(code: bytes) -> bytes:
    """Return a code without its metadata and the separator before them: step 6."""
    length = _tail(code)
    if not length:
        return code
    before = code[:-length]
    return before[:-1] if before[-1:] == bytes([_INVALID]) else before


def _reason(compiled: CompilationResult, chain: OnChain) -> NoMatch:
    ours, theirs = section_of(compiled.runtime.code), section_of(chain.runtime)
    if ours is not None and theirs is not None and ours.hash and ours.hash == theirs.hash:
        return NoMatch(VerificationReason.FILES_MISSING)
    if len(compiled.runtime.code) != len(chain.runtime):
        return NoMatch(
            VerificationReason.OTHER_LENGTH,
            ours=len(compiled.runtime.code),
            theirs=len(chain.runtime),
        )
    return NoMatch(VerificationReason.NO_MATCH)


def placed(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    """Yield the filled-in values as JSON, for storage."""
    yield "libraries", {key: "0x" + library.hex() for key, library in comparison.libraries.items()}
    yield (
        "immutables",
        {key: "0x" + immutable.hex() for key, immutable in comparison.immutables.items()},
    )

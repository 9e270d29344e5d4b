"""Reads a contract's ABI, in the JSON that compilers write, as declarations. Pure.

https://docs.soliditylang.org/en/latest/abi-spec.html#json

ABIs are untrusted input, so sizes are limited and types must be those of the specification. Libraries have further
types, which cannot be encoded outside of them: `Set.Data storage`, `mapping(address => bool) storage`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from cchain_app.transaction_log.declarations import Declaration, Parameter
from explorer_app.names.book import Abi

MAX_ENTRIES: Final = 4096
"""Limit of entries in an ABI: a contract's code has 24 KiB, and each function has a selector in it."""
_MAX_PARAMETERS: Final = 256
_DEEPEST: Final = 16
"""Nesting limit of arrays and tuples, because a page's templates recurse for each level."""
_LONGEST_TYPE: Final = 100
"""Limit of characters in a type; the type of a tuple is `tuple` with the brackets of arrays."""
_LONGEST_NAME: Final = 200
"""Limit of characters in a name. A page repeats a parameter's name next to each of its values."""
_TYPES: Final = frozenset({"function", "event", "error", "constructor", "fallback", "receive"})
_TYPE: Final = re.compile(
    r"(?:u?int(?P<bits>\d{1,3})|bytes(?P<size>\d{1,2})?|address|bool|string|function|(?P<tuple>tuple)"
    r"|u?fixed\d{1,3}x\d{1,2})(?P<arrays>(?:\[\d*\])*)",
    re.ASCII,
)
_OF_LIBRARY: Final = re.compile(
    r"(?!(?:u?int|u?fixed|bytes?|tuple)[\dx]*(?:\[|$))[A-Za-z_$][\w$.]*(?:\[\d*\])*"
    r"|[A-Za-z_$][\w$.]*(?:\[\d*\])* storage|mapping\([\w$.\[\] =>()]+\) storage",
    re.ASCII,
)
_MAX_BITS: Final = 256
_WORD: Final = 32


class MalformedAbi(Exception):
    """The JSON is not an ABI, or the ABI is larger than any contract's can be."""


def read_abi(abi: Any) -> Abi:
    """Read an ABI: its functions, events and errors.

    Args:
        abi: The decoded JSON, a list of objects.

    Raises:
        MalformedAbi: The value is not an ABI.
    """
    if not isinstance(abi, Sequence) or isinstance(abi, str) or len(abi) > MAX_ENTRIES:
        raise MalformedAbi("an ABI is a list of objects")
    declarations: dict[str, list[Declaration]] = {"function": [], "event": [], "error": []}
    for entry in abi:
        type_ = _type_of(entry)
        declaration = Declaration(str(entry.get("name", "")), read_parameters(entry.get("inputs")))
        if type_ in declarations and not entry.get("anonymous"):
            _verify_name(declaration.name)
            declarations[type_].append(declaration)
    return Abi(
        tuple(declarations["function"]), tuple(declarations["event"]), tuple(declarations["error"])
    )


def read_parameters(parameters: Any) -> tuple[Parameter, ...]:
    """Read the inputs or outputs of an entry; null counts as an empty list.

    Unspecified: names longer than 200 characters are truncated.

    Raises:
        MalformedAbi: The value is not a list of parameters.
    """
    return tuple(_parameters([] if parameters is None else parameters, 0))


def _type_of(entry: Any) -> str:
    """Return the type of an entry; an entry without a type is a function."""
    if not isinstance(entry, Mapping):
        raise MalformedAbi("an entry is not an object")
    type_ = entry.get("type", "function")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise MalformedAbi("an entry has no known type")
    return type_


def _verify_name(name: str) -> None:
    # Unlike Python's identifiers, Solidity's may contain a dollar sign.
    if len(name) > _LONGEST_NAME:
        raise MalformedAbi(f"a name has more than {_LONGEST_NAME} characters")
    if not name.replace("$", "_").isidentifier() or not name.isascii():
        raise MalformedAbi("an entry has no name")


def _parameters(entries: Any, depth: int) -> Iterator[Parameter]:
    if (
        not isinstance(entries, Sequence)
        or isinstance(entries, str)
        or len(entries) > _MAX_PARAMETERS
    ):
        raise MalformedAbi("parameters are a list of objects")
    if depth > _DEEPEST:
        raise MalformedAbi("tuples are nested too deeply")
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise MalformedAbi("a parameter is not an object")
        type_, members = _typed(entry, depth)
        name = entry.get("name")
        short = name[:_LONGEST_NAME] if isinstance(name, str) else ""
        yield Parameter(type_, short, members, bool(entry.get("indexed")))


def _typed(entry: Mapping[str, Any], depth: int) -> tuple[str, tuple[Parameter, ...]]:
    """Return a parameter's type as in signatures, and the members if it is a tuple."""
    type_ = entry.get("type")
    if not isinstance(type_, str) or len(type_) > _LONGEST_TYPE:
        raise MalformedAbi("a parameter has no type")
    match = _TYPE.fullmatch(type_)
    if match is None and _OF_LIBRARY.fullmatch(type_):
        return type_, ()
    if match is None or not _has_size(match):
        raise MalformedAbi(f"there is no type {type_}")
    arrays = match["arrays"].count("[")
    if depth + arrays > _DEEPEST:
        raise MalformedAbi("arrays are nested too deeply")
    if not match["tuple"]:
        return type_, ()
    members = tuple(_parameters(entry.get("components", []), depth + arrays + 1))
    if not members:
        raise MalformedAbi("a tuple has no components")
    return f"({','.join(member.type for member in members)}){match['arrays']}", members


def _has_size(type_: re.Match[str]) -> bool:
    """Return whether a type's size exists: whole bytes for integers, and at most one word."""
    bits, size = type_["bits"], type_["size"]
    if bits is not None:
        return 0 < int(bits) <= _MAX_BITS and int(bits) % 8 == 0 and not bits.startswith("0")
    return size is None or (0 < int(size) <= _WORD and not size.startswith("0"))


class Mutability(StrEnum):
    """The state mutability of a function, in the ABI's terms."""

    PURE = "pure"
    VIEW = "view"
    NONPAYABLE = "nonpayable"
    PAYABLE = "payable"


@dataclass(frozen=True)
class Function:
    """A function of an ABI."""

    declaration: Declaration
    outputs: tuple[Parameter, ...]
    mutability: Mutability

    @property
    def name(self) -> str:
        """The name without parameters."""
        return self.declaration.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The inputs."""
        return self.declaration.parameters

    @property
    def selector(self) -> str:
        """The eight hex digits by which a form identifies the function; names alone are not unique."""
        return self.declaration.selector.hex()

    @property
    def only_reads(self) -> bool:
        """Whether the function cannot change state."""
        return self.mutability in {Mutability.PURE, Mutability.VIEW}

    @property
    def is_payable(self) -> bool:
        """Whether the call may transfer coins."""
        return self.mutability is Mutability.PAYABLE

    @property
    def is_getter(self) -> bool:
        """Whether the function reads a value and takes no arguments."""
        return self.only_reads and not self.parameters and bool(self.outputs)


def read_functions(abi: Any) -> tuple[Function, ...]:
    """Read the functions of an ABI, without duplicates, in its order.

    Args:
        abi: The decoded JSON, a list of objects.

    Raises:
        MalformedAbi: The value is not an ABI.
    """
    declarations = iter(read_abi(abi).functions)
    functions: dict[str, Function] = {}
    for entry in abi:
        if entry.get("type", "function") == "function" and not entry.get("anonymous"):
            outputs = read_parameters(entry.get("outputs"))
            function = Function(next(declarations), outputs, _mutability(entry))
            functions.setdefault(function.selector, function)
    return tuple(functions.values())


def _mutability(entry: Any) -> Mutability:
    """Return an entry's mutability; compilers before 0.4.16 wrote booleans, `constant` and `payable`, instead."""
    mutability = entry.get("stateMutability")
    if isinstance(mutability, str) and mutability in set(Mutability):
        return Mutability(mutability)
    if entry.get("constant") is True:
        return Mutability.VIEW
    return Mutability.PAYABLE if entry.get("payable") is True else Mutability.NONPAYABLE

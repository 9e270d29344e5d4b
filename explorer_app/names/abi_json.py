"""A contract's ABI as compilers write it, JSON, read as declarations. Types are put together by eth-utils. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eth_utils.abi import collapse_if_tuple

from cchain_app.transaction_log.declarations import Declaration, Parameter
from explorer_app.names.book import Abi

MOST_ENTRIES: Final = 4096
"""Of an ABI: a contract's code has 24 KiB, and each function a selector there."""
_MOST_PARAMETERS: Final = 256
_DEEPEST: Final = 16
_LONGEST_TYPE: Final = 100
"""Characters; of tuples it is `tuple` with the brackets of arrays."""
_TYPES: Final = frozenset({"function", "event", "error", "constructor", "fallback", "receive"})


class MalformedAbi(Exception):
    """JSON that is no ABI, or one that is larger than any contract's."""


def read_abi(given: Any) -> Abi:
    """Read an ABI: its functions, events and errors.

    Args:
        given: What JSON reads: a list of objects.

    Raises:
        MalformedAbi: It is none.
    """
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > MOST_ENTRIES:
        raise MalformedAbi("an ABI is a list of objects")
    found: dict[str, list[Declaration]] = {"function": [], "event": [], "error": []}
    for entry in given:
        type_ = _type_of(entry)
        declaration = Declaration(
            str(entry.get("name", "")), read_parameters(entry.get("inputs", []))
        )
        if type_ in found and not entry.get("anonymous"):
            _verify_name(declaration.name)
            found[type_].append(declaration)
    return Abi(tuple(found["function"]), tuple(found["event"]), tuple(found["error"]))


def read_parameters(given: Any) -> tuple[Parameter, ...]:
    """Read the inputs or outputs of an entry. Raises `MalformedAbi`."""
    return tuple(_parameters(given, 0))


def _type_of(entry: Any) -> str:
    """Return the type of an entry; one without is a function."""
    if not isinstance(entry, Mapping):
        raise MalformedAbi("an entry is no object")
    type_ = entry.get("type", "function")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise MalformedAbi("an entry has no known type")
    return type_


def _verify_name(name: str) -> None:
    # Solidity's names may have a dollar sign, Python's may not.
    if not name.replace("$", "_").isidentifier() or not name.isascii():
        raise MalformedAbi("an entry has no name")


def _parameters(given: Any, depth: int) -> Iterator[Parameter]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > _MOST_PARAMETERS:
        raise MalformedAbi("parameters are a list of objects")
    if depth > _DEEPEST:
        raise MalformedAbi("tuples are nested too deeply")
    for one in given:
        type_ = one.get("type") if isinstance(one, Mapping) else None
        if not isinstance(type_, str) or len(type_) > _LONGEST_TYPE:
            raise MalformedAbi("a parameter has no type")
        members = tuple(_parameters(one.get("components", []), depth + 1))
        try:
            type_ = collapse_if_tuple(dict(one))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise MalformedAbi("a tuple has no components") from error
        yield Parameter(type_, str(one.get("name", "")), members, bool(one.get("indexed")))

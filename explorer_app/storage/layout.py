"""The positions of a contract's variables, from the `storageLayout` of Solidity's compiler. Pure.

https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

LONGEST_NAME: Final = 200
"""Limit of characters kept of a variable's name, because a page may repeat it for each element."""
MAX_KEYS: Final = 16
"""Limit of nested mappings that can be looked up."""
_COUNT: Final = re.compile(r"\[(\d+)\]$")


class MalformedLayout(Exception):
    """The JSON is not a storage layout."""


class StorageEncoding(StrEnum):
    """The encoding of a type in storage."""

    INPLACE = "inplace"
    """Consecutive, from its slot on: values, structs and arrays of a fixed length."""
    BYTES = "bytes"
    """`bytes` and `string`."""
    ARRAY = "dynamic_array"
    MAPPING = "mapping"


class Variable(NamedTuple):
    """A variable, or a member of a struct."""

    name: str
    type: str
    """The key of its type."""
    slot: int
    """For a member of a struct, relative to the struct."""
    offset: int
    """Offset in bytes from the low-order end of the slot."""


@dataclass(frozen=True)
class Type:
    """A type of a layout."""

    label: str
    """The name in source code."""
    encoding: StorageEncoding
    size: int
    """Size in bytes; a larger type occupies a multiple of 32."""
    base: str | None = None
    """The key of the type of an array's elements."""
    key: str | None = None
    """The key of the type of a mapping's keys."""
    value: str | None = None
    """The key of the type of a mapping's values."""
    members: tuple[Variable, ...] = ()
    """The members of a struct."""

    @property
    def short(self) -> str:
        """The label, shortened for display: a page may repeat it a thousand times."""
        long = len(self.label) > LONGEST_NAME
        return self.label[: LONGEST_NAME - 1] + "…" if long else self.label

    @property
    def count(self) -> int | None:
        """The length of an array of a fixed length; None for other types."""
        match = _COUNT.search(self.label)
        return (
            int(match[1])
            if self.encoding is StorageEncoding.INPLACE and self.base and match
            else None
        )

    @property
    def is_plain(self) -> bool:
        """Whether it is a single value in (a part of) one slot."""
        return self.encoding is StorageEncoding.INPLACE and self.base is None and not self.members


@dataclass(frozen=True)
class VariableLayout:
    """The variables of a contract and their types."""

    variables: tuple[Variable, ...]
    types: Mapping[str, Type]

    def key_types(self, mapping: str) -> list[Type]:
        """Return the types of the keys that lead from a mapping to a value that is not a mapping.

        If there are more than `MAX_KEYS`, one more than that is returned.
        """
        types: list[Type] = []
        type_ = self.types[mapping]
        while type_.encoding is StorageEncoding.MAPPING and type_.key and type_.value:
            if len(types) > MAX_KEYS:
                break
            types.append(self.types[type_.key])
            type_ = self.types[type_.value]
        return types


def read_layout(layout_json: Any) -> VariableLayout:
    """Read a layout.

    Args:
        layout_json: The decoded JSON: an object with `storage` and `types`, which are null if they are empty.

    Raises:
        MalformedLayout: The value is not a layout, or a type is missing.
    """
    try:
        types = {key: _type(type_json) for key, type_json in (layout_json["types"] or {}).items()}
        layout = VariableLayout(_variables(layout_json["storage"] or ()), types)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedLayout("it has another shape") from error
    missing = set(_named(layout)) - set(types)
    if missing:
        raise MalformedLayout(f"there is no type {min(missing)}")
    return layout


def _type(type_json: Mapping[str, Any]) -> Type:
    size = int(type_json["numberOfBytes"])
    type_ = Type(
        str(type_json["label"]), StorageEncoding(type_json["encoding"]), size, type_json.get("base"), type_json.get("key"),
        type_json.get("value"), _variables(type_json.get("members", ())),
    )  # fmt: skip
    if size < 1 or (type_.is_plain and size > 32):
        raise MalformedLayout("a type has no size of a value")
    if type_.encoding is StorageEncoding.INPLACE and type_.base and type_.count is None:
        raise MalformedLayout("an array has no length")
    if type_.encoding is StorageEncoding.ARRAY and not type_.base:
        raise MalformedLayout("an array has no elements")
    return type_


def _variables(variables_json: Sequence[Mapping[str, Any]]) -> tuple[Variable, ...]:
    return tuple(
        Variable(
            str(variable["label"])[:LONGEST_NAME],
            str(variable["type"]),
            int(variable["slot"]),
            int(variable["offset"]),
        )
        for variable in variables_json
    )


def _named(layout: VariableLayout) -> Iterator[str]:
    """Yield the key of each type that is used."""
    yield from (variable.type for variable in layout.variables)
    for type_ in layout.types.values():
        yield from (member.type for member in type_.members)
        yield from (key for key in (type_.base, type_.key, type_.value) if key)

"""The positions of a contract's variables, from the `storageLayout` of Solidity's compiler, and values as text. Pure.

https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from primitives.evm import Address
from primitives.hexadecimal import checksum_address

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


WORD: Final = 32
_ADDRESS: Final = 20
_LONGEST_SHORT: Final = 31
_NUMBER: Final = re.compile(r"(u?)int\d+")
_ABI: Final = re.compile(r"u?int\d+|bytes\d*|string|bool|address")


class Corrupt(Exception):
    """The slot has a value that no compiler's code would write."""


def is_address(type_: Type) -> bool:
    """Return whether values of a type are addresses."""
    return type_.label in {"address", "address payable"} or type_.label.startswith("contract ")


def text_of(type_: Type, raw: bytes) -> str:
    """Return a value as text: numbers in decimal, addresses with EIP-55's checksum, other types in hex.

    Unspecified: a layout does not contain the members of an enum, so its number is shown; for a user-defined type
    (`type Price is uint96`) it does not contain the underlying type, so its bytes are shown.

    Args:
        type_: A plain type.
        raw: The bytes of the value.
    """
    if is_address(type_) and len(raw) == _ADDRESS:
        return str(checksum_address(Address(raw)))
    if type_.label == "bool":
        return "true" if any(raw) else "false"
    number = _NUMBER.fullmatch(type_.label)
    if number or type_.label.startswith("enum "):
        return str(int.from_bytes(raw, "big", signed=bool(number) and not (number and number[1])))
    return "0x" + raw.hex()


def length_of_bytes(word: bytes) -> int:
    """Return the length of a `bytes` or `string`; up to 31 bytes are stored in the slot itself.

    Raises:
        Corrupt: The slot has an impossible value.
    """
    number = int.from_bytes(word, "big")
    if number & 1:
        length = number >> 1
        if length <= _LONGEST_SHORT:
            raise Corrupt
        return length
    length = word[-1] >> 1
    if length > _LONGEST_SHORT:
        raise Corrupt
    return length


def is_short(length: int) -> bool:
    """Return whether data of this length is stored in the slot itself."""
    return length <= _LONGEST_SHORT


def bytes_as_text(type_: Type, data: bytes) -> str:
    """Return the content of a `string` or `bytes` as text."""
    return data.decode("utf-8", "replace") if type_.label == "string" else "0x" + data.hex()


def abi_type(type_: Type) -> str:
    """Return the ABI type by which a mapping's key is parsed.

    Unspecified: the layout does not contain the underlying type of a user-defined type (`type Tag is bytes4`), which
    determines the alignment of its bytes; so a key of less than 32 bytes must be entered as the word that is hashed.
    """
    if type_.encoding is StorageEncoding.BYTES or _ABI.fullmatch(type_.label):
        return type_.label
    if type_.label.startswith("enum ") or type_.size == WORD:
        return f"uint{8 * type_.size}"
    return "address" if is_address(type_) else "bytes32"


def hint(type_: Type) -> str:
    """Return the expected input of a field for a mapping's key."""
    if abi_type(type_) == "bytes32" and type_.label != "bytes32":
        return f"{type_.short}, as 0x and the 64 digits of its word"
    return type_.short

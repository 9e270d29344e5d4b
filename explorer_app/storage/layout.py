"""Where a contract's variables are: the `storageLayout` that Solidity's compiler puts out, as values. Pure.

https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

LONGEST_NAME: Final = 200
"""Characters of a variable's name that are kept: it may stand on a page once for each element."""
MOST_KEYS: Final = 16
"""Of mappings in mappings that are looked up."""
_COUNT: Final = re.compile(r"\[(\d+)\]$")


class MalformedLayout(Exception):
    """JSON that is no layout."""


class Encoding(StrEnum):
    """How a type is stored."""

    INPLACE = "inplace"
    """From its slot on, one part behind the other: values, structs and arrays of a fixed length."""
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
    """Of a member from its struct's on."""
    offset: int
    """Bytes from the lowest one of the slot on."""


@dataclass(frozen=True)
class Type:
    """A type of a layout."""

    label: str
    """As sources write it."""
    encoding: Encoding
    size: int
    """Bytes, of which a multiple of 32 is taken where they are more."""
    base: str | None = None
    """The key of an array's elements' type."""
    key: str | None = None
    """The key of the type of a mapping's keys."""
    value: str | None = None
    """Of its values."""
    members: tuple[Variable, ...] = ()
    """Of a struct."""

    @property
    def short(self) -> str:
        """The label as far as a page shows it: it may stand there a thousand times."""
        long = len(self.label) > LONGEST_NAME
        return self.label[: LONGEST_NAME - 1] + "…" if long else self.label

    @property
    def count(self) -> int | None:
        """How many elements an array of a fixed length has; None for all else."""
        found = _COUNT.search(self.label)
        return int(found[1]) if self.encoding is Encoding.INPLACE and self.base and found else None

    @property
    def is_plain(self) -> bool:
        """Whether it is one value in (a part of) one slot."""
        return self.encoding is Encoding.INPLACE and self.base is None and not self.members


@dataclass(frozen=True)
class Layout:
    """The variables of a contract and their types."""

    variables: tuple[Variable, ...]
    types: Mapping[str, Type]

    def key_types(self, mapping: str) -> list[Type]:
        """Return the types of the keys that lead from a mapping to a value that is no mapping itself.

        Where they are more than `MOST_KEYS`, the first ones and one of the others.
        """
        found: list[Type] = []
        type_ = self.types[mapping]
        while type_.encoding is Encoding.MAPPING and type_.key and type_.value:
            if len(found) > MOST_KEYS:
                break
            found.append(self.types[type_.key])
            type_ = self.types[type_.value]
        return found


def read_layout(given: Any) -> Layout:
    """Read a layout.

    Args:
        given: What JSON reads: an object with `storage` and `types`, which are null where there is nothing.

    Raises:
        MalformedLayout: It is none, or a type is missing.
    """
    try:
        types = {key: _type(one) for key, one in (given["types"] or {}).items()}
        layout = Layout(_variables(given["storage"] or ()), types)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedLayout("it has another shape") from error
    missing = set(_named(layout)) - set(types)
    if missing:
        raise MalformedLayout(f"there is no type {min(missing)}")
    return layout


def _type(given: Mapping[str, Any]) -> Type:
    size = int(given["numberOfBytes"])
    found = Type(
        str(given["label"]), Encoding(given["encoding"]), size, given.get("base"), given.get("key"),
        given.get("value"), _variables(given.get("members", ())),
    )  # fmt: skip
    if size < 1 or (found.is_plain and size > 32):
        raise MalformedLayout("a type has no size of a value")
    if found.encoding is Encoding.INPLACE and found.base and found.count is None:
        raise MalformedLayout("an array has no length")
    if found.encoding is Encoding.ARRAY and not found.base:
        raise MalformedLayout("an array has no elements")
    return found


def _variables(given: Sequence[Mapping[str, Any]]) -> tuple[Variable, ...]:
    return tuple(
        Variable(
            str(one["label"])[:LONGEST_NAME], str(one["type"]), int(one["slot"]), int(one["offset"])
        )
        for one in given
    )


def _named(layout: Layout) -> Iterator[str]:
    """Yield the key of each type that anything is of."""
    yield from (one.type for one in layout.variables)
    for type_ in layout.types.values():
        yield from (one.type for one in type_.members)
        yield from (one for one in (type_.base, type_.key, type_.value) if one)

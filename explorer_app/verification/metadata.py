"""The section that Solidity's compiler appends to code: a CBOR map with a hash of the metadata. Pure.

    … fe | a2 64 "ipfs" 58 22 1220… 64 "solc" 43 000825 | 0033

The last two bytes are the length of the map before them (explorer.md 6). The code of a contract that creates others
contains their sections.
"""

import re
from typing import Final, NamedTuple

Value = bytes | str | bool

_LENGTH: Final = 2
_MOST: Final = 512
"""Limit of bytes of a section; real ones have at most 128."""
_HASHES: Final = ("ipfs", "bzzr0", "bzzr1")
_MARKS: Final = re.compile(
    rb"(?:\x64ipfs\x58\x22(?=\x12\x20))(.{34})|(?:\x65bzzr[01]\x58\x20)(.{32})", re.DOTALL
)

_BYTES, _TEXT, _MAP, _SIMPLE = 2, 3, 5, 7
_FALSE, _TRUE = 20, 21


class _NoSection(Exception):
    """The bytes are not such a map."""


class Section(NamedTuple):
    """The section after a code."""

    length: int
    """Length in bytes, including the length field."""
    values: dict[str, Value]

    @property
    def hash(self) -> bytes:
        """The hash of the metadata; empty if the section has none."""
        for name in _HASHES:
            value = self.values.get(name)
            if isinstance(value, bytes):
                return value
        return b""


def section_of(code: bytes) -> Section | None:
    """Return the section at the end of a code, or None."""
    if len(code) < _LENGTH:
        return None
    size = int.from_bytes(code[-_LENGTH:], "big")
    if not 0 < size <= min(_MOST, len(code) - _LENGTH):
        return None
    try:
        return Section(size + _LENGTH, _read_map(code[-_LENGTH - size : -_LENGTH]))
    except _NoSection:
        return None


def hashes_in(code: bytes) -> list[tuple[int, int]]:
    """Return where hashes of metadata may be in a code, as (start, end); other data may look the same."""
    hashes = []
    for mark in _MARKS.finditer(code):
        group = 1 if mark[1] is not None else 2
        hashes.append(mark.span(group))
    return hashes


def _read_map(data: bytes) -> dict[str, Value]:
    kind, count, offset = _head(data, 0)
    if kind != _MAP:
        raise _NoSection
    values: dict[str, Value] = {}
    for _ in range(count):
        name, offset = _value(data, offset)
        value, offset = _value(data, offset)
        if not isinstance(name, str):
            raise _NoSection
        values[name] = value
    if offset != len(data):
        raise _NoSection
    return values


def _value(data: bytes, offset: int) -> tuple[Value, int]:
    kind, size, offset = _head(data, offset)
    if kind == _SIMPLE and size in {_FALSE, _TRUE}:
        return size == _TRUE, offset
    part = data[offset : offset + size]
    if kind not in {_BYTES, _TEXT} or len(part) < size:
        raise _NoSection
    return part if kind == _BYTES else part.decode("utf-8", "replace"), offset + size


def _head(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return kind and size of the item at an offset, and the offset of its content."""
    if offset >= len(data):
        raise _NoSection
    kind, size = data[offset] >> 5, data[offset] & 0x1F
    if size < 24:
        return kind, size, offset + 1
    width = {24: 1, 25: 2}.get(size)
    if width is None or offset + 1 + width > len(data):
        raise _NoSection
    return kind, int.from_bytes(data[offset + 1 : offset + 1 + width], "big"), offset + 1 + width

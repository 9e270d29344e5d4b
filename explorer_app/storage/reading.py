"""Reads a contract's variables: determines the required slots, and decodes their words. Pure.

The position of an array or long string depends only on its slot, but its length is stored there. Therefore the
variables are traversed again whenever more words are known, and each traversal collects missing slots. Each nesting
level takes one round.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer_app.storage import layout as values
from explorer_app.storage.layout import (
    MAX_KEYS,
    WORD,
    Corrupt,
    StorageEncoding,
    Type,
    Variable,
    VariableLayout,
)
from primitives.evm import Slot, Word
from primitives.hashing import keccak256

MAX_SLOTS: Final = 256
"""Limit of slots that are read for a page."""
MAX_ITEMS: Final = 10
"""Limit of an array's elements that are shown."""
MAX_TEXT: Final = 1024
"""Limit of a string's bytes that are shown."""
MAX_LINES: Final = 1000
"""Limit of variables on a page, including their parts."""
MAX_INPUTS: Final = 1500
"""Limit of input fields for mappings' keys on a page."""
_LONGEST_MAPPING: Final = 1000
"""Limit of characters of the key of a mapping's type: a page contains it once per mapping."""
_DEEPEST: Final = 16
_ALL: Final = 2**256

Fetch = Callable[[Sequence[Slot]], Mapping[Slot, Word]]
"""Takes slots and returns their words; fewer of them if it runs out of time."""


@dataclass(frozen=True)
class StoredVariable:
    """A variable with its value, or a part of one."""

    name: str
    type: str
    """The type in source code, shortened."""
    slot: Slot
    offset: int
    """Offset in bytes from the low-order end of the slot."""
    value: str | None = None
    """The value as text; None if it has parts, is a mapping, or was not read."""
    parts: tuple["StoredVariable", ...] = ()
    """Elements of an array, or members of a struct."""
    remark: str = ""
    """A note, such as the number of elements, or that the value was not read."""
    mapping: str = ""
    """For a mapping the key of its type, for look-ups; empty if look-ups are impossible."""
    keys: tuple[str, ...] = ()
    """The types of its keys, as in source code."""
    is_address: bool = False


def read_all(layout: VariableLayout, fetch: Fetch) -> list[StoredVariable]:
    """Return all variables of a contract, up to `MAX_SLOTS` and `MAX_LINES`."""
    return _read(fetch, lambda words: _Traversal(layout, words).members(layout.variables, 0))


def look_up(
    layout: VariableLayout, mapping: str, slot: Slot, keys: Sequence[bytes], fetch: Fetch
) -> StoredVariable:
    """Return the value of a mapping for some keys.

    Args:
        layout: The contract's layout.
        mapping: The key of the mapping's type.
        slot: The mapping's slot.
        keys: One key per nested mapping: 32 bytes each, or for strings and bytes their content.
        fetch: Reads slots.
    """
    slot_number = int.from_bytes(slot, "big")
    key = mapping
    for key_text in keys:
        slot_number = _hashed(key_text, slot_number)
        key = layout.types[key].value or key
    (variable,) = _read(
        fetch, lambda words: [_Traversal(layout, words).variable("value", key, slot_number)]
    )
    return variable


def _read(
    fetch: Fetch, traverse: Callable[["_Words"], list[StoredVariable]]
) -> list[StoredVariable]:
    """Repeat the traversal until all words are known, or until the limit of slots is reached."""
    words = _Words()
    variables = traverse(words)
    is_complete = True
    while is_complete and words.missed and len(words.known) < MAX_SLOTS:
        slots = [_slot(word) for word in words.missed][: MAX_SLOTS - len(words.known)]
        fetched = fetch(slots)
        words.known.update((int.from_bytes(slot, "big"), word) for slot, word in fetched.items())
        is_complete = len(fetched) == len(slots)
        words.missed.clear()
        variables = traverse(words)
    return variables


class _Words:
    """The known words by slot, and the missing slots in the order in which they were requested."""

    def __init__(self) -> None:
        self.known: dict[int, Word] = {}
        self.missed: dict[int, None] = {}

    def at(self, slot: int) -> Word | None:
        slot %= _ALL
        if slot not in self.known:
            self.missed[slot] = None
        return self.known.get(slot)

    def run(self, slot: int, length: int) -> bytes | None:
        """Return bytes from the start of a slot; None unless all words are known."""
        words = [self.at(slot + step) for step in range(-(-length // WORD))]
        known_words = [variable for variable in words if variable is not None]
        return b"".join(known_words)[:length] if len(known_words) == len(words) else None


class _Traversal:
    """One traversal of variables with the known words."""

    def __init__(self, layout: VariableLayout, words: _Words) -> None:
        self._layout = layout
        self._types = layout.types
        self._words = words
        self._lines = 0
        self._inputs = 0

    def members(
        self, variables: Iterable[Variable], slot: int, depth: int = 0
    ) -> list[StoredVariable]:
        """Return the variables of a contract, or of a struct that starts at a slot."""
        read_variables = []
        for candidate in variables:
            if self._lines >= MAX_LINES:
                break
            first_slot = slot + candidate.slot
            read_variables.append(
                self.variable(candidate.name, candidate.type, first_slot, candidate.offset, depth)
            )
        return read_variables

    def variable(
        self, name: str, key: str, slot: int, offset: int = 0, depth: int = 0
    ) -> StoredVariable:
        """Return the variable at a slot and offset."""
        self._lines += 1
        type_ = self._types[key]
        bare = StoredVariable(
            name, type_.short, _slot(slot), offset, is_address=values.is_address(type_)
        )
        if type_.encoding is StorageEncoding.MAPPING:
            return self._mapping(bare, key)
        if depth >= _DEEPEST:
            return replace(bare, remark="nested too deeply")
        if type_.is_plain:
            return self._plain(bare, type_, slot, offset)
        if type_.encoding is StorageEncoding.BYTES:
            return self._text(bare, type_, slot)
        return self._nested(bare, type_, slot, depth)

    def _mapping(self, bare: StoredVariable, key: str) -> StoredVariable:
        keys = self._layout.key_types(key)
        if len(keys) > MAX_KEYS or len(key) > _LONGEST_MAPPING:
            return replace(bare, remark="nested too deeply to be looked up")
        self._inputs += len(keys)
        if self._inputs > MAX_INPUTS:
            return replace(bare, remark="the page has too many mappings to look up")
        return replace(bare, mapping=key, keys=tuple(values.hint(key_type) for key_type in keys))

    def _nested(self, bare: StoredVariable, type_: Type, slot: int, depth: int) -> StoredVariable:
        if type_.encoding is StorageEncoding.ARRAY:
            return self._array(bare, type_, slot, depth)
        if (count := type_.count) is not None:
            return self._elements(bare, type_, slot, count, depth)
        return replace(bare, parts=tuple(self.members(type_.members, slot, depth + 1)))

    def _plain(self, bare: StoredVariable, type_: Type, slot: int, offset: int) -> StoredVariable:
        word = self._words.at(slot)
        if word is None:
            return _unread(bare)
        end = WORD - offset
        return replace(bare, value=values.text_of(type_, word[max(0, end - type_.size) : end]))

    def _text(self, bare: StoredVariable, type_: Type, slot: int) -> StoredVariable:
        word = self._words.at(slot)
        if word is None:
            return _unread(bare)
        try:
            length = values.length_of_bytes(word)
        except Corrupt:
            return replace(bare, value="0x" + word.hex(), remark="not a valid encoding")
        if values.is_short(length):
            return replace(bare, value=values.bytes_as_text(type_, word[:length]))
        data = self._words.run(_hashed(b"", slot), min(length, MAX_TEXT))
        if data is None:
            return _unread(bare)
        remark = (
            f"the first {MAX_TEXT:,} of {length:,} bytes are shown" if length > MAX_TEXT else ""
        )
        return replace(bare, value=values.bytes_as_text(type_, data), remark=remark)

    def _array(self, bare: StoredVariable, type_: Type, slot: int, depth: int) -> StoredVariable:
        word = self._words.at(slot)
        if word is None:
            return _unread(bare)
        count = int.from_bytes(word, "big")
        return self._elements(bare, type_, _hashed(b"", slot), count, depth)

    def _elements(
        self, bare: StoredVariable, type_: Type, slot: int, count: int, depth: int
    ) -> StoredVariable:
        """Return an array whose elements start at a slot; several elements share a slot if they fit."""
        assert type_.base is not None
        size = self._types[type_.base].size
        elements: list[StoredVariable] = []
        for number in range(min(count, MAX_ITEMS)):
            if self._lines >= MAX_LINES:
                break
            if size <= WORD:
                step, index = divmod(number, WORD // size)
                at, offset = slot + step, index * size
            else:
                at, offset = slot + number * -(-size // WORD), 0
            elements.append(self.variable(str(number), type_.base, at, offset, depth + 1))
        remark = (
            f"the first {len(elements)} of {count:,} elements are shown"
            if len(elements) < count
            else ""
        )
        return replace(bare, parts=tuple(elements), remark=remark or ("" if count else "empty"))


def _hashed(key: bytes, slot: int) -> int:
    """Return the data slot for a key of a mapping, or without a key that of an array or string."""
    return int.from_bytes(keccak256(key + _slot(slot)), "big")


def _slot(number: int) -> Slot:
    return Slot((number % _ALL).to_bytes(WORD, "big"))


def _unread(bare: StoredVariable) -> StoredVariable:
    return replace(bare, remark="not read: the limit of slots for a page is reached")

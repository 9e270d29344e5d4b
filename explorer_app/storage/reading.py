"""What a contract has stored, variable by variable: which slots are needed for that, and what they say. Pure.

Where an array or a long text is depends on nothing but its slot, but how long it is stands in there: so the walk is
done again each time that more words are known, and says which ones it has missed. A level of nesting takes a round.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer_app.storage import values
from explorer_app.storage.layout import MOST_KEYS, Encoding, Layout, Type, Variable
from explorer_app.storage.values import WORD, Corrupt
from primitives.evm import Slot, Word
from primitives.hashing import keccak256

MOST_SLOTS: Final = 256
"""That are read for a page."""
MOST_ITEMS: Final = 10
"""Of an array that are shown."""
MOST_TEXT: Final = 1024
"""Bytes of a text that are shown."""
MOST_LINES: Final = 1000
"""Variables with their parts on a page."""
MOST_INPUTS: Final = 1500
"""For keys of mappings on a page."""
_LONGEST_MAPPING: Final = 1000
"""Characters of the key of a mapping's type: a page has it once for each mapping."""
_DEEPEST: Final = 16
_ALL: Final = 2**256

Fetch = Callable[[Sequence[Slot]], Mapping[Slot, Word]]
"""Takes slots and returns their words; fewer of them where it has no time for more."""


@dataclass(frozen=True)
class Stored:
    """A variable with its value, or a part of one."""

    name: str
    type: str
    """As sources write it, shortened."""
    slot: Slot
    offset: int
    """Bytes from the lowest one of the slot on."""
    value: str | None = None
    """As text; None where it has parts, is a mapping, or was not read."""
    parts: tuple["Stored", ...] = ()
    """Elements of an array, members of a struct."""
    remark: str = ""
    """What is to be known besides: how many elements there are, or that it was not read."""
    mapping: str = ""
    """Of a mapping the key of its type, by which it is looked up; empty where it cannot be."""
    keys: tuple[str, ...] = ()
    """The types of its keys, as sources write them."""
    is_address: bool = False


def read_all(layout: Layout, fetch: Fetch) -> list[Stored]:
    """Return all variables of a contract, as far as `MOST_SLOTS` and `MOST_LINES` go."""
    return _read(fetch, lambda words: _Walk(layout, words).members(layout.variables, 0))


def look_up(
    layout: Layout, mapping: str, slot: Slot, keys: Sequence[bytes], fetch: Fetch
) -> Stored:
    """Return what a mapping has for some keys.

    Args:
        layout: Of the contract.
        mapping: The key of the mapping's type.
        slot: Where the mapping is.
        keys: One for it, and one for each mapping that is its value: 32 bytes, of texts and bytes all they have.
        fetch: Reads slots.
    """
    place = int.from_bytes(slot, "big")
    key = mapping
    for one in keys:
        place = _hashed(one, place)
        key = layout.types[key].value or key
    (found,) = _read(fetch, lambda words: [_Walk(layout, words).variable("value", key, place)])
    return found


def _read(fetch: Fetch, walk: Callable[["_Words"], list[Stored]]) -> list[Stored]:
    """Walk until all words are there, or as many as may be read."""
    words = _Words()
    found = walk(words)
    goes_on = True
    while goes_on and words.missed and len(words.known) < MOST_SLOTS:
        wanted = [_slot(one) for one in words.missed][: MOST_SLOTS - len(words.known)]
        fetched = fetch(wanted)
        words.known.update((int.from_bytes(slot, "big"), word) for slot, word in fetched.items())
        goes_on = len(fetched) == len(wanted)
        words.missed.clear()
        found = walk(words)
    return found


class _Words:
    """The words that are known by their slots, and in their order the slots that somebody asked for in vain."""

    def __init__(self) -> None:
        self.known: dict[int, Word] = {}
        self.missed: dict[int, None] = {}

    def at(self, slot: int) -> Word | None:
        slot %= _ALL
        if slot not in self.known:
            self.missed[slot] = None
        return self.known.get(slot)

    def run(self, slot: int, length: int) -> bytes | None:
        """Return bytes from the beginning of a slot on; None unless all words are known."""
        found = [self.at(slot + place) for place in range(-(-length // WORD))]
        known = [one for one in found if one is not None]
        return b"".join(known)[:length] if len(known) == len(found) else None


class _Walk:
    """One walk over variables by the words that are known."""

    def __init__(self, layout: Layout, words: _Words) -> None:
        self._layout = layout
        self._types = layout.types
        self._words = words
        self._lines = 0
        self._inputs = 0

    def members(self, variables: Iterable[Variable], slot: int, depth: int = 0) -> list[Stored]:
        """Return the variables of a contract or a struct that begins at a slot."""
        found = []
        for one in variables:
            if self._lines >= MOST_LINES:
                break
            place = slot + one.slot
            found.append(self.variable(one.name, one.type, place, one.offset, depth))
        return found

    def variable(self, name: str, key: str, slot: int, offset: int = 0, depth: int = 0) -> Stored:
        """Return one variable at a place."""
        self._lines += 1
        type_ = self._types[key]
        bare = Stored(name, type_.short, _slot(slot), offset, is_address=values.is_address(type_))
        if type_.encoding is Encoding.MAPPING:
            return self._mapping(bare, key)
        if depth >= _DEEPEST:
            return replace(bare, remark="nested too deeply")
        if type_.is_plain:
            return self._plain(bare, type_, slot, offset)
        if type_.encoding is Encoding.BYTES:
            return self._text(bare, type_, slot)
        return self._nested(bare, type_, slot, depth)

    def _mapping(self, bare: Stored, key: str) -> Stored:
        keys = self._layout.key_types(key)
        if len(keys) > MOST_KEYS or len(key) > _LONGEST_MAPPING:
            return replace(bare, remark="nested too deeply to be looked up")
        self._inputs += len(keys)
        if self._inputs > MOST_INPUTS:
            return replace(bare, remark="there are more mappings than a page can look up")
        return replace(bare, mapping=key, keys=tuple(values.hint(one) for one in keys))

    def _nested(self, bare: Stored, type_: Type, slot: int, depth: int) -> Stored:
        if type_.encoding is Encoding.ARRAY:
            return self._array(bare, type_, slot, depth)
        if (count := type_.count) is not None:
            return self._elements(bare, type_, slot, count, depth)
        return replace(bare, parts=tuple(self.members(type_.members, slot, depth + 1)))

    def _plain(self, bare: Stored, type_: Type, slot: int, offset: int) -> Stored:
        word = self._words.at(slot)
        if word is None:
            return _unread(bare)
        end = WORD - offset
        return replace(bare, value=values.text_of(type_, word[max(0, end - type_.size) : end]))

    def _text(self, bare: Stored, type_: Type, slot: int) -> Stored:
        word = self._words.at(slot)
        if word is None:
            return _unread(bare)
        try:
            length = values.length_of_bytes(word)
        except Corrupt:
            return replace(bare, value="0x" + word.hex(), remark="not as a compiler stores it")
        if values.is_short(length):
            return replace(bare, value=values.bytes_as_text(type_, word[:length]))
        data = self._words.run(_hashed(b"", slot), min(length, MOST_TEXT))
        if data is None:
            return _unread(bare)
        remark = f"the first {MOST_TEXT:,} of {length:,} bytes" if length > MOST_TEXT else ""
        return replace(bare, value=values.bytes_as_text(type_, data), remark=remark)

    def _array(self, bare: Stored, type_: Type, slot: int, depth: int) -> Stored:
        word = self._words.at(slot)
        if word is None:
            return _unread(bare)
        count = int.from_bytes(word, "big")
        return self._elements(bare, type_, _hashed(b"", slot), count, depth)

    def _elements(self, bare: Stored, type_: Type, slot: int, count: int, depth: int) -> Stored:
        """Return an array whose elements begin at a slot: several in one, as far as they fit in there whole."""
        assert type_.base is not None
        size = self._types[type_.base].size
        found: list[Stored] = []
        for place in range(min(count, MOST_ITEMS)):
            if self._lines >= MOST_LINES:
                break
            if size <= WORD:
                step, rest = divmod(place, WORD // size)
                at, offset = slot + step, rest * size
            else:
                at, offset = slot + place * -(-size // WORD), 0
            found.append(self.variable(str(place), type_.base, at, offset, depth + 1))
        remark = f"the first {len(found)} of {count:,}" if len(found) < count else ""
        return replace(bare, parts=tuple(found), remark=remark or ("" if count else "empty"))


def _hashed(key: bytes, slot: int) -> int:
    """Return where what belongs to a key of a mapping is, or without a key what belongs to an array or text."""
    return int.from_bytes(keccak256(key + _slot(slot)), "big")


def _slot(number: int) -> Slot:
    return Slot((number % _ALL).to_bytes(WORD, "big"))


def _unread(bare: Stored) -> Stored:
    return replace(bare, remark="not read: there is more than a page can read")

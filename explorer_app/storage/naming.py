"""Names for slots that a transaction changed: the variables that a contract keeps in them. Pure.

The slot of a mapping's value is a hash, from which the key cannot be computed. Therefore the words that occur in the
transaction (addresses, arguments, topics) are tried as keys.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from explorer_app.storage import layout as values
from explorer_app.storage.layout import (
    WORD,
    Corrupt,
    StorageEncoding,
    Type,
    VariableLayout,
)
from primitives.evm import Address, Slot, Word
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address

MAX_KEYS_TRIED: Final = 256
"""Limit of words of a transaction that are tried as keys."""
MAX_HASHES: Final = 10_000
"""Limit of hashes for the slots of one contract."""
_DEEPEST: Final = 8
_MAX_DATA_SLOTS: Final = 1 << 32
"""Slots after the start of an array or long string that count as its own."""
_LONGEST_NAME: Final = 300


class ChangedVariable(NamedTuple):
    """A variable, or a part of one, with its values before and after a transaction."""

    name: str
    """With keys and indexes: `balances[0x…]`, `config.owner`, `queue[3]`."""
    type: str
    """The type in source code, shortened."""
    before: str
    after: str
    is_address: bool = False


class SlotDifference(NamedTuple):
    """A changed slot, with the variables in it that changed."""

    slot: Slot
    before: Word
    after: Word
    variables: tuple[ChangedVariable, ...] = ()
    """Empty if the slot has no known name."""


class _VariablePlace(NamedTuple):
    """A value in a slot."""

    name: str
    type: Type
    offset: int
    """In bytes from the low-order end."""
    is_length: bool = False
    """Whether the slot has the length of an array or string."""


def named(
    layout: VariableLayout, changes: Sequence[SlotDifference], keys: Sequence[Word]
) -> list[SlotDifference]:
    """Return the changes of a contract's slots with the variables in them.

    Args:
        layout: The contract's layout.
        changes: The changed slots.
        keys: Words that may be keys of mappings; the first `MAX_KEYS_TRIED` are tried.
    """
    slots = {int.from_bytes(change.slot, "big") for change in changes}
    search = _Search(layout, slots, list(dict.fromkeys(keys))[:MAX_KEYS_TRIED])
    search.run()
    return [
        change._replace(
            variables=tuple(
                variable
                for place in search.places.get(int.from_bytes(change.slot, "big"), ())
                for variable in _changed(place, change)
            )
        )
        for change in changes
    ]


class _Search:
    """A search for the variables in some slots."""

    def __init__(self, layout: VariableLayout, slots: set[int], keys: Sequence[Word]) -> None:
        self.places: dict[int, list[_VariablePlace]] = {}
        """The values by slot."""
        self._layout = layout
        self._types = layout.types
        self._slots = slots
        self._keys = keys
        self._key_texts: dict[str, list[tuple[Word, str]]] = {}
        """The words that can be keys of a type, as bytes and as text."""
        self._hashes_left = MAX_HASHES

    def run(self) -> None:
        """Visit all variables of the contract."""
        for variable in self._layout.variables:
            self._visit(variable.name, variable.type, variable.slot, variable.offset, 0)

    def _visit(self, name: str, key: str, slot: int, offset: int, depth: int) -> None:
        type_ = self._types[key]
        if depth > _DEEPEST:
            return
        if type_.encoding is StorageEncoding.MAPPING:
            self._visit_mapping(name, type_, slot, depth)
        elif type_.encoding is StorageEncoding.ARRAY:
            self._add(slot, _VariablePlace(f"{name}.length", type_, 0, is_length=True))
            self._visit_elements(name, type_, self._data_slot(slot), _MAX_DATA_SLOTS, depth)
        elif type_.encoding is StorageEncoding.BYTES:
            self._add(slot, _VariablePlace(name, type_, 0))
            first = self._data_slot(slot)
            for data_slot in self._between(first, _MAX_DATA_SLOTS):
                self._add(
                    data_slot, _VariablePlace(f"{name} (word {data_slot - first})", type_, -1)
                )
        elif type_.count is not None:
            self._visit_elements(name, type_, slot, -(-type_.size // WORD), depth)
        elif type_.members:
            for member in type_.members:
                self._visit(
                    f"{name}.{member.name}",
                    member.type,
                    slot + member.slot,
                    member.offset,
                    depth + 1,
                )
        else:
            self._add(slot, _VariablePlace(name, type_, offset))

    def _visit_mapping(self, name: str, type_: Type, slot: int, depth: int) -> None:
        if type_.key is None or type_.value is None:
            return
        for word, text in self._keys_of(type_.key):
            if self._hashes_left <= 0 or len(self.places) == len(self._slots):
                return
            self._hashes_left -= 1
            value_slot = _hash(bytes(word) + _word(slot))
            self._visit(f"{name}[{text}]", type_.value, value_slot, 0, depth + 1)

    def _keys_of(self, key: str) -> list[tuple[Word, str]]:
        if key not in self._key_texts:
            texts = ((word, _key_text(self._types[key], word)) for word in self._keys)
            self._key_texts[key] = [(word, text) for word, text in texts if text is not None]
        return self._key_texts[key]

    def _visit_elements(self, name: str, type_: Type, first: int, slots: int, depth: int) -> None:
        """Visit the elements of an array that are in the changed slots."""
        assert type_.base is not None
        size = self._types[type_.base].size
        per_slot = WORD // size if size <= WORD else 0
        step = 1 if per_slot else -(-size // WORD)
        for slot in self._between(first, slots):
            if per_slot:
                for index in range(per_slot):
                    number = (slot - first) * per_slot + index
                    if type_.count is None or number < type_.count:
                        self._visit(f"{name}[{number}]", type_.base, slot, index * size, depth + 1)
            else:
                number = (slot - first) // step
                self._visit(f"{name}[{number}]", type_.base, first + number * step, 0, depth + 1)

    def _between(self, first: int, count: int) -> list[int]:
        return sorted(slot for slot in self._slots if first <= slot < first + count)

    def _data_slot(self, slot: int) -> int:
        return _hash(_word(slot))

    def _add(self, slot: int, place: _VariablePlace) -> None:
        if slot in self._slots and len(place.name) <= _LONGEST_NAME:
            places = self.places.setdefault(slot, [])
            if place not in places:
                places.append(place)


def _changed(place: _VariablePlace, change: SlotDifference) -> Iterator[ChangedVariable]:
    """Yield the variable at a place, unless another one in the same slot is what changed."""
    type_ = place.type
    if place.is_length:
        before, after = (str(int.from_bytes(word, "big")) for word in (change.before, change.after))
        yield ChangedVariable(place.name, "uint256", before, after)
    elif type_.encoding is StorageEncoding.BYTES:
        before, after = (_text(place, word) for word in (change.before, change.after))
        yield ChangedVariable(place.name, type_.short, before, after)
    else:
        end = WORD - place.offset
        first = max(0, end - type_.size)
        raw_before, raw_after = bytes(change.before)[first:end], bytes(change.after)[first:end]
        if raw_before != raw_after:
            yield ChangedVariable(
                place.name, type_.short, values.text_of(type_, raw_before),
                values.text_of(type_, raw_after), values.is_address(type_),
            )  # fmt: skip


def _text(place: _VariablePlace, word: Word) -> str:
    """Return the content of a short string, the length of a long one, or a part of the latter in hex."""
    if place.offset < 0:
        return "0x" + bytes(word).hex()
    try:
        length = values.length_of_bytes(word)
    except Corrupt:
        return "0x" + bytes(word).hex()
    if values.is_short(length):
        return values.bytes_as_text(place.type, bytes(word)[:length])
    return f"{length:,} bytes"


def _key_text(type_: Type, word: Word) -> str | None:
    """Return a word as a key of a type; None if no compiler's code would use it as such a key."""
    number = int.from_bytes(word, "big")
    if values.is_address(type_):
        return str(checksum_address(Address(bytes(word[12:])))) if not any(word[:12]) else None
    if type_.label == "bool":
        return ("false", "true")[number] if number < 2 else None
    if type_.label.startswith("bytes") and type_.encoding is StorageEncoding.INPLACE:
        return "0x" + bytes(word[: type_.size]).hex() if not any(word[type_.size :]) else None
    if type_.encoding is not StorageEncoding.INPLACE or number >= 1 << 8 * type_.size:
        return None
    return values.text_of(type_, bytes(word)[WORD - type_.size :])


def _hash(data: bytes) -> int:
    return int.from_bytes(keccak256(data), "big")


def _word(number: int) -> bytes:
    return (number % (1 << 256)).to_bytes(WORD, "big")

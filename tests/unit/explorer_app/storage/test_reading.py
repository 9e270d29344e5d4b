"""Variables are read from the slots where Solidity puts them; the tests write the slots themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from explorer_app.names.encoding import BadText, encode_key
from explorer_app.storage import reading
from explorer_app.storage.layout import VariableLayout, abi_type, hint, read_layout
from explorer_app.storage.reading import MAX_ITEMS, MAX_SLOTS, MAX_TEXT, look_up, read_all
from primitives.evm import Slot, Word


def inplace(label: str, size: int, **more: Any) -> dict[str, Any]:
    return {"label": label, "encoding": "inplace", "numberOfBytes": str(size), **more}


TYPES: dict[str, dict[str, Any]] = {
    "uint256": inplace("uint256", 32),
    "uint40": inplace("uint40", 5),
    "int16": inplace("int16", 2),
    "bool": inplace("bool", 1),
    "bytes3": inplace("bytes3", 3),
    "string": {"label": "string", "encoding": "bytes", "numberOfBytes": "32"},
    "bytes": {"label": "bytes", "encoding": "bytes", "numberOfBytes": "32"},
    "uint40[]": {"label": "uint40[]", "encoding": "dynamic_array", "numberOfBytes": "32", "base": "uint40"},
    "string[]": {"label": "string[]", "encoding": "dynamic_array", "numberOfBytes": "32", "base": "string"},
    "uint256[2][]": {"label": "uint256[2][]", "encoding": "dynamic_array", "numberOfBytes": "32", "base": "uint256[2]"},
    "uint256[2]": inplace("uint256[2]", 64, base="uint256"),
    "huge": inplace(f"uint256[{2**200}]", 2**205, base="uint256"),
    "map": {"label": "mapping(uint256 => string)", "encoding": "mapping", "numberOfBytes": "32", "key": "uint256", "value": "string"},
    "maps": {"label": "mapping(string => mapping(uint256 => string))", "encoding": "mapping", "numberOfBytes": "32", "key": "string", "value": "map"},
}  # fmt: skip


def layout_of(*variables: tuple[str, int, int]) -> VariableLayout:
    """Return a layout of variables, each given by type, slot and offset."""
    storage = [
        {"label": f"v{place}", "type": type_, "slot": str(slot), "offset": offset}
        for place, (type_, slot, offset) in enumerate(variables)
    ]
    return read_layout({"storage": storage, "types": TYPES})


class Slots:
    """Readable slots that count the read requests."""

    def __init__(self, values: Mapping[int, bytes]) -> None:
        self._values = values
        self.rounds = 0
        self.read = 0

    def __call__(self, slots: Sequence[Slot]) -> dict[Slot, Word]:
        self.rounds += 1
        self.read += len(slots)
        found = {key: self._values.get(int.from_bytes(key, "big"), bytes(32)) for key in slots}
        return {slot: Word(value) for slot, value in found.items()}


def place(slot: int, key: bytes = b"") -> int:
    """Return the first slot of the data that belongs to a slot."""
    return int.from_bytes(keccak(key + slot.to_bytes(32, "big")), "big")


def stored(data: bytes, slot: int) -> dict[int, bytes]:
    """Return the slots of a `bytes` or `string` in Solidity's encoding."""
    if len(data) < 32:
        return {slot: data.ljust(31, b"\0") + bytes([2 * len(data)])}
    pieces = [data[start : start + 32].ljust(32, b"\0") for start in range(0, len(data), 32)]
    first = place(slot)
    return {slot: (2 * len(data) + 1).to_bytes(32, "big")} | {
        (first + at) % 2**256: piece for at, piece in enumerate(pieces)
    }


PACKED = {"bool": 1, "int16": 2, "uint40": 5, "bytes3": 3, "uint256": 32}


@given(st.data())
def test_packed_values_are_found_wherever_they_are(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(sorted(PACKED)))
    size = PACKED[type_]
    offset = data.draw(st.integers(0, 32 - size))
    raw = data.draw(st.binary(min_size=size, max_size=size))
    around = data.draw(st.binary(min_size=32, max_size=32))
    word = around[: 32 - offset - size] + raw + around[32 - offset :]
    (found,) = read_all(layout_of((type_, 3, offset)), Slots({3: word}))
    expected = {
        "bool": "true" if any(raw) else "false",
        "int16": str(int.from_bytes(raw, "big", signed=True)),
        "bytes3": "0x" + raw.hex(),
    }

    assert found.value == expected.get(type_, str(int.from_bytes(raw, "big")))


@given(st.binary(max_size=MAX_TEXT + 70))
def test_texts_are_read_whether_they_are_short_or_long(data: bytes) -> None:
    (found,) = read_all(layout_of(("bytes", 5, 0)), Slots(stored(data, 5)))

    assert found.value == "0x" + data[:MAX_TEXT].hex()
    assert ("the first" in found.remark) == (len(data) > MAX_TEXT)


@given(st.lists(st.integers(0, 2**40 - 1), max_size=20))
def test_small_elements_share_slots(numbers: list[int]) -> None:
    slots = {7: len(numbers).to_bytes(32, "big")}
    for at in range(0, len(numbers), 6):
        packed = sum(number << 40 * part for part, number in enumerate(numbers[at : at + 6]))
        slots[place(7) + at // 6] = packed.to_bytes(32, "big")
    (found,) = read_all(layout_of(("uint40[]", 7, 0)), Slots(slots))

    assert [item.value for item in found.parts] == [str(n) for n in numbers[:MAX_ITEMS]]
    assert ("of" in found.remark) == (len(numbers) > MAX_ITEMS)
    assert (found.remark == "empty") == (not numbers)


def test_large_elements_have_slots_of_their_own() -> None:
    slots = {1: (2).to_bytes(32, "big")} | {
        place(1) + at: (40 + at).to_bytes(32, "big") for at in range(4)
    }
    (found,) = read_all(layout_of(("uint256[2][]", 1, 0)), Slots(slots))

    assert [[two.value for two in part.parts] for part in found.parts] == [
        ["40", "41"],
        ["42", "43"],
    ]
    assert [part.slot for part in found.parts] == [
        (place(1) + at).to_bytes(32, "big") for at in (0, 2)
    ]


@given(st.integers(0, 2**256 - 1), st.text(), st.binary(max_size=40))
def test_nested_mapping_is_read_by_all_keys(number: int, text: str, value: bytes) -> None:
    inner = place(place(9, text.encode()), number.to_bytes(32, "big"))
    keys = [text.encode(), number.to_bytes(32, "big")]
    slot = Slot((9).to_bytes(32, "big"))
    found = look_up(layout_of(("maps", 9, 0)), "maps", slot, keys, Slots(stored(value, inner)))

    assert found.value == value.decode("utf-8", "replace")
    (mapping,) = read_all(layout_of(("maps", 9, 0)), Slots({}))
    assert (mapping.mapping, mapping.keys, mapping.value) == ("maps", ("string", "uint256"), None)


def test_number_of_read_slots_is_limited() -> None:
    every = Slots({slot: (2**255).to_bytes(32, "big") for slot in range(400)})
    found = read_all(layout_of(*(("uint256", slot, 0) for slot in range(400))), every)

    assert every.read == MAX_SLOTS
    assert [variable.value is None for variable in found] == [False] * MAX_SLOTS + [True] * 144
    assert found[-1].remark.startswith("not read")


def test_absurd_array_length_is_limited() -> None:
    full = b"\xff" * 32
    many = Slots({1: full, 2: full, 3: full})
    found = read_all(
        layout_of(("string[]", 1, 0), ("bytes", 2, 0), ("huge", 3, 0), ("huge", 2**256 - 1, 0)),
        many,
    )

    assert many.read < 100
    assert [len(variable.parts) for variable in found] == [MAX_ITEMS, 0, MAX_ITEMS, MAX_ITEMS]
    assert found[3].parts[1].slot == bytes(32)


def test_lines_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINES", 20)
    found = read_all(layout_of(*(("bool", 0, offset) for offset in range(30))), Slots({}))
    nested = read_all(layout_of(("uint256[2][]", 0, 0)), Slots({0: b"\xff" * 32}))

    assert len(found) == 20
    assert len(nested[0].parts) == 7
    assert nested[0].remark.startswith("the first 7 of")


@pytest.mark.parametrize("word", [b"\0" * 31 + b"\x40", b"\0" * 31 + b"\x3f"])
def test_a_slot_that_no_compiler_writes_is_shown_as_it_is(word: bytes) -> None:
    (found,) = read_all(layout_of(("string", 0, 0)), Slots({0: word}))

    assert found.value == "0x" + word.hex()
    assert found.remark == "not a valid encoding"


def test_reading_slots_may_end_early() -> None:
    asked = []

    def one_alone(slots: Sequence[Slot]) -> dict[Slot, Word]:
        asked.append(len(slots))
        return {slots[0]: Word((5).to_bytes(32, "big"))}

    found = read_all(layout_of(("uint256", 0, 0), ("uint256", 1, 0)), one_alone)

    assert asked == [2]
    assert [variable.value for variable in found] == ["5", None]


def test_number_of_mapping_keys_on_a_page_is_limited() -> None:
    types: dict[str, Any] = {"uint256": TYPES["uint256"], "m0": TYPES["uint256"]}
    for depth in range(1, 20):
        types[f"m{depth}"] = {**TYPES["map"], "value": f"m{depth - 1}"}
    types["all"] = inplace("m10[10]", 320, base="m10")
    deep = {"label": "deep", "type": "m17", "slot": "0", "offset": 0}
    rows = [{"label": "row", "type": "all", "slot": str(slot), "offset": 0} for slot in range(40)]
    layout = read_layout({"storage": [deep, *rows], "types": types})
    first, *others = read_all(layout, Slots({}))
    cells = [cell for variable in others for cell in variable.parts]

    assert (first.mapping, first.remark) == ("", "nested too deeply to be looked up")
    assert sum(len(cell.keys) for cell in cells) == reading.MAX_INPUTS
    assert cells[-1].remark == "the page has too many mappings to look up"


def test_displayed_labels_are_truncated() -> None:
    types = {"long": inplace("struct " + "L" * 5000, 32)}
    storage = [{"label": "v" * 5000, "type": "long", "slot": "0", "offset": 0}]
    (found,) = read_all(read_layout({"storage": storage, "types": types}), Slots({}))

    assert len(found.name) == len(found.type) == 200


@pytest.mark.parametrize(
    ("label", "size", "text", "word"),
    [
        ("Tag", 4, "0xcafebabe" + "00" * 28, "cafebabe" + "00" * 28),
        ("Price", 12, "0x" + "00" * 31 + "07", "00" * 31 + "07"),
        ("Id", 32, "7", "00" * 31 + "07"),
        ("enum Wood", 1, "2", "00" * 31 + "02"),
    ],
)
def test_keys_of_types_with_names_of_their_own_are_hashed_as_solidity_does(
    label: str, size: int, text: str, word: str
) -> None:
    layout = read_layout({"storage": [], "types": {"k": inplace(label, size)}})

    assert encode_key(abi_type(layout.types["k"]), text).hex() == word


def test_short_key_of_a_named_type_is_refused_with_a_hint() -> None:
    layout = read_layout({"storage": [], "types": {"k": inplace("Tag", 4)}})

    with pytest.raises(BadText, match="must be 0x and 64 digits"):
        encode_key(abi_type(layout.types["k"]), "0xcafebabe")
    assert hint(layout.types["k"]) == "Tag, as 0x and the 64 digits of its word"

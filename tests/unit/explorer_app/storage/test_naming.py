"""Names of changed slots: plain and packed variables, structs, arrays, strings, and mappings by guessed keys."""

from typing import Any

import pytest

from explorer_app.storage import naming
from explorer_app.storage.layout import VariableLayout, read_layout
from explorer_app.storage.naming import SlotDifference, named
from primitives.evm import Address, Slot, Word
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address

SOMEBODY, OTHER = Address(b"\x11" * 20), Address(b"\x22" * 20)


def word(value: int | bytes) -> Word:
    return Word((value if isinstance(value, bytes) else value.to_bytes(32, "big")).rjust(32, b"\0"))


def hashed(*parts: int | bytes) -> int:
    return int.from_bytes(keccak256(b"".join(word(part) for part in parts)), "big")


def text(address: Address) -> str:
    return str(checksum_address(address))


def plain(label: str, size: int) -> dict[str, Any]:
    return {"label": label, "encoding": "inplace", "numberOfBytes": str(size)}


def mapping(label: str, key: str, value: str) -> dict[str, Any]:
    return {
        "label": label, "encoding": "mapping", "numberOfBytes": "32", "key": key, "value": value,
    }  # fmt: skip


def variable(label: str, type_: str, slot: int, offset: int = 0) -> dict[str, Any]:
    return {"label": label, "type": type_, "slot": str(slot), "offset": offset}


LAYOUT: VariableLayout = read_layout(
    {
        "storage": [
            variable("owner", "address", 0),
            variable("paused", "bool", 0, 20),
            variable("total", "uint256", 1),
            variable("balances", "amounts", 2),
            variable("allowed", "nested", 3),
            variable("title", "string", 4),
            variable("queue", "queue", 5),
            variable("config", "config", 6),
            variable("small", "small", 8),
            variable("configs", "configs", 9),
            variable("flags", "flags", 10),
        ],
        "types": {
            "address": plain("address", 20),
            "bool": plain("bool", 1),
            "uint256": plain("uint256", 32),
            "uint64": plain("uint64", 8),
            "amounts": mapping("mapping(address => uint256)", "address", "uint256"),
            "nested": mapping("mapping(address => mapping(address => uint256))", "address", "amounts"),
            "string": {"label": "string", "encoding": "bytes", "numberOfBytes": "32"},
            "queue": {"label": "uint256[]", "encoding": "dynamic_array", "numberOfBytes": "32", "base": "uint256"},
            "config": {**plain("struct Config", 64), "members": [variable("limit", "uint64", 0), variable("admin", "address", 0, 8), variable("fee", "uint256", 1)]},
            "small": {**plain("uint64[4]", 32), "base": "uint64"},
            "configs": mapping("mapping(uint256 => struct Config)", "uint256", "config"),
            "flags": mapping("mapping(bool => bool)", "bool", "bool"),
        },
    }
)  # fmt: skip


def names(
    slot: int, before: int | bytes, after: int | bytes, *keys: int | bytes
) -> list[tuple[str, str, str]]:
    change = SlotDifference(Slot(word(slot)), word(before), word(after))
    (shown,) = named(LAYOUT, [change], [word(key) for key in keys])
    return [(variable.name, variable.before, variable.after) for variable in shown.variables]


def test_only_those_variables_of_a_packed_slot_are_named_that_changed() -> None:
    paused = int.from_bytes(SOMEBODY, "big") + (1 << 160)
    assert names(0, SOMEBODY, paused) == [("paused", "false", "true")]
    assert names(0, SOMEBODY, OTHER) == [("owner", text(SOMEBODY), text(OTHER))]
    assert [row[0] for row in names(0, 0, paused)] == ["owner", "paused"]
    assert names(8, 0, 5 << 64) == [("small[1]", "0", "5")]


def test_a_variable_of_its_own_slot_is_named() -> None:
    assert names(1, 5, 6) == [("total", "5", "6")]
    assert names(7, 1, 2) == [("config.fee", "1", "2")]
    assert names(6, 0, 9) == [("config.limit", "0", "9")]


def test_a_mapping_is_named_by_the_keys_that_occur_in_the_transaction() -> None:
    balance = hashed(SOMEBODY, 2)
    assert names(balance, 5, 4, OTHER, SOMEBODY) == [(f"balances[{text(SOMEBODY)}]", "5", "4")]
    assert names(balance, 5, 4, OTHER) == []
    allowance = hashed(word(OTHER), word(hashed(SOMEBODY, 3)))
    assert names(allowance, 1, 0, SOMEBODY, OTHER) == [
        (f"allowed[{text(SOMEBODY)}][{text(OTHER)}]", "1", "0")
    ]
    assert names(hashed(77, 9) + 1, 0, 3, 77) == [("configs[77].fee", "0", "3")]
    assert names(hashed(1, 10), 0, 1, 1, 2) == [("flags[true]", "false", "true")]


def test_arrays_and_strings_are_named_by_their_data() -> None:
    data = hashed(5)
    assert names(5, 2, 3) == [("queue.length", "2", "3")]
    assert names(data + 40, 0, 9) == [("queue[40]", "0", "9")]
    short = b"hello".ljust(31, b"\0") + bytes([10])
    assert names(4, 0, short) == [("title", "", "hello")]
    assert names(4, short, 2 * 100 + 1) == [("title", "hello", "100 bytes")]
    ((name, _, after),) = names(hashed(4) + 2, 0, b"\xaa" * 32)
    assert (name, after) == ("title (word 2)", "0x" + "aa" * 32)


def test_unknown_slot_has_no_name() -> None:
    assert names(99, 0, 1) == []
    assert names(hashed(2**200, 2), 0, 1, 2**200) == []  # too large for an address
    assert names(hashed(2, 10), 0, 1, 2) == []  # no bool


def test_the_search_ends_at_the_limit_of_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "MAX_HASHES", 2)
    keys = [Address(bytes([number]) * 20) for number in range(1, 9)]
    assert names(hashed(keys[1], 2), 0, 1, *keys) != []
    assert names(hashed(keys[2], 2), 0, 1, *keys) == []

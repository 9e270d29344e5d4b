"""The storage layout of a compiler is parsed; invalid ones are rejected."""

from typing import Any

import pytest

from explorer_app.storage.layout import MAX_KEYS, MalformedLayout, read_layout

UINT = {"label": "uint256", "encoding": "inplace", "numberOfBytes": "32"}


def test_a_contract_without_variables_has_a_layout() -> None:
    assert read_layout({"storage": [], "types": None}).variables == ()


def test_long_labels_and_nested_mappings_are_truncated() -> None:
    maps = {**UINT, "encoding": "mapping", "key": "u", "value": "m"}
    types = {"u": {**UINT, "label": "L" * 5000}, "m": maps}
    storage = [{"label": "v" * 5000, "type": "u", "slot": "0", "offset": 0}]
    layout = read_layout({"storage": storage, "types": types})

    assert len(layout.variables[0].name) == len(layout.types["u"].short) == 200
    assert len(layout.key_types("m")) == MAX_KEYS + 1


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        {"storage": [{"label": "x"}], "types": {}},
        {"storage": [{"label": "x", "type": "t", "slot": "0", "offset": 0}], "types": {}},
        {"storage": [{"label": "x", "type": "t", "slot": "y", "offset": 0}], "types": {"t": UINT}},
        {"storage": [], "types": {"t": {**UINT, "encoding": "else"}}},
        {"storage": [], "types": {"t": {**UINT, "numberOfBytes": "0"}}},
        {"storage": [], "types": {"t": {**UINT, "numberOfBytes": "33"}}},
        {"storage": [], "types": {"t": {**UINT, "base": "t"}}},
        {"storage": [], "types": {"t": {**UINT, "encoding": "dynamic_array"}}},
        {"storage": [], "types": {"t": {**UINT, "encoding": "mapping", "key": "t", "value": "u"}}},
    ],
)
def test_an_invalid_layout_is_refused(given: Any) -> None:
    with pytest.raises(MalformedLayout):
        read_layout(given)

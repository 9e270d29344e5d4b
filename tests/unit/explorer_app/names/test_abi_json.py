"""ABIs as compilers write them, and invalid ones."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer_app.names.abi_json import MalformedAbi, read_abi, read_functions

ABI: list[dict[str, Any]] = [
    {"type": "constructor", "inputs": [{"name": "a", "type": "address"}]},
    {
        "type": "function",
        "name": "pay",
        "inputs": [
            {"name": "to", "type": "tuple[]", "components": [{"name": "who", "type": "address"}]},
            {"name": "", "type": "uint256"},
        ],
    },
    {"name": "old", "constant": True, "inputs": [], "outputs": []},
    {
        "type": "event",
        "name": "Paid",
        "inputs": [{"name": "to", "type": "address", "indexed": True}],
    },
    {"type": "event", "name": "Hidden", "anonymous": True, "inputs": []},
    {"type": "error", "name": "Poor", "inputs": []},
    {"type": "receive"},
    {"type": "fallback"},
]


def test_functions_events_and_errors_are_declarations() -> None:
    found = read_abi(ABI)

    assert [function.signature for function in found.functions] == [
        "pay((address)[],uint256)",
        "old()",
    ]
    assert found.functions[0].parameters[0].members[0].name == "who"
    assert [event.signature for event in found.events] == ["Paid(address)"]
    assert found.events[0].parameters[0].indexed
    assert [error.signature for error in found.errors] == ["Poor()"]


def nested(depth: int) -> dict[str, Any]:
    inner = {"type": "uint256", "name": ""}
    for _ in range(depth):
        inner = {"type": "tuple", "name": "", "components": [inner]}
    return inner


@pytest.mark.parametrize(
    "given",
    [
        None,
        "[]",
        {},
        [1],
        [{"type": "other"}],
        [{"type": []}],
        [{"type": {}}],
        [{"type": "function", "name": "f", "inputs": [{"type": "uint256" + "[]" * 60}]}],
        [{"type": "function", "name": "not a name", "inputs": []}],
        [{"type": "function", "inputs": []}],
        [{"type": "function", "name": "f", "inputs": 1}],
        [{"type": "function", "name": "f", "inputs": [{"name": "a"}]}],
        [{"type": "function", "name": "f", "inputs": [{"type": "tuple"}]}],
        [{"type": "function", "name": "f", "inputs": [nested(20)]}],
        [{"type": "function", "name": "f", "inputs": ["uint256"]}],
        [{"type": "function", "name": "f", "inputs": [{"type": "bool" + "[]" * 17}]}],
        [
            {
                "type": "function",
                "name": "f",
                "inputs": [
                    {"type": "tuple" + "[1]" * 9, "components": [{"type": "bool" + "[]" * 9}]}
                ],
            }
        ],
        [{"type": "function", "name": "f" * 201}],
        [{"type": "function", "name": "f", "inputs": []}] * 5000,
    ],
)
def test_an_invalid_abi_is_refused(given: Any) -> None:
    with pytest.raises(MalformedAbi):
        read_abi(given)


@pytest.mark.parametrize(
    "type_",
    [
        "(uint256)", "int0", "uint7", "uint264", "uint008", "uint", "bytes0", "bytes33", "bytes04", "tuple", "uint٨",
        "uint256[", "uint256[a]", "", "1ab", "mapping(uint256)", "f(uint256)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["inputs", "components"])
def test_types_that_do_not_exist_are_refused(type_: str, where: str) -> None:
    entry = {"type": type_, "name": "x"}
    inner = entry if where == "inputs" else {"type": "tuple", "name": "t", "components": [entry]}
    with pytest.raises(MalformedAbi):
        read_abi([{"type": "function", "name": "f", "inputs": [inner]}])


@pytest.mark.parametrize(
    "type_",
    [
        "uint8", "int256", "bytes", "bytes1", "bytes32[2][]", "function", "fixed128x18", "bool", "address[]", "string",
        "Set.Data storage", "Lib.Color", "Color[]", "interval", "uint256[] storage", "mapping(address => mapping(uint8 => bool)) storage",
    ],
)  # fmt: skip
def test_types_that_compilers_write_are_read(type_: str) -> None:
    (found,) = read_abi([{"name": "f", "inputs": [{"type": type_}]}]).functions

    assert found.types == (type_,)


def test_long_names_of_parameters_are_cut() -> None:
    inputs = [{"type": "bool", "name": "n" * 100_000}, {"type": "bool", "name": None}]
    (found,) = read_abi([{"name": "f", "inputs": inputs}]).functions

    assert [len(parameter.name) for parameter in found.parameters] == [200, 0]


WORDS = st.sampled_from(
    ["type", "name", "inputs", "components", "anonymous", "function", "event", "tuple", "tuple[]", "uint256", "f", ""]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(WORDS, JSON, max_size=4), max_size=3))
def test_any_abi_is_parsed_or_refused(given: Any) -> None:
    with suppress(MalformedAbi):
        read_abi(given)


CALLS = [
    {"type": "constructor", "inputs": []},
    {"type": "event", "name": "Moved", "inputs": []},
    {"type": "function", "name": "get", "inputs": [], "outputs": [{"type": "uint256", "name": ""}], "stateMutability": "view"},
    {"type": "function", "name": "half", "inputs": [{"type": "uint8", "name": "x"}], "outputs": [], "stateMutability": "pure"},
    {"type": "function", "name": "pay", "inputs": [], "outputs": [], "stateMutability": "payable"},
    {"name": "old", "inputs": [], "outputs": [{"type": "tuple", "components": [{"type": "bool", "name": "ok"}]}], "constant": True},
    {"type": "function", "name": "oldPay", "payable": True},
    {"type": "function", "name": "set", "inputs": None, "outputs": None, "stateMutability": []},
    {"type": "function", "name": "get", "inputs": [], "outputs": []},
]  # fmt: skip


def test_functions_have_mutability_and_outputs() -> None:
    found = {function.name: function for function in read_functions(CALLS)}

    assert list(found) == ["get", "half", "pay", "old", "oldPay", "set"]
    assert [name for name, function in found.items() if function.only_reads] == [
        "get",
        "half",
        "old",
    ]
    assert [name for name, function in found.items() if function.is_getter] == ["get", "old"]
    assert [name for name, function in found.items() if function.is_payable] == ["pay", "oldPay"]
    assert [output.type for output in found["old"].outputs] == ["(bool)"]
    assert found["get"].selector == "6d4ce63c"


@pytest.mark.parametrize("outputs", [7, [{"name": "x"}], [{"type": "tuple"}], ["uint256"]])
def test_malformed_outputs_are_refused(outputs: object) -> None:
    with pytest.raises(MalformedAbi):
        read_functions([{"type": "function", "name": "f", "outputs": outputs}])

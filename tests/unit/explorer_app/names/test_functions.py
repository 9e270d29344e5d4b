"""Functions of an ABI: their results, and those that only read."""

import pytest

from explorer_app.names.abi_json import MalformedAbi
from explorer_app.names.functions import read_functions

ABI = [
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


def test_functions_say_what_they_may_do() -> None:
    found = {function.name: function for function in read_functions(ABI)}

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
def test_outputs_that_are_none_are_refused(outputs: object) -> None:
    with pytest.raises(MalformedAbi):
        read_functions([{"type": "function", "name": "f", "outputs": outputs}])

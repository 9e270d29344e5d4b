"""The reference describes every method completely and correctly, from docstrings of a fixed form."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from jsonschema import Draft7Validator

from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from nodeproject.web.openrpc.arguments import NEEDED, Undocumented, default_of, schema_of
from nodeproject.web.openrpc.document import COMPONENTS, examples
from nodeproject.web.openrpc.entries import RESULTS, DocumentedError, MethodEntry, entries_of, read
from tests.unit.nodeproject.openrpc.described import (
    MAINNET,
    OF_SUBNETS,
    entries,
    faults,
    interfaces,
)


def plain() -> None:
    """eth_this: give an account a balance."""


def whole() -> None:
    """eth_this and eth_that: what an account has (tracing.md 3). Unspecified: more than geth has.

    A paragraph of
    two lines (`elsewhere`).

    Unspecified: `pending` is the head.

    Args:
        rpc: The endpoint.

    Raises:
        JsonRpcError: -32000, there is no such block; 3, it
            reverts.
        DevelopmentError: Others follow the chain.
    """


def alike() -> None:
    """eth_alike: the same. Raises as `whole`."""


def nameless() -> None:
    """Say nothing of a method."""


def silent() -> None:
    pass


def test_a_summary_is_a_sentence() -> None:
    assert read(plain) == ("Give an account a balance.", "", ())


def test_description_omits_paragraphs_for_developers() -> None:
    told = read(whole)

    assert told.summary == "What an account has. More than geth has."
    assert told.description == "A paragraph of two lines.\n\n`pending` is the head."


def test_errors_have_codes_or_names() -> None:
    assert read(whole).failures == (
        DocumentedError("JsonRpcError", -32000, "There is no such block"),
        DocumentedError("JsonRpcError", 3, "It reverts"),
        DocumentedError("DevelopmentError", None, "Others follow the chain"),
    )


def test_errors_can_be_shared_with_another_handler() -> None:
    told = read(alike)

    assert told.summary == "The same."
    assert told.failures == read(whole).failures


def test_handler_without_name_has_no_summary() -> None:
    assert read(nameless).summary == read(silent).summary == ""


EVERYWHERE = [*entries(), *entries(**MAINNET)]


def given(entry: MethodEntry) -> Mapping[str, Any]:
    """Return the arguments of a method's example by name."""
    params = entry.example.params
    if isinstance(params, Mapping):
        return params
    return dict(zip((argument.name for argument in entry.arguments), params, strict=False))


def test_every_method_is_described() -> None:
    for changes in ({}, MAINNET):
        for interface in interfaces(**changes):
            listed = sorted(method.name for method in interface.registry)
            assert sorted([*(entry.name for entry in interface.entries), "rpc.discover"]) == listed


def test_method_names_are_unique_in_the_node() -> None:
    names = [entry.name for entry in entries()]
    assert len(names) == len(set(names))


def test_nothing_is_described_that_does_not_exist() -> None:
    names = {item.name for item in EVERYWHERE} | OF_SUBNETS
    assert set(RESULTS) == names
    assert set(examples()) == names
    assert set(NEEDED) < names


def test_each_method_has_a_summary_that_is_a_sentence() -> None:
    wrong = [
        item.name
        for item in EVERYWHERE
        if not item.summary.endswith((".", '".')) or "Raises" in item.summary + item.description
    ]
    assert wrong == []


def test_schemas_are_schemas() -> None:
    for schema in (*COMPONENTS.values(), *RESULTS.values()):
        Draft7Validator.check_schema(schema)
    for entry in EVERYWHERE:
        for argument in entry.arguments:
            Draft7Validator.check_schema(argument.schema)


def test_the_result_of_each_example_is_of_its_schema() -> None:
    wrong = {
        item.name: found
        for item in EVERYWHERE
        if item.example.error is None and (found := faults(item.result, item.example.result))
    }
    assert wrong == {}


def test_the_arguments_of_each_example_are_of_their_schemas_and_enough() -> None:
    for entry in EVERYWHERE:
        values = given(entry)
        known = {argument.name: argument for argument in entry.arguments}
        assert set(values) <= set(known), entry.name
        assert len(values) == len(entry.example.params), entry.name
        assert {item.name for item in entry.arguments if item.required} <= set(values), entry.name
        for name, value in values.items():
            assert faults(known[name].schema, value) == [], f"{entry.name}: {name}"


def test_error_of_an_example_is_documented() -> None:
    for entry in EVERYWHERE:
        if entry.example.error is not None:
            assert entry.example.error["code"] in {fault.code for fault in entry.faults}, entry.name


def test_internal_errors_are_not_documented() -> None:
    codes = {item.name: {fault.code for fault in item.faults} for item in EVERYWHERE}
    assert codes["eth_feeHistory"] == {-32000, -32602}
    assert codes["eth_call"] == {3, -32000, -32602}
    assert codes["eth_blockNumber"] == set()
    assert codes["info.getNodeID"] == {-32000}
    assert codes["eth_subscribe"] == {-32601, -32602, -32000}


@pytest.mark.parametrize(
    ("param", "shown"),
    [
        (Param("block", str, default="latest"), "latest"),
        (Param("on", bool, default=False), False),
        (Param("blocks", int, default=1), 1),
        (Param("limit", int, default=0), None),
        (Param("tx", str, default=""), None),
        (Param("nodeIDs", list, default=()), None),
        (Param("tx", str), None),
    ],
)
def test_a_default_is_shown_that_a_client_could_send(param: Param, shown: object) -> None:
    assert default_of(param) == shown


def test_a_parameter_of_no_known_form_is_not_passed_over() -> None:
    with pytest.raises(Undocumented, match="the form of the parameter strange"):
        schema_of(Param("strange", str))


def _unknown(_value: object) -> None:
    """eth_unknown: what nobody has described."""


def _silent(_value: object) -> None:
    pass


@pytest.mark.parametrize(("name", "handler"), [("eth_unknown", _unknown), ("eth_chainId", _silent)])
def test_a_method_without_summary_result_or_example_is_not_passed_over(
    name: str, handler: Any
) -> None:
    registry = MethodRegistry()
    registry.add(name, handler)

    with pytest.raises(Undocumented, match=f"the summary, the result or an example of {name}"):
        _all(entries_of(registry, examples(), by_name=False))


def _all(found: Iterable[MethodEntry]) -> list[MethodEntry]:
    return list(found)


def test_schema_is_found_behind_a_forked_parser() -> None:
    (block,) = (
        param
        for interface in interfaces()
        for method in interface.registry
        if method.name == "eth_getBlockReceipts"
        for param in method.params
    )
    assert inspect.unwrap(block.parse) is not block.parse
    assert schema_of(block) == {"$ref": "#/components/schemas/BlockParam"}

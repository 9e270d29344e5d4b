"""The OpenRPC documents of each interface and of the whole node."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cchain_app.api.errors import HISTORY_PRUNED, SERVER_ERROR
from nodeproject.web.openrpc.document import whole
from tests.builders.node_settings import updated
from tests.unit.nodeproject.openrpc.described import MAINNET, interfaces

METHOD = {
    "name", "summary", "description", "tags", "paramStructure", "params", "result", "errors",
    "examples", "servers",
}  # fmt: skip


def documents() -> Iterator[dict[str, Any]]:
    for changes in ({}, MAINNET):
        found = interfaces(**changes)
        yield json.loads(whole(found))
        yield from (json.loads(bytes(item.discover())) for item in found)


DOCUMENTS = list(documents())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_has_exactly_the_members_of_openrpc(document: dict[str, Any]) -> None:
    assert set(document) == {"openrpc", "info", "servers", "methods", "components"}
    assert document["openrpc"].startswith("1.3.")
    assert {"title", "version"} <= set(document["info"]) <= {"title", "version", "license"}
    assert document["servers"]
    for server in servers(document):
        assert set(server) == {"name", "url"}
        assert server["url"].startswith("/ext/")
    assert list(document["components"]) == ["schemas"]


def servers(document: dict[str, Any]) -> Iterator[dict[str, str]]:
    yield from document["servers"]
    for method in document["methods"]:
        yield from method.get("servers", ())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_method_has_the_members_of_openrpc(document: dict[str, Any]) -> None:
    assert len({method["name"] for method in document["methods"]}) == len(document["methods"])
    for method in document["methods"]:
        assert {"name", "params", "result"} <= set(method) <= METHOD
        assert method["paramStructure"] in {"by-name", "by-position"}
        assert set(method["result"]) == {"name", "schema"}
        for param in method["params"]:
            assert set(param) == {"name", "required", "schema"}
        assert all(set(item) == {"name"} for item in method["tags"])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_parameter_names_are_unique_and_required_ones_first(
    document: dict[str, Any],
) -> None:
    for method in document["methods"]:
        names = [param["name"] for param in method["params"]]
        required = [param["required"] for param in method["params"]]
        assert len(names) == len(set(names)), method["name"]
        assert required == sorted(required, reverse=True), method["name"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_error_codes_of_a_method_are_unique(document: dict[str, Any]) -> None:
    for method in document["methods"]:
        codes = [item["code"] for item in method["errors"]]
        assert len(codes) == len(set(codes)), method["name"]
        assert all(
            isinstance(other["message"], str) and other["message"] for other in method["errors"]
        )


def test_a_search_documents_pruned_history() -> None:
    (found,) = [
        document for document in DOCUMENTS[0]["methods"] if document["name"] == "trace_filter"
    ]
    told = {item["code"]: item["message"] for item in found["errors"]}
    assert "must be executed was pruned" in told[SERVER_ERROR]
    assert "Calls of these blocks were pruned" in told[HISTORY_PRUNED]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_example_is_a_pairing(document: dict[str, Any]) -> None:
    for method in document["methods"]:
        for example in method.get("examples", ()):
            assert set(example) == {"name", "params", "result"}
            assert set(example["result"]) == {"name", "value"}
            names = [item["name"] for item in example["params"]]
            assert set(names) <= {param["name"] for param in method["params"]}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_schema_references_and_components_match(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert set(references(document)) == {f"#/components/schemas/{name}" for name in schemas}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else ())
        for other in value.values():
            yield from references(other)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_an_interface_reports_its_own_methods_alone_and_makes_that_once() -> None:
    for interface in interfaces():
        document = json.loads(bytes(interface.discover()))
        assert [method["name"] for method in document["methods"]] == [
            entry.name for entry in interface.entries
        ]
        assert interface.discover() is interface.discover()


def test_document_names_the_path_of_each_method() -> None:
    document = json.loads(whole(interfaces()))
    where = {
        method["name"]: [server["url"] for server in method["servers"]]
        for method in document["methods"]
    }

    assert where["eth_chainId"] == ["/ext/bc/C/rpc", "/ext/bc/C/ws"]
    assert where["eth_subscribe"] == ["/ext/bc/C/ws"]
    assert where["platform.getHeight"] == ["/ext/bc/P"]
    assert where["info.peers"] == ["/ext/info"]


def test_a_node_without_the_c_chain_does_not_report_it(settings: Any) -> None:
    settings.NODE = updated(settings.NODE, chains=("P",))
    names = {method["name"] for method in json.loads(whole(interfaces()))["methods"]}

    assert "platform.getHeight" in names
    assert not [name for name in names if name.startswith("eth_")]

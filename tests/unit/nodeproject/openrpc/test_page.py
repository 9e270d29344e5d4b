"""The contents of the reference page, before rendering."""

import gzip
import json
import re
from typing import Any

from nodeproject.web.openrpc.page import Reference, ShownMethod
from tests.unit.nodeproject.openrpc.described import MAINNET, interfaces

ADDRESS = "http://node.example:9650"


def facts(**changes: object) -> dict[str, Any]:
    return Reference(ADDRESS, lambda: interfaces(**changes)).facts()


def methods(shown: dict[str, Any]) -> dict[str, ShownMethod]:
    return {
        method.name: method
        for interface in shown["interfaces"]
        for space in interface.namespaces
        for method in space.methods
    }


def test_methods_stand_in_the_namespace_that_they_begin_with_once() -> None:
    shown = facts()

    spaces = [space for interface in shown["interfaces"] for space in interface.namespaces]
    for space in spaces:
        assert all(re.match(rf"{space.name}[_.]", method.name) for method in space.methods)
    for interface in shown["interfaces"]:
        names = [space.name for space in interface.namespaces]
        assert len(names) == len(set(names))
    assert shown["count"] == len(methods(shown)) == sum(len(space.methods) for space in spaces)


def test_a_node_elsewhere_shows_none_of_the_methods_for_development() -> None:
    names = methods(facts(**MAINNET))

    assert "eth_accounts" in names
    assert not [name for name in names if name.startswith(("anvil_", "evm_", "hardhat_"))]


def test_a_method_is_asked_where_it_is_answered() -> None:
    found = methods(facts())

    assert found["eth_chainId"].path == "/ext/bc/C/rpc"
    assert (found["eth_subscribe"].path, found["eth_subscribe"].needs_socket) == (
        "/ext/bc/C/ws",
        True,
    )
    assert found["platform.getHeight"].path == "/ext/bc/P"


def test_who_tries_a_method_is_told_when_it_changes_the_node() -> None:
    found = methods(facts())

    assert found["anvil_setBalance"].changes
    assert found["platform.issueTx"].changes
    assert not found["eth_getBalance"].changes


def test_the_example_fits_between_single_quotes_of_a_shell() -> None:
    for method in methods(facts()).values():
        assert "'" not in method.request.replace("'\\''", "")
        call = json.loads(method.request.replace("'\\''", "'"))
        assert call["method"] == method.name
        assert call["params"] == json.loads(method.params)


def test_the_answer_of_a_method_that_always_refuses_is_the_error() -> None:
    answer = json.loads(methods(facts())["debug_dbGet"].answer)

    assert answer["error"]["code"] == -32000


def test_page_and_document_are_made_once_and_kept_compressed_too() -> None:
    made: list[int] = []

    def counted() -> Any:
        made.append(1)
        return interfaces()

    reference = Reference(ADDRESS, counted)
    made_of = (reference.html, reference.document)
    for kept in [variant(base) for variant in made_of for base in ("", "/node", "")]:
        assert gzip.decompress(kept.gzipped) == kept.body
    assert len(made) == 2
    assert f"{ADDRESS}</span>/ext/bc/C/rpc".encode() in reference.html("").body
    assert b"ws://node.example:9650</span>/ext/bc/C/ws" in reference.html("").body
    assert f"{ADDRESS}</span>/node/ext/bc/C/rpc".encode() in reference.html("/node").body

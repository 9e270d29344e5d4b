"""The contents of the reference page before rendering, and JSON Schemas as HTML."""

import gzip
import json
import re
from typing import Any

import pytest

from nodeproject.web.openrpc.page import ShownMethod, inline, paragraphs, schema_html
from nodeproject.web.openrpc.reference import Reference
from nodeproject.web.openrpc.schemas import (
    BOOLEAN,
    COUNT,
    NULL,
    TEXT,
    Schema,
    array,
    described,
    mapping,
    nullable,
    one_of,
    record,
    ref,
    words,
)
from tests.unit.nodeproject.openrpc.described import MAINNET, interfaces

HASH = ref("Hash")


def told(schema: Schema) -> str:
    """Return the text of a schema without markup."""
    return re.sub(r"<[^>]+>", "", schema_html(schema))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "anything"),
        (COUNT, "integer"),
        (HASH, "Hash"),
        (nullable(HASH), "Hash or null"),
        (one_of(NULL, NULL), "null"),
        (array(HASH), "array of Hash"),
        (array(one_of(HASH, TEXT)), "array of (Hash or string)"),
        ({"type": "array", "items": [HASH, TEXT]}, "array: Hash, string"),
        (mapping(HASH), "object, each member Hash"),
        (words("a", "b"), "&quot;a&quot; or &quot;b&quot;"),
        ({"const": False}, "false"),
        ({"type": ["object", "string"]}, "object or string"),
        (described(HASH, "of a block"), "Hash of a block"),
        ({**COUNT, "default": 1}, "integer default: 1"),
        ({**BOOLEAN, "default": False}, "boolean default: false"),
        ({**TEXT, "default": "latest"}, "string default: latest"),
        (record({"a": COUNT}, {"b": TEXT}), "objecta: integerb?: string"),
        (array(record({"a": HASH})), "array of objecta: Hash"),
    ],
)
def test_a_schema_is_a_line_and_its_members(schema: Schema, text: str) -> None:
    assert told(schema) == text


def test_schema_name_links_to_its_type() -> None:
    assert schema_html(HASH) == '<a href="#Hash">Hash</a>'


def test_schema_descriptions_are_escaped() -> None:
    assert "<script>" not in schema_html(described(words("<script>"), "<script>"))
    assert "<script>" not in schema_html(record({"<script>": TEXT}))


def test_backticks_are_code_and_the_rest_is_text() -> None:
    assert inline("`0x` is <none>") == "<code>0x</code> is &lt;none&gt;"
    assert paragraphs("One.\n\n`Two`.") == "<p>One.</p><p><code>Two</code>.</p>"
    assert paragraphs("") == ""


ADDRESS = "http://node.example:9650"


def facts(**changes: object) -> dict[str, Any]:
    return Reference(lambda: ADDRESS, lambda: interfaces(**changes)).context()


def methods(shown: dict[str, Any]) -> dict[str, ShownMethod]:
    return {
        method.name: method
        for interface in shown["interfaces"]
        for space in interface.namespaces
        for method in space.methods
    }


def test_each_method_is_listed_once_in_its_namespace() -> None:
    shown = facts()

    spaces = [space for interface in shown["interfaces"] for space in interface.namespaces]
    for space in spaces:
        assert all(re.match(rf"{space.name}[_.]", method.name) for method in space.methods)
    for interface in shown["interfaces"]:
        names = [space.name for space in interface.namespaces]
        assert len(names) == len(set(names))
    assert shown["count"] == len(methods(shown)) == sum(len(space.methods) for space in spaces)


def test_public_network_page_has_no_development_methods() -> None:
    names = methods(facts(**MAINNET))

    assert "eth_accounts" in names
    assert not [name for name in names if name.startswith(("anvil_", "evm_", "hardhat_"))]


def test_forms_post_to_the_methods_path() -> None:
    found = methods(facts())

    assert found["eth_chainId"].path == "/ext/bc/C/rpc"
    assert (found["eth_subscribe"].path, found["eth_subscribe"].needs_socket) == (
        "/ext/bc/C/ws",
        True,
    )
    assert found["platform.getHeight"].path == "/ext/bc/P"


def test_the_form_warns_if_a_method_changes_the_node() -> None:
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

    reference = Reference(lambda: ADDRESS, counted)
    made_of = (reference.html, reference.document)
    for kept in [variant(base) for variant in made_of for base in ("", "/node", "")]:
        assert gzip.decompress(kept.gzipped) == kept.body
    assert len(made) == 2
    assert f"{ADDRESS}</span>/ext/bc/C/rpc".encode() in reference.html("").body
    assert b"ws://node.example:9650</span>/ext/bc/C/ws" in reference.html("").body
    assert f"{ADDRESS}</span>/node/ext/bc/C/rpc".encode() in reference.html("/node").body

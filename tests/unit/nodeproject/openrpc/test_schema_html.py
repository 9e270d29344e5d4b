"""The format of a schema on the reference page."""

import re

import pytest

from nodeproject.web.openrpc.page import inline, paragraphs, schema_html
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


def test_a_name_leads_to_its_type() -> None:
    assert schema_html(HASH) == '<a href="#Hash">Hash</a>'


def test_what_a_schema_says_is_text() -> None:
    assert "<script>" not in schema_html(described(words("<script>"), "<script>"))
    assert "<script>" not in schema_html(record({"<script>": TEXT}))


def test_backticks_are_code_and_the_rest_is_text() -> None:
    assert inline("`0x` is <none>") == "<code>0x</code> is &lt;none&gt;"
    assert paragraphs("One.\n\n`Two`.") == "<p>One.</p><p><code>Two</code>.</p>"
    assert paragraphs("") == ""

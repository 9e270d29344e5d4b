"""JSON on a page: exact, with links, truncated if too long, and never markup."""

import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platform_app.admin.blocks import MAX_CHARACTERS, MAX_LINES, show_json
from primitives.ids import ID, PRIMARY_NETWORK_ID
from tests.builders.platform import some_id

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2**64 - 1) | st.text(max_size=30),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=9), part, max_size=4)
    ),
    max_leaves=20,
)


def _plain(shown: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", shown))


@given(_JSON)
def test_shown_json_is_unchanged(value: object) -> None:
    assert json.loads(_plain(show_json(value, ()))) == value


def test_a_transaction_is_a_link_only_where_it_is_known() -> None:
    known, unknown = some_id("known"), some_id("unknown")
    shown = show_json([{"txID": str(known)}, {"txID": str(unknown)}], {known})
    assert shown.count("<a href") == 1
    assert f'href="/admin/platform_app/tx/{known}/change/"' in shown


@pytest.mark.parametrize(
    ("name", "text", "path"),
    [
        ("parentID", str(some_id("block")), "block/{}/change/"),
        ("subnetID", str(some_id("subnet")), "subnet/{}/change/"),
        ("sourceChain", str(some_id("chain")), "blockchain/{}/change/"),
        ("nodeID", "NodeID-x", "validator/?q={}"),
        ("addresses", "P-local1x", "utxo/?q={}"),
    ],
)
def test_identifiers_are_links(name: str, text: str, path: str) -> None:
    for value in ({name: text}, {name: [text]}):
        assert f'href="/admin/platform_app/{path.format(text)}"' in show_json(value, ())


def test_p_chain_id_is_not_a_link() -> None:
    assert "<a" not in show_json({"blockchainID": str(PRIMARY_NETWORK_ID)}, ())


@given(st.sampled_from(["name", "addresses", "<b>", "nodeID"]), st.text(max_size=50))
def test_no_text_becomes_markup(name: str, text: str) -> None:
    shown = show_json({name: f"<script>{text}", "<i>": [f"</pre>{text}"]}, ())
    assert "<script>" not in shown
    assert "<i>" not in shown
    assert shown.count("</pre>") == 1


def test_a_long_text_is_cut_and_counted() -> None:
    shown = show_json({"memo": "a" * (MAX_CHARACTERS + 1)}, ())
    assert "a" * MAX_CHARACTERS in shown
    assert "a" * (MAX_CHARACTERS + 1) not in shown
    assert f"… {MAX_CHARACTERS + 1} characters" in shown


def test_long_json_is_truncated() -> None:
    shown = show_json(list(range(1_000_000)), ())
    assert shown.count("\n") == MAX_LINES
    assert shown.endswith('<span class="nd-muted">… and so on</span></pre>')
    assert "and so on" not in show_json(list(range(MAX_LINES - 2)), {ID(bytes(32))})

"""The terms that the P-Chain's search boxes accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.terms import IdentifierTerm, read_term
from primitives.addresses import format_address
from primitives.ids import ID, NodeID, ShortID

_TWENTY = st.binary(min_size=20, max_size=20)


@given(st.binary(min_size=32, max_size=32))
def test_an_identifier_is_read_in_cb58_and_in_hex(value: bytes) -> None:
    for text in (str(ID(value)), f" {ID(value)} ", "0x" + value.hex(), value.hex().upper()):
        assert read_term(text) == IdentifierTerm(text.strip(), id=ID(value))


@given(_TWENTY)
def test_a_node_is_known_by_its_prefix(value: bytes) -> None:
    text = str(NodeID(value))
    assert read_term(text) == IdentifierTerm(text, node_id=NodeID(value))


@given(_TWENTY, st.sampled_from(["P", "X", "C"]), st.sampled_from(["local", "avax", "x"]))
def test_an_address_is_read_with_any_chain_and_prefix(value: bytes, chain: str, hrp: str) -> None:
    whole = format_address(chain, hrp, ShortID(value))
    bare = whole.partition("-")[2]
    for text in (whole, bare, bare.upper(), str(ShortID(value))):
        assert read_term(text) == IdentifierTerm(text, address=ShortID(value))


@given(_TWENTY)
def test_twenty_bytes_in_hex_are_address_and_node_id(value: bytes) -> None:
    text = "0x" + value.hex()
    assert read_term(text) == IdentifierTerm(text, node_id=NodeID(value), address=ShortID(value))


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_a_number_is_a_height(number: int) -> None:
    for text in (str(number), f"#{number}", hex(number)):
        assert read_term(text) == IdentifierTerm(text, number=number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "NodeID-",
        "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3L",  # one letter is missing
        "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z95",  # wrong checksum
        "local1",
        "-",
        "P-",
        "1" * 5_000,
        "P-" + "q" * 5_000,
        "\x00",
        "é",
    ],
)
def test_any_other_text_is_only_a_text(text: str) -> None:
    assert read_term(text) == IdentifierTerm(text)


@given(st.text())
def test_no_text_is_too_much(text: str) -> None:
    assert read_term(text).text == text.strip()

"""Results of contracts are not trusted: texts cannot do more than be shown, and numbers are bounded."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as some

from explorer_app.tokens import questions, strings
from primitives.evm import Address
from tests.builders.bytecode import words
from tests.builders.puppet import string


@given(some.text(max_size=80))
def test_invisible_characters_are_removed_from_token_texts(text: str) -> None:
    found = strings.read_text(string(text.encode("utf-8", "surrogatepass")), 255)

    kinds = {unicodedata.category(character) for character in found or ""}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert found is None or found == found.strip() != ""


@given(some.binary(max_size=200))
def test_any_bytes_are_a_text_or_none(output: bytes) -> None:
    found = strings.read_text(output, 64)

    assert found is None or 0 < len(found.encode()) <= 64


def test_exactly_32_bytes_end_at_the_first_zero() -> None:
    assert strings.read_text(b"MKR".ljust(32, b"\0"), 64) == "MKR"
    assert strings.read_text(b"A\0B".ljust(32, b"\0"), 64) == "A"
    assert strings.read_text(b"x" * 32, 64) == "x" * 32
    assert strings.read_text(bytes(32), 64) is None


@pytest.mark.parametrize(
    "output",
    [
        b"", b"MKR", words(32), words(64, 3) + b"abc".ljust(32, b"\0"), words(32, 33) + bytes(32),
        words(32, 2**256 - 1) + b"abc", words(2**256 - 1, 3) + b"abc", bytes(31),
    ],
)  # fmt: skip
def test_offsets_and_lengths_beyond_the_data_give_no_text(output: bytes) -> None:
    assert strings.read_text(output, 64) is None


def test_a_text_is_cut_between_characters() -> None:
    assert strings.read_text(string("éé".encode()), 3) == "é"


def test_similar_looking_texts_have_equal_likeness() -> None:
    assert strings.likeness(" Tether\u00a0USD ") == strings.likeness("TETHER usd")
    assert strings.likeness(None) == ""


@pytest.mark.parametrize("text", ["visit https://x.example", "www.x", "claim at x.io!", "X.COM"])
def test_names_made_to_be_visited_are_seen(text: str) -> None:
    assert strings.looks_like_a_link(text)


@pytest.mark.parametrize("text", ["USD Coin", "v2.0", "A. B.", "Mr. Token"])
def test_other_names_are_not(text: str) -> None:
    assert not strings.looks_like_a_link(text)


def test_numbers_have_32_bytes() -> None:
    assert strings.read_number(words(5)) == 5
    assert strings.read_number(words(5, 6)) is None
    assert strings.read_number(b"\x05") is None
    assert strings.read_decimals(words(77)) == 77
    assert strings.read_decimals(words(78)) is None
    assert strings.read_bool(words(1)) is True
    assert strings.read_bool(words(0)) is False
    assert strings.read_bool(words(2)) is None


def test_selectors_of_calls_match_the_standards() -> None:
    selectors = (questions.NAME, questions.SYMBOL, questions.DECIMALS, questions.TOTAL_SUPPLY)
    assert [selector.hex() for selector in selectors] == [
        "06fdde03",
        "95d89b41",
        "313ce567",
        "18160ddd",
    ]
    assert questions.uri(7, is_collection=True).hex() == "c87b56dd" + words(7).hex()
    assert questions.uri(7, is_collection=False).hex() == "0e89341c" + words(7).hex()
    assert questions.supports(questions.ERC721).hex() == "01ffc9a780ac58cd" + "00" * 28
    holder = Address(b"\x11" * 20)
    assert questions.balance(holder).hex() == "70a08231" + words(holder).hex()
    assert questions.balance(holder, 7).hex() == "00fdd58e" + words(holder, 7).hex()


def test_only_inline_image_uris_are_shown_as_images() -> None:
    image = "data:image/png;base64,iVBORw0KGgo="
    assert strings.described(image) == strings.TokenDescription(image, image=image)
    assert strings.described("data:image/svg+xml,%3Csvg/%3E").image is not None
    for other in ("https://x.example/1.png", "ipfs://x", "data:image/tiff;base64,AAAA", "data:"):
        assert strings.described(other).image is None


def test_other_data_are_text() -> None:
    assert strings.described('data:application/json,{"a": 1}').text == '{"a": 1}'
    assert strings.described("data:application/json;base64,eyJhIjogMX0=").text == '{"a": 1}'
    assert strings.described("data:text/html,%3Cscript%3E").text == "<script>"
    assert strings.described("data:text/plain;base64,***").text is None

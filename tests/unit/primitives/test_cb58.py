"""cb58: round trips, typing errors, and texts that are too long to be decoded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import cb58
from primitives.cb58 import ALPHABET
from tests.builders.reasons import raises

ID_TEXT = "2ejCqUmBRNpFTyEcxfn2Tzb594VKCQHWg9Pxvs7x1MceEWSfnu"


@given(st.integers(0, 8), st.binary(max_size=100))
def test_bytes_round_trip_with_leading_zeros(zeros: int, data: bytes) -> None:
    data = bytes(zeros) + data
    text = cb58.encode(data)
    assert cb58.decode(text) == data
    assert cb58.decode(text, len(data)) == data


@given(st.text(ALPHABET, max_size=60))
def test_a_text_is_accepted_only_if_it_is_the_bytes_text(text: str) -> None:
    try:
        data = cb58.decode(text)
    except cb58.Cb58Error:
        return
    assert cb58.encode(data) == text


@given(st.integers(0, len(ID_TEXT) - 1), st.sampled_from(ALPHABET))
def test_one_wrong_letter_is_noticed(place: int, letter: str) -> None:
    text = ID_TEXT[:place] + letter + ID_TEXT[place + 1 :]
    if text == ID_TEXT:
        assert len(cb58.decode(text)) == 32
        return
    with pytest.raises(cb58.Cb58Error):
        cb58.decode(text, 32)


def test_a_wrong_checksum_is_refused() -> None:
    with raises(
        cb58.Cb58Reason.WRONG_CHECKSUM, kind=cb58.Cb58Error, match=r"^invalid input checksum$"
    ):
        cb58.decode(ID_TEXT[:-1] + "v")


def test_an_empty_text_is_refused() -> None:
    message = r"^base58 decoding error: zero length string$"
    with raises(cb58.Cb58Reason.INVALID_BASE58, kind=cb58.Cb58Error, match=message):
        cb58.decode("")


@pytest.mark.parametrize("text", ["1", "111", "2"])
def test_text_shorter_than_a_checksum_is_refused(text: str) -> None:
    message = r"^input string is smaller than the checksum size$"
    with raises(cb58.Cb58Reason.MISSING_CHECKSUM, kind=cb58.Cb58Error, match=message):
        cb58.decode(text)


@pytest.mark.parametrize("letter", ["0", "O", "I", "l", " ", "-", "ä", "\0", "٣"])
def test_a_letter_outside_the_alphabet_is_named(letter: str) -> None:
    with raises(
        cb58.Cb58Reason.INVALID_BASE58,
        kind=cb58.Cb58Error,
        match=r"^base58 decoding error: invalid character ",
    ):
        cb58.decode(ID_TEXT + letter)


@given(st.binary(max_size=40), st.integers(0, 40))
def test_unexpected_size_is_refused(data: bytes, size: int) -> None:
    text = cb58.encode(data)
    if len(data) == size:
        assert cb58.decode(text, size) == data
        return
    message = rf"^invalid hash length: expected {size} bytes but got (more|{len(data)})$"
    with pytest.raises(cb58.WrongSize, match=message):
        cb58.decode(text, size)


@given(st.integers(0, 300))
def test_text_of_maximum_length_is_decoded(size: int) -> None:
    longest = b"\xff" * size
    assert cb58.decode(cb58.encode(longest), size) == longest


def test_a_text_of_megabytes_is_refused_unread() -> None:
    # decoding takes quadratic time, here hours; invalid letters are not even noticed
    text = "l" * 10_000_000
    with pytest.raises(
        cb58.WrongSize, match=r"^invalid hash length: expected 32 bytes but got more$"
    ):
        cb58.decode(text, 32)
    with raises(
        cb58.Cb58Reason.INVALID_BASE58,
        kind=cb58.Cb58Error,
        match=r"^base58 decoding error: too long$",
    ):
        cb58.decode(text)


def test_without_a_size_2048_bytes_are_read() -> None:
    data = b"\xff" * cb58.MAX_SIZE
    assert cb58.decode(cb58.encode(data)) == data

"""Private keys as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import cb58, keys
from primitives.secp256k1 import ORDER, InvalidPrivateKey
from tests.builders.reasons import raises

private_keys = st.integers(1, ORDER - 1).map(lambda number: number.to_bytes(32, "big"))


@given(private_keys)
def test_private_key_round_trips_through_text(key: bytes) -> None:
    assert keys.parse_private_key(keys.format_private_key(key)) == key


@pytest.mark.parametrize(
    "text", ["", "ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN", "privatekey-"]
)
def test_the_prefix_must_be_there(text: str) -> None:
    message = r"^private key missing PrivateKey- prefix$"
    with raises(keys.PrivateKeyReason.MISSING_KEY_PREFIX, kind=keys.PrivateKeyError, match=message):
        keys.parse_private_key(text)


@pytest.mark.parametrize("size", [0, 31, 33, 500])
def test_a_key_has_32_bytes(size: int) -> None:
    message = r"^private key has unexpected length, expected 32$"
    with raises(keys.PrivateKeyReason.WRONG_KEY_LENGTH, kind=keys.PrivateKeyError, match=message):
        keys.parse_private_key(keys.format_private_key(b"\x01" * size))


def test_a_typing_error_is_noticed() -> None:
    text = keys.format_private_key(b"\x01" * 32)
    with raises(cb58.Cb58Reason.WRONG_CHECKSUM, kind=cb58.Cb58Error):
        keys.parse_private_key(text[:-1] + ("a" if text[-1] != "a" else "b"))


@pytest.mark.parametrize("number", [0, ORDER, 2**256 - 1])
def test_private_key_outside_the_group_is_refused(number: int) -> None:
    key = number.to_bytes(32, "big")
    with pytest.raises(InvalidPrivateKey, match=r"^invalid private key$"):
        keys.parse_private_key(keys.format_private_key(key))
    with pytest.raises(InvalidPrivateKey, match=r"^invalid private key$"):
        keys.address_of(key)


@given(st.text(cb58.ALPHABET, min_size=8, max_size=60))
def test_no_error_holds_the_key(secret: str) -> None:
    with pytest.raises((keys.PrivateKeyError, cb58.Cb58Error)) as caught:
        keys.parse_private_key(f"PrivateKey-{secret}")
    assert secret not in str(caught.value)

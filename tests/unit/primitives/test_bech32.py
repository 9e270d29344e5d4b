"""Bech32: the vectors of BIP-173, and round trips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import addresses

VALID = [
    "A12UEL5L",
    "a12uel5l",
    "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
    "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
    "1" + "1" + "q" * 82 + "c8247j",
    "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
    "?1ezyfcl",
]
INVALID = {
    "\x201nwldj5": "invalid character in string: ' '",
    "\x7f1axkwrx": "invalid character in string: '\\x7f'",
    "\x801eym55h": "invalid character in string: '\\x80'",
    "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx": (
        "invalid bech32 string length 91"
    ),
    "pzry9x0s0muk": "invalid separator index -1",
    "1pzry9x0s0muk": "invalid separator index 0",
    "x1b4n0q5v": "invalid character not part of charset: 'b'",
    "li1dgmt3": "invalid separator index 2",
    "de1lg7wt\xff": "invalid character in string: 'ÿ'",
    "A1G7SGD8": "invalid checksum",
    "10a06t8": "invalid bech32 string length 7",
    "1qzzfhee": "invalid separator index 0",
}


@pytest.mark.parametrize("text", VALID)
def test_valid_texts_of_the_bip_round_trip(text: str) -> None:
    prefix, groups = addresses.decode_groups(text)
    assert prefix == text.lower().rpartition("1")[0]
    assert addresses.encode_groups(prefix, groups) == text.lower()


def test_groups_are_numbered_as_the_bip_does() -> None:
    assert addresses.decode_groups(VALID[3]) == ("abcdef", list(range(32)))


@pytest.mark.parametrize("text", INVALID)
def test_invalid_texts_of_the_bip_are_refused(text: str) -> None:
    with pytest.raises(addresses.Bech32Error) as refusal:
        addresses.decode_groups(text)
    assert str(refusal.value) == INVALID[text]


@given(st.binary(max_size=49))
def test_bytes_round_trip(data: bytes) -> None:
    assert addresses.decode(addresses.encode("local", data)) == ("local", data)


@given(st.binary(max_size=49))
def test_bits_are_kept_in_order_and_filled_up_with_zeros(data: bytes) -> None:
    bits = "".join(f"{byte:08b}" for byte in data)
    _, groups = addresses.decode_groups(addresses.encode("local", data))
    assert "".join(f"{group:05b}" for group in groups) == bits + "0" * (-len(bits) % 5)


def test_non_ascii_letter_is_refused() -> None:
    # the lower case of the Kelvin sign is k; the sign itself counts as upper case
    with pytest.raises(addresses.Bech32Error, match=r"^invalid character in string: '\u212a'$"):
        addresses.decode("\u212a1AAAAAAAA")

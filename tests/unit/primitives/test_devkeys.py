"""The publicly known keys of local networks have their usual encoding (pchain.md 10.2)."""

import pytest

from primitives.addresses import parse_address
from primitives.keys import (
    DEV_KEYS,
    EWOQ_KEY,
    PLATFORM_DEV_KEYS,
    VMRQ_KEY,
    address_of,
    parse_private_key,
)
from primitives.secp256k1 import address_of_private_key


@pytest.mark.parametrize(
    ("key", "text", "address"),
    [
        (
            EWOQ_KEY,
            "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN",
            "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u",
        ),
        (
            VMRQ_KEY,
            "PrivateKey-vmRQiZeXEXYMyJhEiqdC2z5JhuDbxL8ix9UVvjgMu2Er1NepE",
            "P-local1g65uqn6t77p656w64023nh8nd9updzmxyymev2",
        ),
    ],
    ids=["ewoq", "vmRQ"],
)
def test_p_chain_development_keys_are_the_well_known_ones(
    key: bytes, text: str, address: str
) -> None:
    assert parse_private_key(text) == key
    assert address_of(key) == parse_address(address).short_id
    assert key in PLATFORM_DEV_KEYS


def test_every_address_has_its_key() -> None:
    for address, key in DEV_KEYS.items():
        assert address_of_private_key(bytes.fromhex(key[2:])) == address


def test_ewoq_is_the_same_key_on_both_chains() -> None:
    assert "0x" + EWOQ_KEY.hex() in DEV_KEYS.values()

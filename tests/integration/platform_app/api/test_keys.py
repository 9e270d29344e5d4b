"""platform.importKey, exportKey, createAddress, listAddresses."""

from typing import Any

import pytest

from platform_app.api import wire
from platform_app.apps import platform_chain
from primitives.keys import EWOQ_KEY, VMRQ_KEY, address_of, format_private_key, parse_private_key
from tests.builders import platform
from tests.integration.platform_app.api.conftest import EWOQ_TEXT
from tests.integration.platform_app.conftest import PChain, Rpc, refusal

EWOQ_KEY_TEXT = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN"


def test_imported_key_is_exported(alice: dict[str, str], rpc: Rpc) -> None:
    assert rpc("platform.importKey", **alice, privateKey=EWOQ_KEY_TEXT) == {"address": EWOQ_TEXT}
    assert rpc("platform.exportKey", **alice, address=EWOQ_TEXT) == {"privateKey": EWOQ_KEY_TEXT}
    assert parse_private_key(EWOQ_KEY_TEXT) == EWOQ_KEY


def test_addresses_are_listed_the_oldest_first(alice: dict[str, str], rpc: Rpc) -> None:
    made = rpc("platform.createAddress", **alice)["address"]
    rpc("platform.importKey", **alice, privateKey=format_private_key(VMRQ_KEY))

    listed = rpc("platform.listAddresses", **alice)["addresses"]
    assert listed[:2] == [EWOQ_TEXT, made]
    assert len(listed) == 3
    key = parse_private_key(rpc("platform.exportKey", **alice, address=made)["privateKey"])
    assert made == wire.address(platform_chain(), address_of(key))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "argument 'privateKey' not given"),
        (None, "argument 'privateKey' not given"),
        ("ewoqjP7", "private key missing PrivateKey- prefix"),
        ("PrivateKey-x0", "base58 decoding error: invalid character '0'"),
        ("PrivateKey-" + "1" * 60, "private key has unexpected length, expected 32"),
        (EWOQ_KEY_TEXT[:-1] + "M", "invalid input checksum"),
        (format_private_key(bytes(32)), "invalid private key"),
    ],
)
def test_malformed_key_is_refused(alice: dict[str, str], rpc: Rpc, key: Any, words: str) -> None:
    assert refusal(rpc, "platform.importKey", **alice, privateKey=key) == words


def test_keys_that_the_user_has_not(alice: dict[str, str], rpc: Rpc) -> None:
    other = wire.address(platform_chain(), platform.ADDRESS)
    assert refusal(rpc, "platform.exportKey", **alice, address=other) == (
        "problem retrieving private key: not found"
    )
    assert refusal(rpc, "platform.exportKey", **alice, address="x") == (
        "couldn't parse x to address: couldn't parse address \"x\": no separator found in address"
    )


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("platform.importKey", {"privateKey": EWOQ_KEY_TEXT}),
        ("platform.exportKey", {"address": EWOQ_TEXT}),
        ("platform.createAddress", {}),
        ("platform.listAddresses", {}),
    ],
)
def test_a_wrong_user(
    alice: dict[str, str], pchain: PChain, rpc: Rpc, method: str, params: dict[str, str]
) -> None:
    for name in ("alice", "eve"):
        wrong = {"username": name, "password": "another"}
        assert refusal(rpc, method, **wrong, **params) == (
            f'problem retrieving user "{name}": incorrect password: user "{name}"'
        )
    assert refusal(rpc, method, **params) == 'problem retrieving user "": empty username'

"""Messages (EIP-191) and typed data (EIP-712), compared to the EIP's example and to eth-account."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.accounts.messages import (
    BadTypedData,
    message_digest,
    sign_digest,
    typed_data_digest,
)
from primitives.hashing import keccak256
from primitives.recursion import recursion_limit_restored
from tests.builders.cchain import JUNK_KEYS

with recursion_limit_restored():
    from eth_account import Account
    from eth_account.messages import encode_defunct, encode_typed_data

MAIL: dict[str, Any] = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person"},
            {"name": "contents", "type": "string"},
        ],
    },
    "primaryType": "Mail",
    "domain": {
        "name": "Ether Mail",
        "version": "1",
        "chainId": 1,
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    },
    "message": {
        "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
        "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
        "contents": "Hello, Bob!",
    },
}
"""The example of EIP-712."""


@given(st.binary(max_size=300))
def test_a_message_is_signed_as_eth_account_does(data: bytes) -> None:
    signed = Account.sign_message(encode_defunct(data), JUNK_KEYS[0])
    assert sign_digest(message_digest(data), JUNK_KEYS[0]) == bytes(signed.signature)


def test_the_specifications_example_has_its_digest_and_signature() -> None:
    digest = typed_data_digest(MAIL)
    assert digest.hex() == "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"
    assert sign_digest(digest, keccak256(b"cow")).hex() == (
        "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d"
        "07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562"
        "1c"
    )


@given(
    st.fixed_dictionaries(
        {
            "amounts": st.lists(st.integers(0, 2**256 - 1), max_size=4),
            "note": st.text(max_size=20),
            "raw": st.binary(max_size=40).map(lambda data: "0x" + data.hex()),
            "limit": st.integers(-(2**63), 2**63 - 1),
            "open": st.booleans(),
        }
    )
)
def test_structs_and_arrays_are_signed_as_eth_account_does(order: dict[str, Any]) -> None:
    document = {
        "types": {
            "Order": [
                {"name": "amounts", "type": "uint256[]"},
                {"name": "note", "type": "string"},
                {"name": "raw", "type": "bytes"},
                {"name": "limit", "type": "int64"},
                {"name": "open", "type": "bool"},
            ],
            "Orders": [{"name": "all", "type": "Order[]"}],
        },
        "primaryType": "Orders",
        "domain": {"name": "Exchange", "chainId": "0x7a69"},
        "message": {"all": [order, order]},
    }
    signed = Account.sign_message(encode_typed_data(full_message=document), JUNK_KEYS[1])
    assert sign_digest(typed_data_digest(document), JUNK_KEYS[1]) == bytes(signed.signature)


def test_types_that_nothing_uses_change_nothing() -> None:
    more = deepcopy(MAIL)
    more["types"]["Unused"] = [{"name": "mail", "type": "Mail"}, {"name": "n", "type": "uint8"}]
    assert typed_data_digest(more) == typed_data_digest(MAIL)


def test_members_of_the_domain_that_are_null_are_not_there() -> None:
    more = deepcopy(MAIL)
    more["domain"]["salt"] = None
    assert typed_data_digest(more) == typed_data_digest(MAIL)


def domain_digest(document: dict[str, Any]) -> bytes:
    return keccak256(b"\x19\x01" + encode_typed_data(full_message=document).header)


@pytest.mark.parametrize("message", [{}, None, {"ignored": 1}, MAIL["domain"]])
@pytest.mark.parametrize(
    "types", [MAIL["types"], {"EIP712Domain": MAIL["types"]["EIP712Domain"]}, {}]
)
def test_a_domain_alone_is_signed_without_a_message(types: Any, message: Any) -> None:
    document = {**MAIL, "types": types, "primaryType": "EIP712Domain", "message": message}
    assert typed_data_digest(document) == domain_digest(MAIL)
    del document["message"]
    assert typed_data_digest(document) == domain_digest(MAIL)


def test_a_domain_alone_must_have_the_fields_of_its_type() -> None:
    document = {**MAIL, "primaryType": "EIP712Domain", "domain": {"name": "Ether Mail"}}
    with pytest.raises(BadTypedData, match="fields provided in `domain` do not match"):
        typed_data_digest(document)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    document = deepcopy(MAIL)
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda it: it.pop("types"), "types must be an object of arrays"),
        (lambda it: it["types"].update(Mail=[{"name": "x"}]), "types must be an object of arrays"),
        (lambda it: it.pop("primaryType"), "primaryType names none of the types"),
        (lambda it: it.update(primaryType="Letter"), "primaryType names none of the types"),
        (lambda it: it.update(primaryType=["Mail"]), "primaryType names none of the types"),
        (lambda it: it.update(domain=None), "domain and message must be objects"),
        (lambda it: it.update(message=[]), "domain and message must be objects"),
        (lambda it: it["domain"].pop("name"), "fields provided in `domain` do not match"),
        (lambda it: it["message"]["to"].pop("wallet"), "Missing value for field `wallet`"),
        (
            lambda it: it["message"]["to"].update(wallet="0x12"),
            "cannot be encoded by AddressEncoder",
        ),
        (
            lambda it: it["types"]["Mail"].append({"name": "x", "type": "Nothing"}),
            "No definition of type `Nothing`",
        ),
    ],
)
def test_an_invalid_typed_data_is_refused(
    change: Callable[[dict[str, Any]], object], words: str
) -> None:
    with pytest.raises(BadTypedData, match=f"^invalid typed data: .*({words})"):
        typed_data_digest(changed(change))


def test_typed_data_that_takes_long_to_hash_is_refused() -> None:
    document = {
        "types": {
            "Outer": [{"name": "all", "type": "Inner[]"}],
            "Inner": [{"name": f"f{n}", "type": "string"} for n in range(400)],
        },
        "primaryType": "Outer",
        "domain": {},
        "message": {"all": [{} for _ in range(400)]},
    }
    with pytest.raises(BadTypedData, match="too many types and values"):
        typed_data_digest(document)


def test_a_type_within_itself_ends() -> None:
    document = {
        "types": {"Node": [{"name": "next", "type": "Node"}, {"name": "n", "type": "uint8"}]},
        "primaryType": "Node",
        "domain": {},
        "message": {"n": 1, "next": {"n": 2, "next": None}},
    }
    assert len(typed_data_digest(document)) == 32

"""The terms of a new L1, its second validator as text, and the genesis file of its chain."""

import json
from typing import Any

import pytest

from explorer_app.managers.contract import COIN, MANAGER_ADDRESS, ManagerKind
from explorer_app.services.l1_node import NotCreated
from explorer_app.services.l1_terms import (
    PAYER,
    L1Terms,
    genesis_of,
    hash_of,
    read_validator,
    with_manager,
)
from primitives.ids import NodeID

OWNER = "0x" + "0a" * 20
NOW = 1_700_000_000
TERMS = L1Terms("Mine", 9_009, OWNER, "poa", 100, 1_000_000)
ON_C = TERMS._replace(manager="0x" + "0f" * 20)
NODE = NodeID(b"\x05" * 20)


def file_of(**changes: Any) -> str:
    document: dict[str, Any] = {
        "config": {"chainId": 9_009, "warpConfig": {"blockTimestamp": NOW}},
        "alloc": {PAYER.hex(): {"balance": "0x10"}},
    }
    return json.dumps(document | changes)


def test_a_made_genesis_has_the_owner_the_payer_and_the_manager() -> None:
    document = json.loads(genesis_of(TERMS, NOW))

    assert document["config"]["chainId"] == 9_009
    assert int(document["gasLimit"], 16) == document["config"]["feeConfig"]["gasLimit"]
    assert int(document["timestamp"], 16) == NOW
    assert document["config"]["warpConfig"]["blockTimestamp"] == NOW
    assert list(document["alloc"]) == [OWNER[2:], PAYER.hex(), MANAGER_ADDRESS.hex()]
    owners = document["alloc"][MANAGER_ADDRESS.hex()]["storage"]
    assert [int(value, 16) for value in owners.values()] == [int.from_bytes(PAYER, "big")]


def test_a_made_genesis_without_contract_has_one_account() -> None:
    assert list(json.loads(genesis_of(ON_C, NOW))["alloc"]) == [OWNER[2:]]


def test_the_payer_is_one_account_if_it_is_the_owner() -> None:
    terms = TERMS._replace(owner=f"0x{PAYER.hex()}", manager="pos")

    alloc = json.loads(genesis_of(terms, NOW))["alloc"]

    assert list(alloc) == [PAYER.hex(), MANAGER_ADDRESS.hex()]
    assert int(alloc[PAYER.hex()]["balance"], 16) == 10**24 + 20 * COIN
    assert len(alloc[MANAGER_ADDRESS.hex()]["storage"]) == 5


def test_a_genesis_file_gets_the_manager() -> None:
    found = json.loads(with_manager(file_of(gasLimit="0x1"), TERMS))

    assert list(found["alloc"]) == [PAYER.hex(), MANAGER_ADDRESS.hex()]
    del found["alloc"][MANAGER_ADDRESS.hex()]
    assert found == json.loads(file_of(gasLimit="0x1"))
    untouched = "{ }"
    assert with_manager(untouched, ON_C) == untouched


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "the genesis file is not JSON"),
        ("[" * 100_000, "the genesis file is not JSON"),
        ("[]", "the genesis file has no object `alloc`"),
        (file_of(alloc=[]), "the genesis file has no object `alloc`"),
        (file_of(config={}), "no `config.warpConfig`, without which the manager cannot speak"),
        (file_of(config=None), "no `config.warpConfig`"),
        (file_of(alloc={f"0x{MANAGER_ADDRESS.hex().upper()}": {}}), "has an account 0x0feedc0de0"),
        (file_of(alloc={}), f"gives no coins to 0x{PAYER.hex()}"),
        (file_of(alloc={PAYER.hex(): {"balance": "0x0"}}), "gives no coins to"),
        (file_of(alloc={PAYER.hex(): {"balance": "much"}}), "gives no coins to"),
        (file_of(alloc={PAYER.hex(): 7}), "gives no coins to"),
    ],
)
def test_a_genesis_file_that_the_manager_cannot_use_is_refused(text: str, words: str) -> None:
    with pytest.raises(NotCreated, match=words):
        with_manager(text, TERMS)


@pytest.mark.parametrize("owner", [OWNER, f"0x{PAYER.hex()}"])
def test_a_made_genesis_covers_the_stake_of_any_weight(owner: str) -> None:
    terms = TERMS._replace(manager="pos", weight=2**64 - 1, owner=owner)

    alloc = json.loads(genesis_of(terms, NOW))["alloc"]

    assert int(alloc[PAYER.hex()]["balance"], 16) >= terms.second_weight * COIN + 10**21


@pytest.mark.parametrize(("spare", "is_enough"), [(-1, False), (0, False), (1, True)])
def test_a_genesis_file_has_to_cover_the_stake(spare: int, *, is_enough: bool) -> None:
    terms = TERMS._replace(manager="pos")
    text = file_of(alloc={PAYER.hex(): {"balance": hex(20 * COIN + spare)}})

    if is_enough:
        assert with_manager(text, terms)
    else:
        with pytest.raises(NotCreated, match=f"which stakes {20 * COIN} wei for the second"):
            with_manager(text, terms)
    assert with_manager(text, TERMS), "no stake with proof of authority"


def test_balances_are_decimal_too() -> None:
    assert with_manager(file_of(alloc={f"0x{PAYER.hex()}": {"balance": "0100"}}), TERMS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "letters, digits and spaces, 128 at most"),
        ({"name": "a/b"}, "letters, digits and spaces"),
        ({"name": "a" * 129}, "letters, digits and spaces"),
        ({"weight": 4}, "the weight must be at least 5"),
        (
            {"owner": f"0x{'0' * 40}"},
            "the owner must not be 0x0000000000000000000000000000000000000000: the manager",
        ),
    ],
)
def test_impossible_terms_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(NotCreated, match=words):
        TERMS._replace(**changes).verify()


def test_possible_terms_are_kept_as_json() -> None:
    TERMS.verify()
    ON_C._replace(weight=1).verify()
    ON_C._replace(owner=f"0x{'0' * 40}").verify()
    assert TERMS.kind is ManagerKind.AUTHORITY
    assert ON_C.kind is None
    assert L1Terms.from_json(TERMS.to_json()) == TERMS
    assert hash_of("a") != hash_of("b")


def test_a_validator_is_read_from_one_word() -> None:
    found = read_validator(f"{NODE}/0x{'07' * 48}/{'08' * 96}")

    assert found == (NODE, b"\x07" * 48, b"\x08" * 96)


@pytest.mark.parametrize(
    "text",
    ["", f"{NODE}", f"{NODE}/0x/0x", f"{NODE}/0x{'07' * 48}", f"x/0x{'07' * 48}/0x{'08' * 96}",
     f"{NODE}/0x{'0g' * 48}/0x{'08' * 96}", f"{NODE}/0x{'07' * 48}/0x{'08' * 96}/0x"],
)  # fmt: skip
def test_other_words_are_no_validator(text: str) -> None:
    with pytest.raises(ValueError, match="a validator is NodeID-"):
        read_validator(text)

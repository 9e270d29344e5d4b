"""The sample contracts of the explorer's vectors, deployed and used: which are tokens, and who holds them."""

import json
from pathlib import Path
from typing import Any

import pytest

from explorer_app import models
from explorer_app.selectors import tokens as found
from primitives.hashing import keccak256
from tests.builders.bytecode import words
from tests.builders.transactions import signed
from tests.integration.explorer_app.token_chain import (
    NOBODY,
    OTHER,
    RECIPIENT,
    SENDER,
    TokenChain,
    amounts,
    transfers,
)

pytestmark = pytest.mark.sqlite_only

SAMPLES = Path(__file__).parents[2] / "vectors/explorer/samples"
SUPPLY = 1_000_000 * 10**18
OTHER_KEY = keccak256(b"somebody else's key")


def sample(name: str) -> Any:
    """Return a sample; its first step is its deployment."""
    return json.loads((SAMPLES / f"{name}.json").read_text())


def call(signature: str, *arguments: int | bytes) -> bytes:
    """Return the call data of a function."""
    return keccak256(signature.encode())[:4] + words(*arguments)


def test_the_old_token_is_an_erc20_with_names_of_32_bytes(tokens: TokenChain) -> None:
    (step,) = sample("oldtoken")["steps"]
    address = tokens.create(bytes.fromhex(step["data"].removeprefix("0x")))
    tokens.call(address, call("transfer(address,uint256)", RECIPIENT, 1_000))
    tokens.call(address, call("transfer(address,uint256)", OTHER, SUPPLY // 4))
    tokens.call(
        address,
        call("approve(address,uint256)", SENDER, 500),
        call("transferFrom(address,address,uint256)", SENDER, OTHER, 400),
        call("transfer(address,uint256)", RECIPIENT, 0),
    )

    tokens.index()

    token = found.token(tokens.chain.evm, address)
    assert token is not None
    assert (token.kind, token.name, token.symbol, token.decimals) == (20, "Old Token", "OLD", 18)
    assert token.total_supply == SUPPLY
    assert [(row[1], row[2], row[5], row[6]) for row in transfers()] == [
        (NOBODY, SENDER, SUPPLY, False),
        (SENDER, RECIPIENT, 1_000, False),
        (SENDER, OTHER, SUPPLY // 4, False),
        (SENDER, OTHER, 400, False),
        (SENDER, RECIPIENT, 0, True),
    ]
    assert amounts(address) == {
        (SENDER, None): SUPPLY - SUPPLY // 4 - 1_400,
        (RECIPIENT, None): 1_000,
        (OTHER, None): SUPPLY // 4 + 400,
    }
    told = models.TokenBalance.objects.filter(differs=False, asked_height=4)
    assert told.count() == 3


def test_a_transfer_by_allowance_is_confirmed_by_the_balances(tokens: TokenChain) -> None:
    (step,) = sample("oldtoken")["steps"]
    address = tokens.create(bytes.fromhex(step["data"].removeprefix("0x")))
    spender = signed(key=OTHER_KEY).sender
    tokens.call(address, call("approve(address,uint256)", spender, 500))
    tokens.chain.do(to=spender, value=10**18)
    data = call("transferFrom(address,address,uint256)", SENDER, RECIPIENT, 500)
    tokens.chain.send(signed(key=OTHER_KEY, to=address, data=data, gas=200_000, value=0))
    tokens.chain.mine()

    tokens.index()

    assert transfers()[-1] == (20, SENDER, RECIPIENT, None, None, 500, True)
    for address in (SENDER, RECIPIENT):
        shown = found.transfers_of(tokens.chain.evm, address, doubtful=False).rows[0]
        assert (shown.value, shown.is_confirmed) == (500, True)


def test_a_vault_with_deposit_events_is_not_a_token(tokens: TokenChain) -> None:
    (step,) = sample("vault")["steps"]
    address = tokens.create(bytes.fromhex(step["data"].removeprefix("0x")))
    tokens.chain.do(to=address, data=call("deposit()"), gas=200_000, value=7)
    tokens.call(address, call("withdraw(uint256)", 3))

    tokens.index()

    assert [(row[1], row[2], row[5]) for row in transfers()] == [
        (NOBODY, SENDER, 7), (SENDER, NOBODY, 3),
    ]  # fmt: skip
    assert found.tokens(tokens.chain.evm) == []
    assert found.balances_of(tokens.chain.evm, SENDER).rows == []
    assert found.transfers_of(tokens.chain.evm, SENDER).rows == []

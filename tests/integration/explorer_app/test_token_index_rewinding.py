"""When a development chain is rewound, the index is as if the removed blocks had never existed."""

from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from chaindb import generation
from explorer_app import models
from explorer_app.selectors import token_logs
from explorer_app.selectors import tokens as found
from explorer_app.services import tokens as service
from explorer_app.store import tokens as token_rows
from explorer_app.tokens import events
from tests.builders import puppet
from tests.builders.bytecode import words
from tests.integration.admin_pages import Page
from tests.integration.conftest import Rpc
from tests.integration.explorer_app.token_chain import (
    NOBODY,
    OTHER,
    RECIPIENT,
    SENDER,
    TokenChain,
    amounts,
    erc20,
    erc721,
    erc1155,
    everything,
    forget,
    owners,
    transfers,
    used,
)

pytestmark = pytest.mark.node_settings(profile="embedded")


def go_back(tokens: TokenChain, rpc: Rpc, snapshot: Any, nonce: int) -> None:
    """Revert to a snapshot that was taken when the account had this nonce."""
    assert rpc("evm_revert", snapshot)
    tokens.chain.nonce = nonce


def test_evm_revert_undoes_the_index(tokens: TokenChain, rpc: Rpc) -> None:
    coin, cats, things = used(tokens)
    made = puppet.emit((events.CONSECUTIVE_TRANSFER, 10, NOBODY, SENDER), words(19))
    tokens.call(cats, made)
    tokens.index()
    before, nonce = everything(), tokens.chain.nonce
    snapshot = rpc("evm_snapshot")
    tokens.call(coin, puppet.put(RECIPIENT, 60), erc20(RECIPIENT, OTHER, 40))
    tokens.call(
        cats, erc721(SENDER, OTHER, 11), erc721(RECIPIENT, NOBODY, 2), erc721(NOBODY, OTHER, 99)
    )
    tokens.call(things, erc1155(SENDER, OTHER, 8, 5))
    new = tokens.deploy(puppet.of_erc20(name=b"New"))
    tokens.move(new, NOBODY, RECIPIENT, 1)
    tokens.index()
    assert len(transfers()) == 14

    go_back(tokens, rpc, snapshot, nonce)

    assert not models.Token.objects.filter(address=new).exists()
    assert found.progress(tokens.chain.evm).height == 9
    tokens.index()
    assert everything() == before
    tokens.chain.mine()
    assert tokens.index() == 1


def test_revert_undoes_false_transfers(tokens: TokenChain, rpc: Rpc) -> None:
    cats = tokens.deploy(puppet.of_erc721())
    tokens.call(cats, erc721(NOBODY, SENDER, 1))
    tokens.index()
    before, nonce = everything(), tokens.chain.nonce
    snapshot = rpc("evm_snapshot")
    tokens.call(cats, erc721(RECIPIENT, OTHER, 1), erc20(NOBODY, OTHER, 3), erc721(OTHER, OTHER, 7))
    tokens.index()

    go_back(tokens, rpc, snapshot, nonce)
    tokens.index()

    assert everything() == before


def test_a_negative_sum_counts_as_zero_until_the_next_query(tokens: TokenChain, rpc: Rpc) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.move(coin, OTHER, RECIPIENT, 3)
    tokens.index()
    nonce, snapshot = tokens.chain.nonce, rpc("evm_snapshot")
    tokens.call(coin, puppet.put(OTHER, 9), erc20(OTHER, RECIPIENT, 4))
    tokens.index()
    assert amounts(coin) == {(OTHER, None): 9, (RECIPIENT, None): 0}

    go_back(tokens, rpc, snapshot, nonce)

    assert amounts(coin) == {(OTHER, None): 0, (RECIPIENT, None): 3}
    assert models.TokenBalance.objects.get(holder=OTHER).summed == 2**256 - 3


def test_revert_of_ranges_restores_owners(tokens: TokenChain, rpc: Rpc) -> None:
    cats = tokens.deploy(puppet.of_erc721())

    def ranged(first: int, last: int, sender: bytes, to: bytes) -> bytes:
        return puppet.emit((events.CONSECUTIVE_TRANSFER, first, sender, to), words(last))

    tokens.call(cats, ranged(50, 400, SENDER, NOBODY), ranged(5_000, 5_020, NOBODY, SENDER))
    tokens.call(cats, erc721(NOBODY, OTHER, 60), ranged(10, 40, NOBODY, SENDER))
    tokens.call(cats, erc721(SENDER, OTHER, 20), ranged(30, 35, SENDER, NOBODY))
    tokens.index()
    before, nonce = everything(), tokens.chain.nonce
    assert len(owners()) == 53
    snapshot = rpc("evm_snapshot")
    tokens.call(
        cats, ranged(0, 90, SENDER, RECIPIENT), ranged(12, 62, RECIPIENT, NOBODY), erc721(NOBODY, SENDER, 300),
        erc721(SENDER, OTHER, 5_001), ranged(5_010, 5_400, SENDER, OTHER),
    )  # fmt: skip
    tokens.index()
    assert len(owners()) > 140

    go_back(tokens, rpc, snapshot, nonce)
    tokens.index()

    assert everything() == before


def test_revert_reads_by_index_only(tokens: TokenChain, rpc: Rpc) -> None:
    coin, cats, things = used(tokens)
    tokens.index()
    nonce, snapshot = tokens.chain.nonce, rpc("evm_snapshot")
    tokens.move(coin, RECIPIENT, OTHER, 40)
    ranged = puppet.emit((events.CONSECUTIVE_TRANSFER, 1, NOBODY, SENDER), words(19))
    tokens.call(cats, ranged, erc721(SENDER, OTHER, 11))
    tokens.call(things, erc1155(SENDER, OTHER, 8, 5))
    tokens.move(tokens.deploy(puppet.of_erc20()), NOBODY, RECIPIENT, 1)
    tokens.index()
    asked = Page(HttpResponse(), "explorer_app(?!_tokenprogress)")

    with connection.execute_wrapper(asked.note):
        go_back(tokens, rpc, snapshot, nonce)

    assert len(asked.chain_statements) > 10
    assert asked.slow_plans() == []


def test_replacement_blocks_are_indexed_after_a_rewind(tokens: TokenChain, rpc: Rpc) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    nonce, snapshot = tokens.chain.nonce, rpc("evm_snapshot")
    for value in (1, 2, 3):
        tokens.move(coin, NOBODY, RECIPIENT, value)
    tokens.index()
    go_back(tokens, rpc, snapshot, nonce)
    for value in (4, 5, 6):
        tokens.move(coin, NOBODY, RECIPIENT, value)

    assert tokens.index() == 3

    assert [row[5] for row in transfers()] == [4, 5, 6]
    written = everything()
    forget()
    tokens.index()
    assert everything() == written


def test_anvil_rollback_and_a_reset_revert_the_index(tokens: TokenChain, rpc: Rpc) -> None:
    used(tokens)
    tokens.index()

    rpc("anvil_rollback", 2)
    assert len(transfers()) == 5
    rpc("anvil_reset")
    assert transfers() == []
    assert not models.Token.objects.exists()
    assert not models.TokenItem.objects.exists()
    assert not models.TokenBalance.objects.exists()
    tokens.chain.nonce = 0
    assert tokens.index() == 0


@pytest.mark.parametrize("writes", ["write_transfers", "write_metadata", "write_balances"])
def test_logs_from_before_a_rewind_are_not_written(
    tokens: TokenChain, rpc: Rpc, monkeypatch: Any, writes: str
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    nonce, snapshot = tokens.chain.nonce, rpc("evm_snapshot")
    tokens.call(coin, puppet.put(RECIPIENT, 7), erc20(NOBODY, RECIPIENT, 7))
    write = getattr(token_rows, writes)

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(token_rows, writes, write)
        go_back(tokens, rpc, snapshot, nonce)
        tokens.call(coin, puppet.put(RECIPIENT, 9), erc20(NOBODY, RECIPIENT, 9))
        return write(*arguments)

    monkeypatch.setattr(token_rows, writes, overtaken)

    assert tokens.index() == 0
    tokens.index()
    assert [row[5] for row in transfers()] == [9]
    (held,) = found.balances_of(tokens.chain.evm, RECIPIENT).rows
    assert (held.amount, held.differs) == (9, False)


def test_answers_from_before_a_rewind_are_not_written(
    tokens: TokenChain, rpc: Rpc, monkeypatch: Any
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    nonce, snapshot = tokens.chain.nonce, rpc("evm_snapshot")
    for _ in range(3):
        tokens.call(coin, puppet.put(RECIPIENT, 7), erc20(NOBODY, RECIPIENT, 7))
    ask = service.ask_contract

    def overtaken(*arguments: Any) -> Any:
        go_back(tokens, rpc, snapshot, nonce)
        return ask(*arguments)

    monkeypatch.setattr(service, "ask_contract", overtaken)

    assert tokens.index() == 0
    assert not models.Token.objects.exists()


def test_restored_rows_are_not_overwritten(tokens: TokenChain, monkeypatch: Any) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.move(coin, NOBODY, RECIPIENT, 7)
    read = token_logs.next_logs

    def restored(*arguments: Any) -> Any:
        monkeypatch.setattr(token_logs, "next_logs", read)
        with tokens.chain.evm.db.atomic():
            generation.advance(tokens.chain.evm.db)
        return read(*arguments)

    monkeypatch.setattr(token_logs, "next_logs", restored)

    assert tokens.index() == 0
    assert transfers() == []


def test_the_head_is_read_after_the_progress(
    tokens: TokenChain, rpc: Rpc, monkeypatch: Any
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    nonce, snapshot = tokens.chain.nonce, rpc("evm_snapshot")
    for _ in range(3):
        tokens.chain.mine()
    begin = token_rows.begin

    def late(*arguments: Any) -> Any:
        go_back(tokens, rpc, snapshot, nonce)
        return begin(*arguments)

    monkeypatch.setattr(token_rows, "begin", late)
    tokens.index()
    monkeypatch.setattr(token_rows, "begin", begin)
    tokens.move(coin, NOBODY, RECIPIENT, 7)
    tokens.index()

    assert [row[5] for row in transfers()] == [7]

"""Transfers of tokens become rows: all of them, once, in order, even if a process is killed."""

import re
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from chaindb.fields import row_id
from explorer_app import models, tasks
from explorer_app.selectors import tokens as found
from explorer_app.services import tokens as service
from explorer_app.store import tokens as token_rows
from explorer_app.tokens import events
from explorer_app.tokens.events import TokenStandard
from explorer_app.views.tokens import transfer_rows
from primitives.evm import Address
from tests.builders import bytecode, puppet
from tests.builders.bytecode import words
from tests.builders.indexing import beside_answers
from tests.integration.admin_pages import Page
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

BOTH = "(?:cchain|explorer)_app(?!_tokenprogress|_chain)"
"""Tables of both apps, except those with one row."""
UNION = re.compile(
    r"(?:SCAN (?:found|past)|USE TEMP B-TREE FOR ORDER BY|->  Sort|Sort Key: (?:\(0\)|cchain_app_log\.id)).*"
    r"(?:\) found\n ORDER BY id LIMIT %s|ORDER BY rank LIMIT 1)\s*$",
    re.DOTALL,
)
"""A plan step that sorts the results of several parts, each of which stops after a few rows."""
OF_ONE_ROW = ("->  Seq Scan on cchain_app_chain ", "->  Seq Scan on chaindb_generation ")


def test_transfers_of_all_kinds_are_rows(tokens: TokenChain) -> None:
    used(tokens)

    assert tokens.index() == 8

    mint = NOBODY
    assert transfers() == [
        (20, mint, RECIPIENT, None, None, 100, False),
        (721, mint, SENDER, 1, None, 1, False),
        (721, mint, SENDER, 2, None, 1, False),
        (1155, mint, SENDER, 7, None, 70, False),
        (1155, mint, SENDER, 8, None, 80, False),
        (1155, SENDER, RECIPIENT, 7, None, 30, False),
        (721, SENDER, RECIPIENT, 2, None, 1, False),
    ]  # fmt: skip
    keys = list(models.TokenTransfer.objects.order_by("id").values_list("id", flat=True))
    assert keys[:3] == [row_id(4), row_id(5), row_id(5, 1)]


def test_token_metadata_is_read_from_contracts(tokens: TokenChain) -> None:
    coin, cats, things = used(tokens)
    tokens.index()
    evm = tokens.chain.evm

    shown = {address: found.token(evm, address) for address in (coin, cats, things)}

    assert [(token.kind, token.name, token.symbol, token.decimals) for token in shown.values()] == [
        (20, "Coin", "CN", 6), (721, "Cats", "CAT", None), (1155, None, None, None),
    ]  # fmt: skip
    assert shown[coin].total_supply == 10**12
    assert [row.address for row in found.tokens(evm)] == [things, cats, coin]
    assert [row.address for row in found.tokens(evm, TokenStandard.ERC721)] == [cats]


def test_summed_balances_are_corrected_and_differences_marked(tokens: TokenChain) -> None:
    coin, cats, things = used(tokens)
    tokens.index()

    assert amounts(coin) == {(RECIPIENT, None): 100}
    # The puppets only return values that were put into them, whatever events they emit.
    assert amounts(cats) == {(SENDER, None): 2, (RECIPIENT, None): 0}
    assert amounts(things) == {(SENDER, 7): 0, (SENDER, 8): 0, (RECIPIENT, 7): 0}
    different = models.TokenBalance.objects.filter(differs=True)
    assert {(balance.contract_id, balance.holder, balance.summed) for balance in different} == {
        (cats, SENDER, 1), (cats, RECIPIENT, 1),
        (things, SENDER, 40), (things, SENDER, 80), (things, RECIPIENT, 30),
    }  # fmt: skip
    assert not models.TokenBalance.objects.filter(to_ask=True).exists()


def test_tokens_of_collections_have_owners(tokens: TokenChain) -> None:
    _, cats, _ = used(tokens)
    tokens.index()
    evm = tokens.chain.evm
    token = found.token(evm, cats)

    assert [(item.token_id, item.owner) for item in found.inventory(evm, token)] == [
        (1, SENDER), (2, RECIPIENT),
    ]  # fmt: skip
    assert [item.token_id for item in found.inventory(evm, token, after=1)] == [2]
    assert found.owner(evm, token, 2) == RECIPIENT
    assert found.owner(evm, token, 3) is None


def test_indexed_blocks_are_not_indexed_again(tokens: TokenChain) -> None:
    coin, *_ = used(tokens)
    tokens.index()
    before = everything()

    assert tokens.index() == 0
    assert everything() == before
    tokens.chain.mine()
    assert tokens.index() == 1
    assert everything() == before
    tokens.move(coin, RECIPIENT, OTHER, 1)
    assert tokens.index() == 1
    assert len(transfers()) == 8


def test_run_without_time_left_is_continued_by_the_next(
    tokens: TokenChain, monkeypatch: Any
) -> None:
    monkeypatch.setattr(service, "LOGS_AT_ONCE", 2)
    used(tokens)
    steps = [tokens.index(seconds=0) for _ in range(20)]
    written = everything()

    assert steps[:5] == [4, 1, 2, 1, 0]
    assert not models.TokenBalance.objects.filter(to_ask=True).exists()
    assert not models.Token.objects.filter(asks_at__isnull=False).exists()
    forget()
    tokens.index()
    assert everything() == written


def test_killed_indexer_continues_within_the_block(tokens: TokenChain, monkeypatch: Any) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, *(erc20(NOBODY, RECIPIENT, value) for value in range(1, 8)))
    tokens.index()
    written = everything()
    forget()
    monkeypatch.setattr(service, "LOGS_AT_ONCE", 3)
    write, parts = token_rows.write_transfers, []

    def fatal(*arguments: Any) -> Any:
        if len(parts) == 2:
            raise KeyboardInterrupt
        parts.append(arguments)
        return write(*arguments)

    monkeypatch.setattr(token_rows, "write_transfers", fatal)
    with pytest.raises(KeyboardInterrupt):
        tokens.index()
    assert len(transfers()) == 6

    monkeypatch.setattr(token_rows, "write_transfers", write)
    tokens.index()

    assert everything() == written


@pytest.mark.parametrize("writes", ["write_transfers", "write_metadata", "write_balances"])
def test_one_of_two_concurrent_writers_gives_up(
    tokens: TokenChain, monkeypatch: Any, writes: str
) -> None:
    coin, *_ = used(tokens)
    write = getattr(token_rows, writes)

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(token_rows, writes, write)
        tokens.move(coin, RECIPIENT, OTHER, 1)
        tokens.index()
        return write(*arguments)

    monkeypatch.setattr(token_rows, writes, overtaken)

    assert tokens.index() == 0
    written = everything()
    assert len(transfers()) == 8
    forget()
    tokens.index()
    assert everything() == written


def test_log_with_many_transfers_is_written_separately(
    tokens: TokenChain, monkeypatch: Any
) -> None:
    monkeypatch.setattr(service, "ROWS_AT_ONCE", 3)
    things = tokens.deploy(puppet.of_erc1155())
    batch = words(64, 64 + 32 * 4, 3, 1, 2, 3, 3, 10, 20, 30)
    told = puppet.emit((events.TRANSFER_BATCH, SENDER, NOBODY, SENDER), batch)
    tokens.call(things, erc1155(NOBODY, SENDER, 9, 1), told, erc1155(NOBODY, SENDER, 9, 2))
    cats = tokens.deploy(puppet.of_erc721())
    ranged = puppet.emit((events.CONSECUTIVE_TRANSFER, 0, NOBODY, SENDER), words(9))
    tokens.call(cats, ranged, ranged)
    write, sizes = token_rows.write_transfers, []

    def counted(db: Any, placed: Any, *others: Any) -> Any:
        sizes.append(len(placed))
        return write(db, placed, *others)

    monkeypatch.setattr(token_rows, "write_transfers", counted)
    tokens.index()

    assert sizes == [1, 3, 1, 1, 1]
    assert [row[3] for row in transfers()] == [9, 1, 2, 3, 9, 0, 0]


def test_transfer_without_topics_has_its_contracts_standard(tokens: TokenChain) -> None:
    cats, coin = tokens.deploy(puppet.of_erc721()), tokens.deploy(puppet.of_erc20())
    told = puppet.emit((events.TRANSFER,), words(NOBODY, SENDER, 5))
    tokens.call(cats, told, told)
    tokens.call(coin, told)
    tokens.index()

    assert [(row[0], row[3], row[5]) for row in transfers()] == [
        (721, 5, 1), (721, 5, 1), (20, None, 5),
    ]  # fmt: skip
    # Such an event alone does not make a contract an ERC-20 token.
    assert [row.address for row in found.tokens(tokens.chain.evm)] == [cats]


def test_contracts_with_unindexed_transfers_are_queried_one_at_a_time(
    tokens: TokenChain, monkeypatch: Any
) -> None:
    made = [tokens.deploy(puppet.of_erc721()) for _ in range(3)]
    told = puppet.emit((events.TRANSFER,), words(NOBODY, SENDER, 5))
    height = tokens.chain.nonce
    sent = [tokens.chain.make(to=token, data=told, gas=100_000, value=0) for token in made]
    tokens.chain.send(*sent)
    tokens.chain.mine()
    write, sizes = token_rows.write_transfers, []

    def counted(db: Any, placed: Any, *others: Any) -> Any:
        sizes.append(len(placed))
        return write(db, placed, *others)

    monkeypatch.setattr(token_rows, "write_transfers", counted)

    assert tokens.index() == height + 1
    assert sizes == [1, 1, 1]
    assert {row[0] for row in transfers()} == {721}


def calls_at_once(contract: Address, *calls: bytes) -> bytes:
    """Return the init code of a contract that calls another one several times in one transaction."""
    code, data = b"", b""
    for call in calls:
        code += bytecode.assemble(
            len(call), 300 + len(data), 0, "CODECOPY 0 0", len(call), 0, 0, int.from_bytes(contract), "GAS CALL POP"
        )  # fmt: skip
        data += call
    return bytecode.deploy_code(code.ljust(300, b"\0") + data)


def test_deposit_without_transfer_counts_as_minting(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    wrapped = puppet.emit((events.DEPOSIT, SENDER), words(5))
    unwrapped = puppet.emit((events.WITHDRAWAL, SENDER), words(2))
    tokens.call(coin, wrapped, unwrapped)
    tokens.index()
    assert found.tokens(tokens.chain.evm) == []

    tokens.move(coin, SENDER, RECIPIENT, 1)
    for value in (5, 6):
        both = calls_at_once(coin, wrapped, erc20(NOBODY, SENDER, value))
        tokens.call(tokens.create(both), b"")
    tokens.index()

    assert [row[:3] + row[5:6] for row in transfers()] == [
        (20, NOBODY, SENDER, 5), (20, SENDER, NOBODY, 2), (20, SENDER, RECIPIENT, 1), (20, NOBODY, SENDER, 5),
        # A transfer with another amount is a different transfer.
        (20, NOBODY, SENDER, 5), (20, NOBODY, SENDER, 6),
    ]  # fmt: skip
    assert [row.address for row in found.tokens(tokens.chain.evm)] == [coin]


def test_consecutive_transfer_sets_the_owner_of_each_id(tokens: TokenChain) -> None:
    cats = tokens.deploy(puppet.of_erc721())
    made = puppet.emit((events.CONSECUTIVE_TRANSFER, 10, NOBODY, SENDER), words(6_009))
    paid = tokens.call(cats, made).header.gas_used // events.GAS_OF_AN_OWNER
    tokens.call(cats, erc721(SENDER, RECIPIENT, 12))
    tokens.index()
    evm = tokens.chain.evm
    token = found.token(evm, cats)

    assert transfers()[0] == (721, NOBODY, SENDER, 10, 6_009, 6_000, False)
    assert [item.owner for item in found.inventory(evm, token)][:4] == [
        SENDER,
        SENDER,
        RECIPIENT,
        SENDER,
    ]
    assert models.TokenItem.objects.count() == paid
    summed = models.TokenBalance.objects.get(contract=cats, holder=SENDER).summed
    assert summed == 5_999
    of_one = found.transfers_of_token(evm, token, token_id=12)
    assert [(transfer.sender, transfer.to) for transfer in of_one] == [
        (SENDER, RECIPIENT),
        (NOBODY, SENDER),
    ]


def test_owners_stored_for_a_range_are_limited_by_gas(tokens: TokenChain, monkeypatch: Any) -> None:
    cats = tokens.deploy(puppet.of_erc721())
    told = [
        puppet.emit((events.CONSECUTIVE_TRANSFER, first, NOBODY, SENDER), words(last))
        for first, last in ((0, 4), (1_000, 9_000), (10_000, 19_000))
    ]
    caller = tokens.create(calls_at_once(cats, *told))
    paid = tokens.call(caller, b"").header.gas_used // events.GAS_OF_AN_OWNER
    monkeypatch.setattr(service, "LOGS_AT_ONCE", 1)
    tokens.index()
    written = everything()

    assert 5 < paid < 1_000
    ids = models.TokenItem.objects.order_by("key").values_list("token_id", flat=True)
    assert list(ids) == [*range(5), *range(1_000, 995 + paid)]
    assert [row[3:6] for row in transfers()] == [
        (0, 4, 5), (1_000, 9_000, 8_001), (10_000, 19_000, 9_001),
    ]  # fmt: skip
    monkeypatch.undo()
    forget()
    tokens.index()
    assert everything() == written


def test_burned_range_leaves_no_rows_for_missing_ids(tokens: TokenChain) -> None:
    cats = tokens.deploy(puppet.of_erc721())
    burned = puppet.emit((events.CONSECUTIVE_TRANSFER, 1, SENDER, NOBODY), words(200))
    tokens.call(cats, burned, erc721(NOBODY, SENDER, 0), erc721(NOBODY, SENDER, 7))
    tokens.index()
    assert owners() == {0: SENDER, 7: SENDER}

    tokens.call(cats, erc721(NOBODY, SENDER, 9), burned, erc721(NOBODY, SENDER, 8))
    tokens.index()

    evm = tokens.chain.evm
    token = found.token(evm, cats)
    assert owners() == {0: SENDER, 7: None, 8: SENDER, 9: None}
    assert [item.token_id for item in found.inventory(evm, token)] == [0, 8]
    assert [found.owner(evm, token, token_id) for token_id in (7, 8, 10)] == [NOBODY, SENDER, None]
    written = everything()
    forget()
    tokens.index()
    assert everything() == written


def test_inventory_is_read_by_index(tokens: TokenChain) -> None:
    cats = tokens.deploy(puppet.of_erc721())
    tokens.call(cats, erc721(NOBODY, SENDER, 1))
    tokens.index()
    evm = tokens.chain.evm
    token = found.token(evm, cats)
    asked = Page(HttpResponse(), "explorer_app")

    with connection.execute_wrapper(asked.note):
        found.inventory(evm, token)
        found.inventory(evm, token, after=0)

    assert len(asked.statements) == 2
    for plan in asked.plans():
        assert "explorer_item_owned" in " ".join(plan)
    assert asked.slow_plans() == []


def test_empty_and_unsigned_transfers_are_doubtful(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    pool = tokens.deploy(puppet.of_erc20())
    tokens.move(coin, SENDER, OTHER, 1)
    tokens.move(coin, SENDER, OTHER, 0)
    tokens.move(coin, OTHER, RECIPIENT, 7)
    tokens.move(coin, pool, OTHER, 3)
    tokens.index()
    evm = tokens.chain.evm

    assert [row[-1] for row in transfers()] == [False, True, True, False]
    shown = found.transfers_of(evm, OTHER).rows
    assert [transfer.value for transfer in shown] == [3, 7, 0, 1]
    assert [line.doubt for line in transfer_rows(shown)] == ["", "unconfirmed", "zero value", ""]
    certain = found.transfers_of(evm, OTHER, doubtful=False).rows
    assert [transfer.value for transfer in certain] == [3, 1]
    assert found.transfers_of(evm, RECIPIENT, doubtful=False).rows == []
    last = found.transfers_of(evm, OTHER, count=2).rows[-1]
    rest = found.transfers_of(evm, OTHER, before=last.id).rows
    assert [transfer.value for transfer in rest] == [0, 1]


def test_reported_balance_confirms_a_transfer(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(OTHER, 3), erc20(NOBODY, OTHER, 10), erc20(OTHER, RECIPIENT, 7))
    tokens.index()
    evm = tokens.chain.evm

    (transfer,) = found.transfers_of(evm, RECIPIENT, doubtful=False).rows
    assert (transfer.value, transfer.doubtful, transfer.is_confirmed) == (7, True, True)
    assert [line.doubt for line in transfer_rows([transfer])] == [""]

    tokens.call(coin, puppet.put(OTHER, 3), erc20(OTHER, RECIPIENT, 2))
    tokens.index()

    assert found.transfers_of(evm, RECIPIENT, doubtful=False).rows == []
    every = transfer_rows(found.transfers_of(evm, RECIPIENT).rows)
    assert [line.doubt for line in every] == ["unconfirmed", "unconfirmed"]


def test_false_amounts_do_not_overflow_balances(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20(TOTAL_SUPPLY=puppet.answering(words(0))))
    maximum = 2**256 - 1
    tokens.call(coin, puppet.put(OTHER, 9), *(erc20(RECIPIENT, OTHER, maximum) for _ in range(3)))
    tokens.index()

    assert amounts(coin) == {(RECIPIENT, None): 0, (OTHER, None): 9}
    assert {balance.summed for balance in models.TokenBalance.objects.all()} == {3, 2**256 - 3}


def test_a_contract_without_transfers_or_token_methods_is_not_a_token(tokens: TokenChain) -> None:
    tokens.deploy(puppet.of_erc20())
    fake = tokens.deploy({})
    tokens.move(fake, NOBODY, RECIPIENT, 1)
    tokens.index()
    evm = tokens.chain.evm

    assert found.tokens(evm) == []
    assert found.token(evm, fake) is None
    assert found.transfers_of(evm, RECIPIENT).rows == []
    assert found.balances_of(evm, RECIPIENT).rows == []
    assert len(transfers()) == 1


def test_queries_of_the_indexer_use_indexes(tokens: TokenChain) -> None:
    asked = Page(HttpResponse(), BOTH)
    used(tokens)
    tokens.call(
        tokens.deploy(puppet.of_erc721()),
        puppet.emit((events.CONSECUTIVE_TRANSFER, 1, NOBODY, SENDER), words(9)),
        puppet.emit((events.CONSECUTIVE_TRANSFER, 1, SENDER, NOBODY), words(9)),
        puppet.emit((events.TRANSFER,), words(NOBODY, SENDER, 5)),
        puppet.emit((events.DEPOSIT, SENDER), words(5)),
    )

    with connection.execute_wrapper(asked.note):
        tokens.index()

    assert {re.search(f"(?:{BOTH})_[a-z]+", sql)[0] for sql, _ in asked.chain_statements} >= {
        "cchain_app_log", "cchain_app_transaction", "cchain_app_receipt", "explorer_app_token",
        "explorer_app_tokenbalance", "explorer_app_tokentransfer", "explorer_app_tokenitem",
    }  # fmt: skip
    slow = [plan for plan in asked.slow_plans() if not UNION.match(plan)]
    assert [plan for plan in slow if not plan.startswith(OF_ONE_ROW)] == []
    if connection.vendor == "sqlite":  # PostgreSQL may take any index of so few rows
        logs = [
            " ".join(plan)
            for (sql, _), plan in zip(asked.chain_statements, asked.plans(), strict=True)
            if ") found" in sql
        ]
        assert {log.count("cchain_log_by_topic0") for log in logs} == {len(events.TOPICS)}


def test_the_task_indexes_if_the_setting_is_on(tokens: TokenChain) -> None:
    used(tokens)

    assert tasks.index_tokens() == {"blocks": 8}


def test_task_postpones_tokens_while_the_node_is_busy(
    tokens: TokenChain,
) -> None:
    used(tokens)
    tokens.chain.evm.indexing = beside_answers("tokens")

    assert tasks.index_tokens() == {"blocks": 0}


@pytest.mark.node_settings(token_index="off")
def test_task_does_nothing_when_disabled(tokens: TokenChain) -> None:
    used(tokens)

    assert tasks.index_tokens() == {"blocks": 0}
    assert found.how_far(tokens.chain.evm) == "empty: NODE_TOKEN_INDEX was never enabled"

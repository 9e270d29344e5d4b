"""SQL views of tokens: the rows that users of the views see."""

from typing import Any

from django.db import connection

from primitives.hexadecimal import encode_data
from tests.integration.explorer_app.token_chain import NOBODY, RECIPIENT, SENDER, TokenChain, used


def ask(sql: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_tokens_transfers_and_balances_are_shown(tokens: TokenChain) -> None:
    coin, cats, things = used(tokens)
    tokens.index()

    rows = ask("SELECT * FROM c_tokens ORDER BY first_block")
    assert [(row["address"], row["kind"], row["symbol"], row["first_block"]) for row in rows] == [
        (encode_data(coin), "ERC-20", "CN", 4),
        (encode_data(cats), "ERC-721", "CAT", 5),
        (encode_data(things), "ERC-1155", None, 6),
    ]
    assert [row["decimals"] for row in rows] == [6, None, None]
    assert int(rows[0]["total_supply"]) == 10**12

    moved = ask("SELECT * FROM c_token_transfers ORDER BY block_number, log_index, token_id")
    assert [row["block_number"] for row in moved] == [4, 5, 5, 6, 6, 7, 8]
    (row,) = ask("SELECT * FROM c_token_transfers WHERE block_number = 7")
    assert (row["token"], row["sender"], row["recipient"]) == (
        encode_data(things), encode_data(SENDER), encode_data(RECIPIENT),
    )  # fmt: skip
    assert (int(row["token_id"]), int(row["value"]), bool(row["hidden"])) == (7, 30, False)
    assert row["last_token_id"] is None
    (mint,) = ask("SELECT * FROM c_token_transfers WHERE block_number = 4")
    assert mint["sender"] == encode_data(NOBODY)
    assert mint["token_id"] is None

    (held,) = ask(f"SELECT * FROM c_token_balances WHERE token = '{encode_data(coin)}'")
    assert (held["holder"], int(held["amount"]), int(held["summed"])) == (
        encode_data(RECIPIENT), 100, 100,
    )  # fmt: skip
    assert (bool(held["differs"]), held["asked_height"]) == (False, 8)


def test_contracts_that_are_not_tokens_are_not_shown(tokens: TokenChain) -> None:
    fake = tokens.deploy({})
    tokens.move(fake, NOBODY, RECIPIENT, 1)
    tokens.index()

    for view in ("c_tokens", "c_token_transfers", "c_token_balances"):
        assert ask(f"SELECT * FROM {view}") == []

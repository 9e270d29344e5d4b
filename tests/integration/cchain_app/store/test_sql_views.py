"""SQL views: they show the same data as the RPC."""

from typing import Any

from django.db import connection

from cchain_app.services.calls import index_calls
from cchain_app.services.cheats import balance, change_state, nonce
from primitives.hexadecimal import encode_data
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, traced_chain
from tests.integration.conftest import Chain, Rpc


def ask(sql: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_a_block_reads_like_the_rpc_has_it(chain: Chain, rpc: Rpc) -> None:
    chain.do()
    shown = rpc("eth_getBlockByNumber", "0x1", False)

    (row,) = ask("SELECT * FROM c_blocks WHERE number = 1")

    assert (row["hash"], row["parent_hash"]) == (shown["hash"], shown["parentHash"])
    assert int(row["base_fee"]) == int(shown["baseFeePerGas"], 16)
    assert row["transaction_count"] == 1


def test_a_transaction_is_found_by_its_hash_in_text(chain: Chain) -> None:
    made, _ = chain.do(value=15 * 10**17)

    (row,) = ask(f"SELECT * FROM c_transactions WHERE hash = '{encode_data(made.hash)}'")

    assert row["sender"] == encode_data(SENDER)
    assert row["recipient"] == encode_data(RECIPIENT)
    assert int(row["value"]) == 15 * 10**17
    assert float(row["coins"]) == 1.5
    assert row["contract_address"] is None
    assert row["succeeded"]


def test_logs_are_shown_with_their_topics(chain: Chain) -> None:
    init_code = bytes.fromhex("7f" + "aa" * 32 + "60006000a100")  # LOG1 with a topic, then STOP
    made, _ = chain.do(to=None, data=init_code, gas=100_000)

    (row,) = ask("SELECT * FROM c_logs")

    assert row["topic0"] == "0x" + "aa" * 32
    assert row["topic1"] is None
    assert row["data"] == "0x"
    assert row["transaction_hash"] == encode_data(made.hash)


def test_balances_can_be_read_and_sorted(chain: Chain) -> None:
    chain.do(value=10**18)

    (row,) = ask(f"SELECT * FROM c_balances WHERE address = '{encode_data(RECIPIENT)}'")

    assert int(row["balance"]) == 10**18
    assert float(row["coins"]) == 1.0
    richest = ask("SELECT address FROM c_balances ORDER BY coins DESC LIMIT 1")
    assert richest[0]["address"] == encode_data(SENDER)


def test_calls_and_creations_are_shown_with_their_places(chain: Chain) -> None:
    made = traced_chain(chain)
    index_calls(chain.evm, seconds=60)
    block = "block_number = 2 AND transaction_hash = "

    calls = ask(f"SELECT * FROM c_calls WHERE {block} '{made.hash('create')}' ORDER BY call_index")
    (creation,) = ask(f"SELECT * FROM c_creations WHERE {block} '{made.hash('create')}'")

    assert [call["type"] for call in calls] == ["CALL", "CREATE2"]
    assert [other["trace_address"] for other in calls] == ["", "0"]
    assert [(entry["sender"], entry["recipient"]) for entry in calls] == [
        (encode_data(SENDER), encode_data(ADDRESSES["factory"])),
        (encode_data(ADDRESSES["factory"]), encode_data(CREATED)),
    ]
    assert [int(item["value"]) for item in calls] == [9, 9]
    assert creation["contract_address"] == encode_data(CREATED)
    assert creation["creator"] == encode_data(ADDRESSES["factory"])
    assert creation["succeeded"]


def test_call_without_value_or_error_has_nulls(chain: Chain) -> None:
    made = traced_chain(chain)
    index_calls(chain.evm, seconds=60)

    (row,) = ask(f"SELECT * FROM c_calls WHERE transaction_hash = '{made.hash('count')}'")

    assert int(row["value"]) == 0
    assert (row["error"], row["revert_data"], row["selector"]) == (None, None, None)
    assert row["gas_limit"] > row["gas_used"] > 0


def test_state_edits_are_shown_with_the_following_block(chain: Chain) -> None:
    change_state(chain.evm, [balance(RECIPIENT, 7), nonce(RECIPIENT, 3)])

    rows = ask("SELECT * FROM c_development_changes ORDER BY kind")

    assert [(other["block_number"], other["kind"]) for other in rows] == [
        (1, "balance"),
        (1, "nonce"),
    ]
    assert {row["address"] for row in rows} == {encode_data(RECIPIENT)}
    assert rows[0]["before"] is None
    assert [int(item["after"], 16) for item in rows] == [7, 3]

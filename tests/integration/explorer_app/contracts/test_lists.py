"""Etherscan's lists and numbers, compared with the results of the chain's own API."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app.models import KeptHistory
from cchain_app.services.calls import index_calls
from chaindb import indexing
from chaindb.fields import row_id
from explorer_app.api.replies import ActionReason
from explorer_app.selectors import sums as mined_blocks
from explorer_app.selectors import traces
from explorer_app.site import Explorer
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER
from tests.conformance.explorer_samples import Sample
from tests.integration.conftest import Rpc
from tests.integration.explorer_app.contracts.conftest import ME, TO, Explored, account, refused

KEYS = 'SELECT "cchain_app_log"."id" AS '
SET = bytes.fromhex("3fb5c1cb")
"""setNumber(uint256) of the sample `counter`."""


@pytest.fixture
def counter(explored: Explored) -> Sample:
    """The sample `counter`, called once successfully and once with a failure, and a transfer."""
    found = explored.deploy("counter")
    to = bytes.fromhex(found.addresses["counter"])
    explored.chain.do(to=to, value=0, data=SET + (7).to_bytes(32, "big"), gas=100_000)
    explored.chain.do(to=to, value=5, data=SET + (8).to_bytes(32, "big"), gas=100_000)
    explored.chain.do(value=9)
    return found


MEMBERS = {
    "blockNumber", "timeStamp", "hash", "nonce", "blockHash", "transactionIndex", "from", "to", "value", "gas",
    "gasPrice", "isError", "txreceipt_status", "input", "contractAddress", "cumulativeGasUsed", "gasUsed",
    "confirmations", "methodId", "functionName",
}  # fmt: skip


def test_transactions_are_listed_with_all_members_as_text(
    explored: Explored, counter: Sample, rpc: Rpc
) -> None:
    answered = account(explored, "txlist", address=ME)

    assert (answered["status"], answered["message"]) == ("1", "OK")
    rows = answered["result"]
    assert [row["nonce"] for row in rows] == ["0", "1", "2", "3"]
    for row in rows:
        assert row.keys() == MEMBERS
        assert all(isinstance(value, str) for value in row.values())
        receipt = rpc("eth_getTransactionReceipt", row["hash"])
        sent = rpc("eth_getTransactionByHash", row["hash"])
        assert int(row["gasUsed"]) == int(receipt["gasUsed"], 16)
        assert int(row["cumulativeGasUsed"]) == int(receipt["cumulativeGasUsed"], 16)
        assert int(row["gasPrice"]) == int(receipt["effectiveGasPrice"], 16)
        assert row["txreceipt_status"] == str(int(receipt["status"], 16))
        assert row["isError"] == str(1 - int(receipt["status"], 16))
        assert (row["blockHash"], row["input"]) == (receipt["blockHash"], sent["input"])
        assert row["value"] == str(int(sent["value"], 16))
    created, called, failed, paid = rows
    assert (created["to"], created["contractAddress"]) == ("", "0x" + counter.addresses["counter"])
    assert (called["methodId"], failed["isError"]) == ("0x3fb5c1cb", "1")
    assert (paid["methodId"], paid["functionName"], paid["confirmations"]) == ("0x", "", "1")


def test_contract_names_its_creation_transaction(explored: Explored, counter: Sample) -> None:
    rows = account(explored, "txlist", address="0x" + counter.addresses["counter"])["result"]

    assert [row["nonce"] for row in rows] == ["0", "1", "2"]


def test_function_names_come_from_the_abi(explored: Explored, counter: Sample) -> None:
    data = bytes.fromhex("a9059cbb") + RECIPIENT.rjust(32, b"\0") + bytes(32)
    explored.chain.do(data=data, gas=50_000)

    (row,) = account(explored, "txlist", address=ME, startblock=5)["result"]

    assert row["functionName"].startswith("transfer(address ")


PARTS: list[tuple[dict[str, object], str]] = [
    ({"sort": "desc"}, "3210"),
    ({"page": 1, "offset": 3}, "012"),
    ({"page": 2, "offset": 3}, "3"),
    ({"page": 2, "offset": 3, "sort": "desc"}, "0"),
    ({"startblock": 2, "endblock": 3}, "12"),
    ({"startBlock": 2, "endBlock": "latest"}, "123"),
    ({"endblock": 99_999_999}, "0123"),
]


@pytest.mark.usefixtures("counter")
def test_list_can_be_paged(explored: Explored) -> None:
    for params, nonces in PARTS:
        rows = account(explored, "txlist", address=ME, **params)["result"]

        assert "".join(row["nonce"] for row in rows) == nonces


UNLISTED: list[tuple[dict[str, object], str]] = [
    ({"address": "0x1"}, "Error! Invalid address format"),
    (
        {"address": ME, "page": 2, "offset": 10_000},
        "Result window is too large, PageNo x Offset size must be less than or equal to 10000",
    ),
    ({"address": ME, "page": "x"}, "Error! Invalid parameter"),
    ({"address": ME, "startblock": "-1"}, "Error! Invalid parameter"),
]


def test_overlong_list_is_refused(explored: Explored) -> None:
    for params, text in UNLISTED:
        refused = {"status": "0", "message": "NOTOK", "result": text}
        assert account(explored, "txlist", **params) == refused


def test_an_empty_list_has_a_text(explored: Explored) -> None:
    nothing = {"status": "0", "message": "No transactions found", "result": []}

    assert account(explored, "txlist", address=TO) == nothing
    assert account(explored, "txsBeaconWithdrawal", address=TO) == nothing
    internal = account(explored, "txlistinternal", address=TO)
    assert internal["message"] == "No internal transactions found"


@pytest.mark.usefixtures("counter")
def test_balances_are_those_of_a_height(explored: Explored, rpc: Rpc) -> None:
    now, before = (int(rpc("eth_getBalance", ME, tag), 16) for tag in ("latest", "0x1"))

    assert account(explored, "balance", address=ME, tag="latest")["result"] == str(now)
    assert account(explored, "balance", address=ME, tag="0x1")["result"] == str(before)
    assert account(explored, "balancemulti", address=f"{ME},{TO}")["result"] == [
        {"account": ME, "balance": str(now)},
        {"account": TO, "balance": "9"},
    ]


@pytest.mark.usefixtures("counter")
def test_balance_at_a_pruned_height_is_refused(explored: Explored) -> None:
    KeptHistory.objects.update_or_create(id=1, defaults={"first_state": 3, "first_call": 3})

    for action in ("balance", "balancemulti"):
        answered = account(explored, action, address=ME, tag="0x1")
        assert answered == refused(ActionReason.STATE_PRUNED)
        assert account(explored, action, address=ME, tag="0x3")["status"] == "1"


def test_calls_inside_of_transactions_are_listed(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = bytes.fromhex("600160005360016000f3")
    size = f"61{len(inner):04x}"
    factory = explored.create(
        bytes.fromhex(f"{size}6016600039{size}60006000f05060016000f3") + inner
    )
    index_calls(explored.site.evm, seconds=60)

    (row,) = account(explored, "txlistinternal", address="0x" + factory.hex())["result"]

    assert row.keys() == {
        "blockNumber", "timeStamp", "hash", "from", "to", "value", "contractAddress", "input", "type", "gas",
        "gasUsed", "traceId", "isError", "errCode",
    }  # fmt: skip
    assert (row["type"], row["from"], row["to"]) == ("create", "0x" + factory.hex(), "")
    assert row["traceId"] == "0"
    by_address = account(explored, "txlistinternal", address=row["contractAddress"])["result"]
    by_range = account(explored, "txlistinternal", startblock=0, endblock=5)["result"]
    assert by_address == by_range == [row]
    monkeypatch.setattr("explorer_app.selectors.ledger.UNINDEXED_BLOCKS", 1)
    too_many = account(explored, "txlistinternal", startblock=0)["result"]
    assert too_many.startswith("Query Timeout occured")
    (alone,) = account(explored, "txlistinternal", txhash=row["hash"])["result"]
    assert alone == {name: row[name] for name in row.keys() - {"hash", "traceId"}}


def test_logs_are_found_by_address_and_topics(
    explored: Explored, counter: Sample, rpc: Rpc
) -> None:
    address = "0x" + counter.addresses["counter"]
    (expected,) = rpc("eth_getLogs", {"fromBlock": "0x0", "address": address})
    first, second = expected["topics"]
    other = "0x" + "11" * 32

    def found(**params: object) -> Any:
        return explored.get(module="logs", action="getLogs", **params)

    (row,) = found(address=address)["result"]
    same = {"address", "topics", "data", "blockNumber", "blockHash", "transactionHash", "logIndex"}
    assert {name: row[name] for name in same} == {name: expected[name] for name in same}
    assert row["transactionIndex"] == "0x0"
    for params in (
        {"topic0": first},
        {"topic0": first, "topic1": second, "topic0_1_opr": "and"},
        {"address": address, "topic0": other, "topic1": second, "topic0_1_opr": "or"},
        {"address": address, "fromBlock": 0, "toBlock": "latest"},
        {"address": address, "toBlock": 99_999_999},
    ):
        assert found(**params)["result"] == [row]
    for params in (
        {"topic0": first, "topic1": other},
        {"address": address, "topic0": other},
        {"address": address, "toBlock": 1},
    ):
        assert found(**params) == {"status": "0", "message": "No records found", "result": []}
    assert found()["result"] == "Error! Missing address or topics"
    assert found(topic0="0x1")["result"] == "Error! Invalid topic format"


def test_unindexed_log_search_is_limited_in_blocks(
    explored: Explored, monkeypatch: pytest.MonkeyPatch, counter: Sample
) -> None:
    monkeypatch.setattr("explorer_app.selectors.ledger.UNINDEXED_BLOCKS", 2)
    sender = "0x" + SENDER.hex().zfill(64)

    def found(**params: object) -> Any:
        return explored.get(module="logs", action="getLogs", topic1=sender, **params)["result"]

    assert found(fromBlock=0, toBlock=3).startswith("Error! More than ")
    assert len(found(fromBlock=2, toBlock=3)) == 1


def test_logs_of_an_address_are_searched_by_index(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Logs with each of the two words of the call data as topic, and one without a topic.
    both = bytes.fromhex("60003560206000a160203560206000a160206000a000")
    at = explored.create(
        bytes.fromhex(f"60{len(both):02x}600c60003960{len(both):02x}6000f3") + both
    )
    words = [bytes([number]) * 32 for number in (2, 1, 3, 1)]
    for sender, other in (words[:2], words[2:]):
        explored.chain.do(to=at, value=0, data=sender + other, gas=100_000)
    explored.create(bytes.fromhex("60006000a0"))

    def found(**params: object) -> Any:
        return explored.get(module="logs", action="getLogs", address="0x" + at.hex(), **params)[
            "result"
        ]

    with CaptureQueriesContext(connection) as asked:
        rows = found()
    keys = [query["sql"] for query in asked if query["sql"].startswith(KEYS)]
    traces = [(int(row["blockNumber"], 16), int(row["logIndex"], 16)) for row in rows]
    assert traces == sorted(traces)
    topics = [row["topics"] for row in rows]
    assert topics == [
        ["0x" + word.hex()] if word else []
        for word in (words[0], words[1], b"", words[2], words[3], b"")
    ]
    assert found(page=2, offset=2) == rows[2:4]
    assert found(topic0="0x" + words[1].hex()) == [rows[1], rows[4]]
    assert len(keys) == 4
    if connection.vendor == "sqlite":  # PostgreSQL's planner uses no index for so few rows
        with connection.cursor() as cursor:
            for sql in keys:
                cursor.execute("EXPLAIN QUERY PLAN " + sql)
                assert "cchain_log_by_address (address=? AND topic0=? AND id>? AND id<?)" in str(
                    cursor.fetchall()
                )

    monkeypatch.setattr("explorer_app.selectors.ledger.MAX_EVENTS", 2)
    assert found() == rows
    monkeypatch.setattr("explorer_app.selectors.ledger.UNINDEXED_BLOCKS", 2)
    assert found(fromBlock=1).startswith("Error! More than ")
    assert found(fromBlock=2, toBlock=3) == rows
    monkeypatch.setattr("explorer_app.selectors.ledger.MAX_BYTES", 31)
    assert found(fromBlock=2, toBlock=3).startswith("Query Timeout occured")


def test_failed_transaction_and_status_are_returned(
    explored: Explored, counter: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = account(explored, "txlist", address=ME)["result"]

    def told(action: str, row: dict[str, str]) -> Any:
        return explored.get(module="transaction", action=action, txhash=row["hash"])["result"]

    assert told("getstatus", rows[1]) == {"isError": "0", "errDescription": ""}
    assert told("getstatus", rows[2]) == {"isError": "1", "errDescription": "execution reverted"}
    with monkeypatch.context() as hasty, explored.site.executing, explored.site.executing:
        hasty.setattr(traces, "PATIENCE", 0.01)
        assert told("getstatus", rows[2]) == "Max rate limit reached"
    assert [told("gettxreceiptstatus", row)["status"] for row in rows] == ["1", "1", "0", "1"]
    assert told("gettxreceiptstatus", {"hash": "0x" + "11" * 32}) == {"status": ""}
    assert told("getstatus", {"hash": "0x1"}) == "Error! Invalid transaction hash"


@pytest.mark.usefixtures("counter")
def test_blocks_are_rewarded_with_tips(
    explored: Explored, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = rpc("eth_getBlockByNumber", "0x4", False)
    tip = 21_000 * 10**9

    reward = explored.get(module="block", action="getblockreward", blockno=4)["result"]

    assert (reward["blockReward"], reward["blockMiner"]) == (str(tip), block["miner"])
    mined = account(explored, "getminedblocks", address=block["miner"])["result"]
    assert [row["blockNumber"] for row in mined] == ["4", "3", "2", "1"]
    assert mined[0]["blockReward"] == str(tip)
    with CaptureQueriesContext(connection) as read:
        assert mined_blocks.tips(explored.site.evm, [1, 4]) == {
            1: int(mined[3]["blockReward"]),
            4: tip,
        }
        receipts = [query["sql"] for query in read if 'FROM "cchain_app_receipt"' in query["sql"]]
    (sql,) = receipts
    for number in (1, 4):
        assert f">= {row_id(number)} " in sql
        assert f"< {row_id(number + 1)})" in sql
    monkeypatch.setattr(mined_blocks, "MAX_PAYING", 3)
    answered = account(explored, "getminedblocks", address=block["miner"])["result"]
    assert answered.startswith("Query Timeout occured")
    missing = explored.get(module="block", action="getblockreward", blockno=9)
    assert missing["status"] == "0"


@pytest.mark.usefixtures("counter")
def test_blocks_are_found_by_their_time(explored: Explored, rpc: Rpc) -> None:
    at = int(rpc("eth_getBlockByNumber", "0x3", False)["timestamp"], 16)

    def found(timestamp: int, **params: str) -> Any:
        asked = {"module": "block", "action": "getblocknobytime", "timestamp": timestamp}
        return explored.get(**asked, **params)["result"]

    assert found(at) == found(at, closest="after") == "3"
    assert found(at + 1000) == "4"
    assert found(at + 1000, closest="after") == "Error! No closest block found"
    countdown = explored.get(module="block", action="getblockcountdown", blockno=14)["result"]
    assert (countdown["CurrentBlock"], countdown["RemainingBlock"]) == ("4", "10")
    passed = explored.get(module="block", action="getblockcountdown", blockno=4)["result"]
    assert passed == "Error! Block number already pass"


def test_methods_of_the_chains_interface_answer_without_an_envelope(
    explored: Explored, counter: Sample, rpc: Rpc
) -> None:
    address = "0x" + counter.addresses["counter"]

    def asked(action: str, **params: object) -> Any:
        return explored.get(module="proxy", action=action, **params)

    assert asked("eth_blockNumber") == {"jsonrpc": "2.0", "id": 1, "result": "0x4"}
    assert asked("eth_getcode", address=address)["result"] == rpc("eth_getCode", address, "latest")
    block = asked("eth_getBlockByNumber", tag="0x1", boolean="false")["result"]
    assert block == rpc("eth_getBlockByNumber", "0x1", False)
    number = asked("eth_call", to=address, data="0x8381f58a", tag="latest")["result"]
    assert int(number, 16) == 7
    assert asked("eth_getTransactionCount", address=ME, tag="latest")["result"] == "0x4"
    assert asked("eth_getStorageAt", address=address, position="0x0", tag="latest")["result"]
    assert asked("eth_estimateGas", to=TO, value="1", **{"from": ME})["result"] == "0x5208"
    assert "error" in asked("eth_getTransactionReceipt", txhash="0x1")
    raw = explored.chain.make(value=3).raw
    sent = explored.post(module="proxy", action="eth_sendRawTransaction", hex="0x" + raw.hex())
    assert len(sent["result"]) == 66


@pytest.mark.usefixtures("counter")
@pytest.mark.parametrize("summarised", [True, False])
def test_supply_and_gas_are_returned(
    explored: Explored, rpc: Rpc, monkeypatch: pytest.MonkeyPatch, *, summarised: bool
) -> None:
    if summarised:  # no rows are added up
        monkeypatch.setattr("explorer_app.selectors.sums.MAX_ROWS", 0)
    else:
        monkeypatch.setattr(Explorer, "summarises", False)
    genesis = sum(account.balance for account in explored.site.evm.genesis.alloc.values())
    burnt = sum(
        int(block["gasUsed"], 16) * int(block["baseFeePerGas"], 16)
        for block in (rpc("eth_getBlockByNumber", hex(number), False) for number in range(5))
    )

    supply = explored.get(module="stats", action="ethsupply2")["result"]

    assert supply["BurntFees"] == str(burnt)
    assert explored.get(module="stats", action="ethsupply")["result"] == supply["EthSupply"]
    assert int(supply["EthSupply"]) == genesis - burnt
    price = explored.get(module="stats", action="ethprice")["result"]
    assert (price["ethusd"], price["ethbtc"]) == ("0", "0")
    oracle = explored.get(module="gastracker", action="gasoracle")["result"]
    assert float(oracle["SafeGasPrice"]) <= float(oracle["ProposeGasPrice"])
    proposed = int(float(oracle["ProposeGasPrice"]) * 10**9 + 0.5)
    assert proposed == int(rpc("eth_gasPrice"), 16)
    waits = [
        explored.get(module="gastracker", action="gasestimate", gasprice=time)["result"]
        for time in (proposed, 0)
    ]
    assert waits == ["1", "3600"]


def test_the_second_version_lists_only_this_chain(explored: Explored) -> None:
    (row,) = explored.get("/v2/chainlist")["result"]

    assert (row["chainid"], row["status"]) == ("43112", 1)
    assert row["apiurl"].endswith("/v2/api?chainid=43112")


def test_lists_above_the_limit_are_refused(
    explored: Explored, monkeypatch: pytest.MonkeyPatch, counter: Sample
) -> None:
    monkeypatch.setattr("explorer_app.selectors.ledger.MAX_BYTES", 100)
    monkeypatch.setattr("explorer_app.selectors.sums.MAX_ROWS", 1)
    monkeypatch.setattr(Explorer, "summarises", False)
    text = "Query Timeout occured. Please select a smaller result dataset"

    assert account(explored, "txlist", address=ME)["result"] == text
    for action in ("ethsupply", "ethsupply2"):
        assert explored.get(module="stats", action=action)["result"] == text


def test_inner_transactions_are_listed_after_the_receipt(explored: Explored) -> None:
    factory, created = _made_by_factory(explored)

    (row,) = account(explored, "txlistinternal", address=factory)["result"]
    assert (row["from"], row["contractAddress"], row["type"]) == (factory, created, "create2")
    found = explored.get(
        module="contract", action="getcontractcreation", contractaddresses=created
    )["result"]
    assert [item["contractFactory"] for item in found] == [factory]


def test_lists_of_an_outdated_index_are_refused_with_heights(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory, created = _made_by_factory(explored)
    monkeypatch.setattr(indexing, "PATIENCE", 0.0)
    words = (
        "The chain cannot be read at the moment: the index of {} has reached block 0, but this answer needs block 2; "
        "try again later"
    )

    calls, transfers = (
        refused(words.format(what)) for what in ("internal calls", "token transfers")
    )
    assert account(explored, "txlistinternal", address=factory) == calls
    assert account(explored, "txlistinternal", startblock=0) == calls
    made = explored.get(module="contract", action="getcontractcreation", contractaddresses=created)
    assert made == calls
    for action in ("tokentx", "tokennfttx", "token1155tx", "addresstokenbalance"):
        assert account(explored, action, address=ME) == transfers
    for action in ("tokeninfo", "tokenholderlist", "tokenholdercount"):
        answer = explored.get(module="token", action=action, contractaddress=created)
        assert answer == transfers


@pytest.mark.node_settings(trace_index="off")
def test_without_an_index_inner_transactions_are_refused(explored: Explored) -> None:
    assert account(explored, "txlistinternal", address=ME) == refused(ActionReason.NO_CALLS_INDEXED)


def _made_by_factory(explored: Explored) -> tuple[str, str]:
    """Create a contract by a factory, in block 2; return the addresses of both."""
    factory = bytecode.created(SENDER, explored.chain.nonce)
    explored.chain.do(to=None, data=bytecode.deploy_code(bytecode.FACTORY), gas=500_000, value=0)
    code = bytecode.deploy_code(bytecode.STORE)
    explored.chain.do(to=factory, data=bytecode.words(8) + code, gas=300_000, value=0)
    return "0x" + factory.hex(), "0x" + bytecode.created2(factory, 8, code).hex()

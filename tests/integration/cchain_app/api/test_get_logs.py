"""eth_getLogs and polled log filters, over blocks in memory and over database rows."""

import pytest

from cchain_app.api.eth import logs as eth_logs
from jsonrpc.errors import JsonRpcError
from tests.builders import bytecode
from tests.builders.node_settings import updated
from tests.builders.transactions import SENDER


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


LOGGER = bytecode.created(SENDER, 0)
ONE, TWO, THREE = (n.to_bytes(32, "big") for n in (1, 2, 3))


@pytest.fixture(params=["memory", "rows"])
def logged(request, chain, monkeypatch):
    """Blocks 2 to 4 with two logs each, searched in memory and in the database."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000, value=0)
    for data in (b"\x0a", b"\x0b", b"\x0c"):
        chain.do(to=LOGGER, data=data, gas=100_000, value=0)
    if request.param == "rows":
        monkeypatch.setattr(eth_logs, "IN_MEMORY", 0)
    return chain


def test_get_logs_by_address_and_range(rpc, logged):
    wanted = {"address": hexed(LOGGER), "fromBlock": "0x2", "toBlock": "0x3"}
    found = rpc("eth_getLogs", wanted)
    assert [(other["blockNumber"], other["logIndex"]) for other in found] == [
        ("0x2", "0x0"), ("0x2", "0x1"), ("0x3", "0x0"), ("0x3", "0x1"),
    ]  # fmt: skip
    assert [item["data"] for item in found] == ["0x0a", "0x0a", "0x0b", "0x0b"]


def test_logs_are_those_of_the_receipts(rpc, logged):
    receipts = [rpc("eth_getBlockReceipts", hex(number))[0] for number in range(2, 5)]
    assert rpc("eth_getLogs", {"fromBlock": "0x0"}) == [
        item for receipt in receipts for item in receipt["logs"]
    ]


CALLER = hexed(SENDER.rjust(32, b"\0"))


@pytest.mark.parametrize(
    ("topics", "found"),
    [
        ([], 2),
        ([hexed(ONE)], 1),
        ([None, None], 2),
        ([None, None, None], 1),
        ([None, None, None, None], 1),
        ([CALLER], 1),
        ([[hexed(ONE), CALLER], [hexed(TWO), hexed(ONE)]], 2),
        ([CALLER, [hexed(THREE), hexed(ONE)], hexed(TWO), hexed(THREE)], 1),
        ([hexed(ONE), hexed(THREE)], 0),
    ],
)
def test_topics_select_by_position(rpc, logged, topics, found):
    # A call emits a log with two topics and one with four, one of which is the caller.
    pairs = rpc("eth_getLogs", {"fromBlock": "0x0", "topics": topics})
    assert len(pairs) == 3 * found


def test_one_block_by_its_hash(rpc, logged):
    block = rpc("eth_getBlockByNumber", "0x3", False)
    found = rpc("eth_getLogs", {"blockHash": block["hash"]})
    assert {item["blockHash"] for item in found} == {block["hash"]}
    assert len(found) == 2


def test_too_many_logs_are_refused(rpc, logged, settings):
    settings.NODE = updated(settings.NODE, logs_results=5)
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getLogs", {"fromBlock": "0x0"})
    assert (failure.value.code, failure.value.message) == (
        -32005, "query returned more than 5 results",
    )  # fmt: skip
    assert len(rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "0x3"})) == 4


def test_log_filter_and_get_logs_agree(rpc, logged):
    made = rpc("eth_newFilter", {"address": hexed(LOGGER)})
    assert rpc("eth_getFilterChanges", made) == []
    _, block = logged.do(to=LOGGER, data=b"\x0d", gas=100_000, value=0)
    changes = rpc("eth_getFilterChanges", made)
    assert changes == rpc("eth_getLogs", {"blockHash": hexed(block.hash)})
    assert len(changes) == 2
    assert rpc("eth_getFilterChanges", made) == []
    assert rpc("eth_uninstallFilter", made) is True


def test_a_block_filter_and_a_pending_filter(rpc, logged):
    blocks = rpc("eth_newBlockFilter")
    pending = rpc("eth_newPendingTransactionFilter")
    sent, waiting = logged.make(), logged.make()
    logged.send(sent)
    block = logged.mine()
    logged.send(waiting)
    assert rpc("eth_getFilterChanges", blocks) == [hexed(block.hash)]
    assert rpc("eth_getFilterChanges", pending) == [hexed(sent.hash), hexed(waiting.hash)]
    logged.mine()
    assert rpc("eth_getFilterChanges", pending) == []

"""NODE_MINING set to interval and manual. All other tests cover mining on arrival."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from eth_account import Account
from websockets.sync.client import ClientConnection, connect

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY, MakeNode
from tests.e2e.transactions import Sender, wait_for_receipts

STRANGER = "0x000000000000000000000000000000000000dEaD"
PATIENCE = 60.0
"""Seconds until a test gives up waiting for an answer or a notification."""


@pytest.fixture
def sender() -> Sender:
    """The rich account on a chain without transactions."""
    return Sender(Account.from_key(RICH_KEY), CHAIN_ID)


@contextmanager
def subscribed(node: CheckedNode, kind: str) -> Iterator[ClientConnection]:
    """Open a connection with a subscription."""
    with connect(node.ws_url, compression=None, open_timeout=PATIENCE) as connection:
        call = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [kind]}
        connection.send(json.dumps(call))
        assert "result" in json.loads(connection.recv(PATIENCE))
        yield connection


def told(connection: ClientConnection) -> Any:
    """Return the next notification's result."""
    return json.loads(connection.recv(PATIENCE))["params"]["result"]


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_interval_mining_builds_blocks_with_and_without_transactions(
    make_node: MakeNode, sender: Sender, profile: str
) -> None:
    env = {"NODE_MINING": "interval", "NODE_BLOCK_INTERVAL": "1"}
    node = make_node(profile, env=env)
    node.start()
    with subscribed(node, "newHeads") as connection, node.client() as client:
        heads = [told(connection) for _ in range(3)]
        sent = [
            client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 5)) for _ in range(3)
        ]
        receipts = wait_for_receipts(client, sent)
        last = int(receipts[-1]["blockNumber"], 16)
        while int(heads[-1]["number"], 16) <= last:  # blocks continue without pending transactions
            heads.append(told(connection))
        blocks = [client.call("eth_getBlockByHash", head["hash"], False) for head in heads]
    for parent, block in itertools.pairwise(blocks):
        assert int(block["number"], 16) == int(parent["number"], 16) + 1
        assert block["parentHash"] == parent["hash"]
        assert int(block["timestamp"], 16) >= int(parent["timestamp"], 16)
    assert [item for block in blocks for item in block["transactions"]] == sent
    assert [block["transactions"] for block in (*blocks[:3], blocks[-1])] == [[]] * 4


def test_single_voting_validator_mines_by_interval(make_node: MakeNode) -> None:
    """Each block after the first comes in a later slot than the one right after its parent."""
    node = make_node(
        env={"NODE_MINING": "interval", "NODE_BLOCK_INTERVAL": "5", "NODE_CONSENSUS": "snowman"}
    )
    node.start()
    with subscribed(node, "newHeads") as connection:
        times = [int(told(connection)["timestamp"], 16) for _ in range(3)]
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(times))


def test_manual_mining_waits_for_the_command(make_node: MakeNode, sender: Sender) -> None:
    node = make_node(env={"NODE_MINING": "manual"})
    node.start()
    with (
        subscribed(node, "newHeads") as heads,
        subscribed(node, "newPendingTransactions") as pending,
        node.client() as client,
    ):
        sent = [
            client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 5)) for _ in range(3)
        ]
        assert [told(pending) for _ in sent] == sent
        waiting = [client.call("eth_getTransactionByHash", element) for element in sent]
        assert [(entry["hash"], entry["blockHash"]) for entry in waiting] == [
            (item, None) for item in sent
        ]
        assert client.call("eth_getTransactionCount", sender.address, "pending") == "0x3"
        assert client.call("eth_getTransactionCount", sender.address, "latest") == "0x0"
        assert client.call("txpool_status") == {"pending": "0x3", "queued": "0x0"}
        assert client.call("eth_blockNumber") == "0x0"
        with connect(node.ws_url, compression=None, open_timeout=PATIENCE) as socket:
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "eth_getBalance",
                "params": [STRANGER, "pending"],
            }
            socket.send(json.dumps(call))
            assert json.loads(socket.recv(PATIENCE))["result"] == "0xf"
        assert client.call("eth_getBalance", STRANGER, "pending") == "0xf"
        assert client.call("eth_getBalance", STRANGER, "latest") == "0x0"

        assert node.manage("produce_block") == "Block 1 with 3 transactions.\n"
        assert (told(heads)["number"], client.call("eth_blockNumber")) == ("0x1", "0x1")
        mined = [client.call("eth_getTransactionReceipt", one) for one in sent]
        assert [other["blockNumber"] for other in mined] == ["0x1"] * 3
        assert client.call("eth_getBalance", STRANGER, "latest") == "0xf"
        assert client.call("txpool_status") == {"pending": "0x0", "queued": "0x0"}

        assert node.manage("produce_block", "--empty") == "Block 2 with 0 transactions.\n"
        assert told(heads)["number"] == "0x2"
        sent.append(client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 5)))
        assert client.call("eth_getTransactionCount", sender.address, "pending") == "0x4"
        assert node.manage("produce_block") == "Block 3 with 1 transaction.\n"
        assert told(heads)["number"] == "0x3"
        assert client.call("eth_getTransactionReceipt", sent[-1])["blockNumber"] == "0x3"

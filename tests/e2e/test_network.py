"""Three real nodes of one local network discover each other, agree, get disconnected and reconnect."""

from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_wallet import address, fund, new_keys
from tests.e2e.transactions import Sender, wait_for_receipts

CHAIN_ID = 43112
SILENCE = 30.0
"""Seconds after which a silent peer is disconnected (p2p.md 6)."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    with LocalNetwork(tmp_path_factory.mktemp("network"), 3) as running:
        running.start()
        yield running


@pytest.fixture
def whole(network: LocalNetwork) -> LocalNetwork:
    """The network with all nodes connected and healthy."""
    wait_for(lambda: all(len(node.peers()) == 2 for node in network.nodes), "all are connected")
    wait_for(lambda: all(healthy(node) for node in network.nodes), "all are healthy")
    return network


def healthy(node: NetworkNode) -> bool:
    return node.get("/ext/health")[0] == 200


def error_of(node: NetworkNode, check: str) -> str:
    """Return the error of a check, which may fail for another reason before it has noticed a lost peer."""
    error: str = node.checks()[check].get("error", "")
    return error


def uptime(node: NetworkNode, other: NetworkNode) -> float:
    """Return a validator's uptime as measured by another node."""
    found = node.ask("platform.getCurrentValidators", nodeIDs=[str(other.node_id)])
    return float(found["validators"][0]["uptime"])


def rich(place: int) -> Sender:
    """Return one of the funded accounts; the clients of each node use their own account."""
    return Sender(Account.from_key(list(DEV_KEYS.values())[place]), CHAIN_ID)


def send(node: NetworkNode, sender: Sender, count: int) -> list[str]:
    """Send transfers to a node and return their hashes."""
    with node.client() as client:
        sender.nonce = int(client.call("eth_getTransactionCount", sender.address, "pending"), 16)
        return [
            client.call("eth_sendRawTransaction", sender.transfer(sender.address))
            for _ in range(count)
        ]


def mined(node: NetworkNode, hashes: list[str]) -> list[dict[str, Any]]:
    with node.client() as client:
        return wait_for_receipts(client, hashes)


def test_nodes_list_each_other_as_peers(whole: LocalNetwork) -> None:
    ids = {str(node_id) for node_id in whole.node_ids}
    for node in whole.nodes:
        found = node.ask("info.peers")
        assert found["numPeers"] == "2"
        assert {peer["nodeID"] for peer in found["peers"]} == ids - {str(node.node_id)}
        assert {peer["version"] for peer in found["peers"]} == {"avalanchego/1.14.2"}
        assert node.checks()["P"]["message"]["vm"] == {"percentConnected": 1}
        wait_for(
            lambda node=node: node.measured("network").get("connectedPeers") == 2,
            "this check has seen both too",
        )
        assert node.ask("info.uptime")["rewardingStakePercentage"]
    first = whole.nodes[0]
    wait_for(
        lambda: (
            {
                item["nodeID"]: item["connected"]
                for item in first.ask("platform.getCurrentValidators")["validators"]
            }
            == dict.fromkeys(ids, True)
        ),
        "all validators are connected",
    )


def test_transactions_to_any_node_are_mined_and_agreed_on(whole: LocalNetwork) -> None:
    first, second, third = whole.nodes
    hashes = send(second, rich(1), 60) + send(third, rich(2), 60) + send(first, rich(3), 60)

    receipts = [mined(node, hashes) for node in whole.nodes]

    assert receipts[0] == receipts[1] == receipts[2]
    wait_for(lambda: agreed(whole.nodes), "all have the same heads")


def test_a_p_chain_transaction_reaches_the_producer_from_a_follower(whole: LocalNetwork) -> None:
    (key,) = new_keys(1)
    fund(whole.nodes[2], [(key, 1_000_000)])

    wait_for(
        lambda: (
            {
                node.ask("platform.getBalance", address=address(key))["balance"]
                for node in whole.nodes
            }
            == {"1000000"}
        ),
        "it is committed everywhere",
    )


def test_killed_node_rejoins(whole: LocalNetwork) -> None:
    first, second, third = whole.nodes
    third.kill()
    wait_for(lambda: len(first.peers()) == 1, "the others miss it")
    wait_for(lambda: "connected to" in error_of(first, "P"), "too little stake is connected")
    assert first.get("/ext/health")[0] == 503
    failing = first.checks()["P"]
    assert failing["message"]["vm"]["percentConnected"] < 0.8

    wait_for(lambda: uptime(first, third) < 1, "its uptime goes down")
    hashes = send(second, rich(1), 30)
    mined(first, hashes)
    third.start()

    mined(third, hashes)
    wait_for(lambda: agreed(whole.nodes), "it has what it missed")
    wait_for(lambda: all(healthy(node) for node in whole.nodes), "all are healthy again")


def test_partitioned_node_rejoins(whole: LocalNetwork) -> None:
    first, second, _ = whole.nodes
    whole.cut(second)
    try:
        hashes = send(first, rich(0), 30)
        mined(first, hashes)
        assert second.rpc("eth_getTransactionReceipt", hashes[-1]) is None
        wait_for(lambda: not second.peers(), "it hears nobody", SILENCE + 120)
        words = "not connected to a minimum of 1 peer(s) only 0"
        wait_for(lambda: words in error_of(second, "network"), "it says so")
        assert second.get("/ext/health")[0] == 503
    finally:
        whole.mend(second)

    mined(second, hashes)
    wait_for(lambda: agreed(whole.nodes), "it has what it missed")
    wait_for(lambda: all(healthy(node) for node in whole.nodes), "all are healthy again")

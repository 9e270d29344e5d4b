"""Five nodes of one network that take turns in making blocks, by the proposer VM's schedule."""

import threading
from collections.abc import Iterator

import pytest
from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_wallet import address, fund, new_keys
from tests.e2e.transactions import Sender, wait_for_receipts

MORE = 20
"""Blocks of one transaction each, in which at least three of five nodes have had a turn."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    with LocalNetwork(tmp_path_factory.mktemp("turns"), 5, turns=True) as running:
        running.start()
        wait_for(lambda: all(len(node.peers()) == 4 for node in running.nodes), "all see all")
        yield running


def test_five_nodes_take_turns_and_agree_under_load(network: LocalNetwork) -> None:
    wait_for(
        lambda: all(node.get("/ext/health/readiness")[0] == 200 for node in network.nodes), "ready"
    )
    keys = list(DEV_KEYS.values())
    hashes: list[str] = []

    def load(place: int) -> None:
        sender = Sender(Account.from_key(keys[place]), 43112)
        with network.nodes[place].client() as client:
            for _ in range(8):
                raw = sender.transfer(sender.address)
                hashes.append(client.call("eth_sendRawTransaction", raw))
                wait_for_receipts(client, hashes[-1:])

    clients = [threading.Thread(target=load, args=(place,)) for place in range(5)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    (key,) = new_keys(1)
    fund(network.nodes[3], [(key, 1_000_000)])

    assert len(hashes) == 40
    for node in network.nodes:
        with node.client() as client:
            wait_for_receipts(client, hashes)
        wait_for(
            lambda node=node: (
                node.ask("platform.getBalance", address=address(key))["balance"] == "1000000"
            ),
            "the coin is everywhere",
        )
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    sender = Sender(Account.from_key(keys[7]), 43112)
    for _ in range(MORE):  # few blocks may have held all of them, and turns are drawn by lot
        if proposers(network.nodes[0]) >= 3:
            break
        with network.nodes[0].client() as client:
            sent = client.call("eth_sendRawTransaction", sender.transfer(sender.address))
            wait_for_receipts(client, [sent])
    assert proposers(network.nodes[0]) >= 3


def test_a_node_that_joins_as_the_readme_says_bootstraps_and_follows(network: LocalNetwork) -> None:
    sender = Sender(Account.from_key(list(DEV_KEYS.values())[8]), 43112)
    with network.nodes[1].client() as client:
        for _ in range(MORE):
            if proposers(network.nodes[0]) >= 2:
                break
            sent = client.call("eth_sendRawTransaction", sender.transfer(sender.address))
            wait_for_receipts(client, [sent])
    joiner = network.joiner()
    joiner.start()
    wait_for(lambda: joiner.get("/ext/health/readiness")[0] == 200, "it is ready")

    with joiner.client() as client:
        for _ in range(3):
            sent = client.call("eth_sendRawTransaction", sender.transfer(sender.address))
            wait_for_receipts(client, [sent])
    everybody = [*network.nodes, joiner]
    wait_for(lambda: agreed(everybody), "all have the same heads")
    joiner.restart()
    wait_for(lambda: joiner.get("/ext/health/readiness")[0] == 200, "it is ready again")
    wait_for(lambda: agreed(everybody), "all have the same heads again")
    joiner.stop()


def test_a_node_that_hears_nobody_makes_nothing_and_catches_up(network: LocalNetwork) -> None:
    *others, alone = network.nodes
    wait_for(lambda: all(healthy(node) for node in network.nodes), "all are healthy")
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    network.cut(alone)
    wait_for(lambda: connected_stake(alone) < 0.5, "it is alone")
    height = alone.rpc("eth_blockNumber")
    keys = list(DEV_KEYS.values())
    left_out, heard = (Sender(Account.from_key(keys[place]), 43112) for place in (5, 6))
    with alone.client() as client:
        waiting = client.call("eth_sendRawTransaction", left_out.transfer(left_out.address))
    with others[0].client() as client:
        for _ in range(4):  # some of the slots of these blocks are its own
            sent = client.call("eth_sendRawTransaction", heard.transfer(heard.address))
            wait_for_receipts(client, [sent])
    assert alone.rpc("eth_blockNumber") == height
    # Of each of the others it gives up after another silence.
    wait_for(
        lambda: "connected to 20.00% of the stake" in alone.checks()["P"].get("error", ""),
        "it hears nobody",
    )
    assert alone.rpc("eth_blockNumber") == height

    network.mend(alone)
    for node in network.nodes:
        with node.client() as client:
            wait_for_receipts(client, [waiting, sent])
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    wait_for(lambda: healthy(alone), "it is healthy")


def proposers(node: NetworkNode) -> int:
    """Return how many nodes have made blocks of the C-Chain."""
    with node.database() as ask:
        ((count,),) = ask(
            "SELECT COUNT(DISTINCT proposer_id) FROM network_app_outerblock WHERE chain = 'C'"
        )
    return int(count)


def healthy(node: NetworkNode) -> bool:
    return node.get("/ext/health")[0] == 200


def connected_stake(node: NetworkNode) -> float:
    """Return the part of the stake that a node is connected to, itself included."""
    part: float = node.checks()["P"]["message"]["vm"]["percentConnected"]
    return part

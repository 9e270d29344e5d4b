"""A network with both profiles: a producer on PostgreSQL and Redis, and a single-process follower on SQLite."""

from collections.abc import Iterator

import pytest
from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.e2e.conftest import Postgresql
from tests.e2e.network import LocalNetwork, agreed, wait_for
from tests.e2e.platform_wallet import fund, new_keys
from tests.e2e.transactions import Sender, wait_for_receipts


@pytest.fixture(scope="module")
def network(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Postgresql
) -> Iterator[LocalNetwork]:
    directory = tmp_path_factory.mktemp("profiles")
    with LocalNetwork(directory, 2, production={0: postgresql()}) as running:
        running.start()
        wait_for(lambda: all(len(node.peers()) == 1 for node in running.nodes), "all see all")
        yield running


def test_nodes_of_both_profiles_follow_each_other(network: LocalNetwork) -> None:
    hashes: list[str] = []
    for place, node in enumerate(network.nodes):
        sender = Sender(Account.from_key(list(DEV_KEYS.values())[place]), 43112)
        with node.client() as client:
            hashes += [
                client.call("eth_sendRawTransaction", sender.transfer(sender.address))
                for _ in range(20)
            ]
    fund(network.nodes[1], [(new_keys(1)[0], 1_000_000)])

    for node in network.nodes:
        with node.client() as client:
            wait_for_receipts(client, hashes)
    wait_for(lambda: agreed(network.nodes), "all have the same heads")


def test_health_and_metrics_know_the_peers_of_another_process(network: LocalNetwork) -> None:
    producer = network.nodes[0]
    wait_for(lambda: producer.get("/ext/health")[0] == 200, "it is healthy")
    wait_for(
        lambda: (
            producer.measured("network").get("connectedPeers") == 1
            and producer.measured("P").get("vm") == {"percentConnected": 1}
        ),
        "both checks know the other",
    )
    wait_for(lambda: "svc_network_peers 1.0" in producer.metrics(), "so do the metrics")


def test_killed_network_process_recovers(network: LocalNetwork) -> None:
    producer, follower = network.nodes
    producer.restart_process("network")

    wait_for(lambda: len(producer.peers()) == 1, "its peer is back")
    sender = Sender(Account.from_key(list(DEV_KEYS.values())[4]), 43112)
    with follower.client() as client:
        sent = client.call("eth_sendRawTransaction", sender.transfer(sender.address))
        wait_for_receipts(client, [sent])

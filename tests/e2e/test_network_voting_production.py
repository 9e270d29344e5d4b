"""Validators of both profiles vote; in production, block building, network and web are separate processes."""

from collections.abc import Iterator

import pytest
from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.e2e.conftest import Postgresql
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_wallet import fund, new_keys
from tests.e2e.transactions import Sender, wait_for_receipts


@pytest.fixture(scope="module")
def network(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Postgresql
) -> Iterator[LocalNetwork]:
    with LocalNetwork(
        tmp_path_factory.mktemp("voters"),
        2,
        votes=True,
        env={"NODE_CONSENSUS": "snowman"},
        production={0: postgresql()},
    ) as running:
        running.start()
        wait_for(lambda: all(len(node.peers()) == 1 for node in running.nodes), "all see all")
        yield running


def send_and_see(network: LocalNetwork, sender: Sender) -> None:
    """Send a transaction through each node, and check that all nodes have all of them."""
    hashes = []
    for node in network.nodes:
        with node.client() as client:
            hashes.append(client.call("eth_sendRawTransaction", sender.transfer(sender.address)))
    for node in network.nodes:
        with node.client() as client:
            wait_for_receipts(client, hashes)


def test_both_profiles_accept_the_same(network: LocalNetwork) -> None:
    send_and_see(network, Sender(Account.from_key(next(iter(DEV_KEYS.values()))), 43112))
    fund(network.nodes[0], [(new_keys(1)[0], 1_000_000)])
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    assert_seen_elsewhere(network.nodes[0])


def assert_seen_elsewhere(node: NetworkNode) -> None:
    """Check that processes which do not vote report the results of both chains' votes."""
    for chain in "PC":
        counted = f'svc_snowman_blks_accepted_count{{chain="{chain}"}} '
        wait_for(
            lambda counted=counted: any(
                line.startswith(counted) and float(line.removeprefix(counted)) > 0
                for line in node.metrics().splitlines()
            ),
            "accepted blocks are counted",
        )
    with node.database() as ask:
        ((chains,),) = ask("SELECT COUNT(DISTINCT chain) FROM n_decisions WHERE is_accepted")
    assert chains == 2


def test_killed_voting_process_recovers(network: LocalNetwork) -> None:
    network.nodes[0].restart_process("network")
    send_and_see(network, Sender(Account.from_key(list(DEV_KEYS.values())[1]), 43112))
    wait_for(lambda: agreed(network.nodes), "all have the same heads")

"""A node that joins late: it knows one address, fetches the genesis and 4,000 blocks, and follows."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account

from primitives.ids import PRIMARY_NETWORK_ID
from primitives.keys import DEV_KEYS
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_wallet import fund, new_keys
from tests.e2e.transactions import Sender, wait_for_receipts

BLOCKS = 4_000


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    """One validator with a history of blocks on both chains."""
    with LocalNetwork(tmp_path_factory.mktemp("joining"), 1) as running:
        (first,) = running.nodes
        first.manage("init_node")
        first.manage("produce_block", "--empty", "--count", str(BLOCKS))
        running.start()
        sender = Sender(Account.from_key(next(iter(DEV_KEYS.values()))), 43112)
        with first.client() as client:
            for _ in range(5):
                sent = [
                    client.call("eth_sendRawTransaction", sender.transfer(sender.address))
                    for _ in range(10)
                ]
                wait_for_receipts(client, sent)
        for _ in range(5):
            fund(first, [(new_keys(1)[0], 1_000_000)])
        yield running


def height(node: NetworkNode) -> int:
    return int(node.rpc("eth_blockNumber"), 16)


def syncing(node: NetworkNode) -> bool:
    found = node.rpc("eth_syncing")
    return bool(found) and int(found["highestBlock"], 16) >= BLOCKS


def bootstrapped(node: NetworkNode) -> tuple[int, dict[str, Any]]:
    """Return the status of the readiness probe, and its single check."""
    status, readiness = node.get("/ext/health/readiness")
    return status, readiness["checks"]["bootstrapped"]


def test_joining_node_bootstraps_and_follows(network: LocalNetwork) -> None:
    (first,) = network.nodes
    joiner = network.joiner()
    # Without this delay a fast machine bootstraps before the test can look.
    network.slow(joiner, 0.2)
    joiner.start()
    network.cut(joiner)

    wait_for(lambda: "message" in bootstrapped(joiner)[1], "its health was checked once")
    status, check = bootstrapped(joiner)
    assert status == 503
    assert check["message"] == [str(PRIMARY_NETWORK_ID)]
    assert re.fullmatch(
        r"subnets not bootstrapped(: connected to [01] of 1 bootstrappers, 1 needed)?",
        check["error"],
    )
    assert joiner.ask("info.isBootstrapped", chain="C") == {"isBootstrapped": False}
    network.slow(joiner, 0.0)
    network.mend(joiner)
    wait_for(lambda: syncing(joiner), "eth_syncing says how far it is", longest_pause=0.02)
    wait_for(lambda: height(joiner) > BLOCKS // 10, "it is on its way", longest_pause=0.02)
    joiner.kill()  # the next start resumes at the height that was reached
    reached = BLOCKS // 10
    joiner.start()
    assert height(joiner) >= reached
    wait_for(lambda: bootstrapped(joiner)[0] == 200, "it is ready", 180)

    assert height(joiner) >= BLOCKS
    assert joiner.ask("info.isBootstrapped", chain="C") == {"isBootstrapped": True}
    assert joiner.ask("info.isBootstrapped", chain="P") == {"isBootstrapped": True}
    wait_for(lambda: joiner.rpc("eth_syncing") is False, "eth_syncing says that it is done")
    assert "All chains are bootstrapped" in joiner.manage("bootstrap_progress")
    assert agreed([first, joiner])
    fund(joiner, [(new_keys(1)[0], 1_000_000)])
    wait_for(lambda: agreed([first, joiner]), "it follows")
    assert first.rpc("eth_getBlockByNumber", hex(BLOCKS // 2), True) == joiner.rpc(
        "eth_getBlockByNumber", hex(BLOCKS // 2), True
    )

"""Every node of a network reports a producer that builds no blocks while transactions are pending."""

from pathlib import Path

from eth_account import Account

from tests.e2e.conftest import CHAIN_ID, RICH_KEY
from tests.e2e.network import LocalNetwork, NetworkNode, wait_for
from tests.e2e.transactions import Sender

STRANGER = "0x000000000000000000000000000000000000dEaD"


def test_followers_name_the_stalled_producer(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path / "network", 3) as network:
        producer, *followers = network.nodes
        producer.set(NODE_MINING="manual")  # the other nodes only see that it builds no blocks
        network.start()
        for node in followers:
            wait_for(lambda node=node: not node.checks()["C"].get("error"), "C is healthy")
        sender = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
        gap = Sender(Account.from_key(RICH_KEY), CHAIN_ID, nonce=9)

        # Queued behind a nonce gap.
        followers[0].rpc("eth_sendRawTransaction", gap.transfer(STRANGER))
        for _ in range(2):
            followers[0].rpc("eth_sendRawTransaction", sender.transfer(STRANGER))

        words = f"2 transactions pending for #, but {producer.node_id} builds no blocks"
        for node in followers:
            wait_for(lambda node=node: words in told(node), f"{node.node_id} tells of it")
        producer.manage("produce_block")
        for node in followers:
            wait_for(lambda node=node: not told(node), "the block is there")


def told(node: NetworkNode) -> str:
    """Return the error of a node's C-Chain health check, without the seconds."""
    error = str(node.checks()["C"].get("error", ""))
    head, waits, rest = error.partition(" pending for ")
    return head + waits + rest.replace(rest.split(",")[0], "#", 1) if waits else error

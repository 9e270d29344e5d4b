"""A restarted node continues its chain."""

import pytest
from eth_account.signers.local import LocalAccount

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID
from tests.e2e.transactions import Sender, wait_for_receipts

STRANGER = "0x000000000000000000000000000000000000dEaD"


@pytest.fixture
def node(fresh: CheckedNode) -> CheckedNode:
    """The node that the test restarts."""
    return fresh


@pytest.mark.parametrize("fresh", ["embedded", "production"], indirect=True)
def test_a_second_start_has_the_same_head_state_and_pool(
    node: CheckedNode, account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    with node.client() as client:
        sent = [
            client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 5)) for _ in range(10)
        ]
        wait_for_receipts(client, sent)
        sender.nonce += 1  # a gap, so that the next transaction stays pending
        waiting = client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 6))
        before = seen(node, account.address, waiting)
    node.restart()
    assert seen(node, account.address, waiting) == before
    sender.nonce = 10
    with node.client() as client:
        gap = client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 7))
        receipts = wait_for_receipts(client, [gap, waiting])
        assert [receipt["status"] for receipt in receipts] == ["0x1", "0x1"]
        assert int(client.call("eth_getBalance", STRANGER, "latest"), 16) == 10 * 5 + 6 + 7


def seen(node: CheckedNode, address: str, waiting: str) -> list[object]:
    """Return a client's view of head, state, history and pool."""
    with node.client() as client:
        return client.batch(
            [
                ("eth_getBlockByNumber", "latest", True),
                ("eth_getBlockReceipts", "latest"),
                ("eth_getBalance", address, "latest"),
                ("eth_getBalance", STRANGER, "0x1"),
                ("eth_getTransactionCount", address, "pending"),
                ("eth_getTransactionByHash", waiting),
                ("txpool_content",),
            ]
        )

"""Without the native engine the node runs on the executable specification, and logs how slow that is."""

from eth_account import Account

from tests.e2e.conftest import CHAIN_ID, RICH_KEY, MakeNode
from tests.e2e.transactions import Sender, wait_for_receipts

STRANGER = "0x000000000000000000000000000000000000dEaD"


def test_a_node_without_the_native_engine_makes_the_same_kind_of_blocks(
    make_node: MakeNode,
) -> None:
    node = make_node(env={"NODE_ENGINE": "reference"})
    node.start()
    sender = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
    with node.client() as client:
        raws = [sender.transfer(STRANGER, 5) for _ in range(10)]
        sent = client.batch([("eth_sendRawTransaction", raw) for raw in raws])
        receipts = wait_for_receipts(client, sent)
        assert {receipt["gasUsed"] for receipt in receipts} == {"0x5208"}
        assert client.call("eth_getBalance", STRANGER, "latest") == hex(50)
    assert "a thousand times slower" in node.log()

"""A subnet whose validators vote on its chain, in a network of validators that vote on the Primary Network's."""

import time
from collections.abc import Iterator

import pytest

from platform_app.txs.base import SubnetValidator
from platform_app.txs.subnets import AddSubnetValidatorTx
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY
from tests.builders import platform
from tests.builders.transactions import RECIPIENT
from tests.e2e.faults import is_ready
from tests.e2e.network import LocalNetwork, NetworkNode, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, raw, worth
from tests.e2e.test_subnet_chains import Live, platform_owner, rpc, served

NODES = 3
VALIDATORS = 2
END = 3 * 86_400
"""Seconds for which the validators validate the subnet."""


class Voted(Live):
    """A network's first node, through which the subnets and chains are created."""

    def __init__(self, network: LocalNetwork) -> None:
        super().__init__(network.nodes[0])
        self.nodes = network.nodes

    def validate(self, name: str) -> None:
        """Make the first nodes validators of a chain's subnet."""
        wallet = Wallet(EWOQ_KEY)
        with PlatformClient(self.node.port) as client:
            for node in self.nodes[:VALIDATORS]:
                wallet.look(client)
                coin = max(wallet.coins, key=worth)
                node_id: NodeID = node.node_id
                made = platform.unsigned(
                    AddSubnetValidatorTx,
                    inputs=platform.spend_all(coin),
                    outputs=(
                        platform.output(
                            worth(coin) - platform.CONFIG.fees.tx,
                            *platform_owner(),
                            asset_id=coin.asset_id,
                        ),
                    ),
                    validator=SubnetValidator(
                        node_id, 0, int(time.time()) + END, 10, ID.parse(self.subnets[name])
                    ),
                )
                tx_id = client.issue(raw(platform.signed(made, [[EWOQ_KEY]] * 2)))
                client.wait([tx_id])
                status = client.call("platform.getTxStatus", txID=tx_id)
                assert status["status"] == "Committed", status


@pytest.fixture(scope="module")
def voted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Voted]:
    """Three validators that track all subnets; two of them validate the first chain's subnet, nobody the other's."""
    env = {"NODE_CONSENSUS": "snowman", "NODE_TRACK_SUBNETS": "all"}
    with LocalNetwork(tmp_path_factory.mktemp("subnets"), NODES, votes=True, env=env) as network:
        network.start()
        wait_for(
            lambda: all(len(node.peers()) == NODES - 1 for node in network.nodes), "all see all"
        )
        wait_for(lambda: all(map(is_ready, network.nodes)), "all are ready")
        made = Voted(network)
        made.create()
        made.validate("dex")
        yield made


def has_receipt(node: NetworkNode, name: str, sent: str) -> bool:
    return bool(rpc(node, name, "eth_getTransactionReceipt", sent))


def test_the_subnets_validators_decide_its_blocks(voted: Voted) -> None:
    wait_for(lambda: all(served(node, "dex") for node in voted.nodes), "all run the chain")
    for node in voted.nodes:
        sent = voted.send("dex", node=node, to=RECIPIENT, value=1)
        wait_for(
            lambda sent=sent: all(has_receipt(other, "dex", sent) for other in voted.nodes),
            "all have the block",
        )
    heads = {
        rpc(node, "dex", "eth_getBlockByNumber", "latest", False)["hash"] for node in voted.nodes
    }
    assert len(heads) == 1

"""Validators of both profiles vote; in production, block building, network and web are separate processes.

A node that does not validate the Primary Network validates an L1 together with the one in production.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from eth_account import Account

from cchain_app.precompiles.addresses import WARP
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from platform_app.config import UNIT
from primitives.ids import ID
from primitives.keys import DEV_KEYS, EWOQ_KEY, format_private_key
from primitives.warp import canonical_set, parse_signed, verify_message
from tests.builders.transactions import KEY, unsigned
from tests.e2e.conftest import Postgresql
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, fund, new_keys, raw
from tests.e2e.subnets import create_chain
from tests.e2e.test_subnet_chains import rpc
from tests.e2e.transactions import Sender, wait_for_receipts

CHAIN_ID = 9_001
WARP_CONFIG = {"blockTimestamp": 0x6553F100, "quorumNumerator": 67}
SEND_MESSAGE = bytes.fromhex(f"ee5b48eb{32:064x}{2:064x}{'abcd':0<64}")
"""A call of sendWarpMessage with two bytes."""


@pytest.fixture(scope="module")
def network(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Postgresql
) -> Iterator[LocalNetwork]:
    with LocalNetwork(
        tmp_path_factory.mktemp("voters"),
        2,
        votes=True,
        env={"NODE_CONSENSUS": "snowman", "NODE_TRACK_SUBNETS": "all"},
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
        chains = {chain for (chain,) in ask("SELECT chain FROM n_decisions WHERE is_accepted")}
    assert chains >= {"C", "P"}


def test_killed_voting_process_recovers(network: LocalNetwork) -> None:
    network.nodes[0].restart_process("network")
    send_and_see(network, Sender(Account.from_key(list(DEV_KEYS.values())[1]), 43112))
    wait_for(lambda: agreed(network.nodes), "all have the same heads")


class L1(NamedTuple):
    """An L1 with a chain, and its validators."""

    subnet_id: str
    blockchain_id: str
    validators: list[NetworkNode]


def proof_of(node: NetworkNode) -> dict[str, str]:
    """Return a node's BLS key and its proof of possession."""
    found: dict[str, str] = node.ask("info.getNodeID")["nodePOP"]
    return found


def is_served(node: NetworkNode, blockchain_id: str) -> bool:
    """Return whether a node serves a chain; its path answers 404 before."""
    try:
        return bool(rpc(node, blockchain_id, "eth_chainId"))
    except OSError:
        return False


@pytest.fixture(scope="module")
def l1(network: LocalNetwork) -> L1:
    """An L1 that the node in production validates together with one outside the Primary Network."""
    first, second = network.nodes
    wallet = Wallet(EWOQ_KEY)
    with PlatformClient(second.port) as client:
        wallet.look(client)
        subnet_id = client.commit(raw(wallet.create_subnet()))
        chain = create_chain(client, wallet, subnet_id, "dex", CHAIN_ID, warpConfig=WARP_CONFIG)
        outside = network.joiner()
        outside.set(NODE_TRACK_SUBNETS=subnet_id)
        outside.start()
        user = {"username": "maker", "password": "a long and varied passphrase 7"}
        client.call("keystore.createUser", **user)
        client.call("platform.importKey", **user, privateKey=format_private_key(EWOQ_KEY))
        validators = [first, outside]
        converted = client.call(
            "platform.convertSubnetToL1",
            **user,
            subnetID=subnet_id,
            managerChainID="C",
            managerAddress="0x",
            validators=[
                {
                    "nodeID": str(node.node_id),
                    "weight": 10,
                    "balance": UNIT,
                    "signer": proof_of(node),
                }
                for node in validators
            ],
        )
        assert client.wait([converted["txID"]]) == ["Committed"]
    for node in (*network.nodes, outside):
        wait_for(lambda node=node: is_served(node, chain), "the node runs the chain")
    return L1(subnet_id, chain, validators)


def test_a_validator_outside_the_primary_network_decides_and_signs(
    network: LocalNetwork, l1: L1
) -> None:
    _, outside = l1.validators
    primary = network.nodes[0].ask("platform.getCurrentValidators")["validators"]
    assert str(outside.node_id) not in {validator["nodeID"] for validator in primary}

    nodes = (*network.nodes, outside)
    for nonce, node in enumerate((network.nodes[0], outside)):
        sent = unsigned(
            chain_id=CHAIN_ID, nonce=nonce, to=WARP, value=0, gas=200_000, data=SEND_MESSAGE
        )
        signed = decode_transaction(sign_transaction(sent, KEY), CHAIN_ID)
        raw_tx = f"0x{signed.raw.hex()}"
        tx_hash = rpc(node, l1.blockchain_id, "eth_sendRawTransaction", raw_tx)
        for other in nodes:
            wait_for(
                lambda other=other, tx_hash=tx_hash: rpc(
                    other, l1.blockchain_id, "eth_getTransactionReceipt", tx_hash
                ),
                "all have the block",
            )
        receipt = rpc(node, l1.blockchain_id, "eth_getTransactionReceipt", tx_hash)
        message_id = ID(bytes.fromhex(receipt["logs"][0]["topics"][2][2:]))
        for asked in l1.validators:  # in production the network process asks the other
            assert_all_signed(l1, asked, "warp_getMessageAggregateSignature", message_id)
            block_id = ID(bytes.fromhex(receipt["blockHash"][2:]))
            assert_all_signed(l1, asked, "warp_getBlockAggregateSignature", block_id)


def assert_all_signed(l1: L1, asked: NetworkNode, method: str, wanted: ID) -> None:
    """Check that a node gets the signatures of all validators of an L1, which 67 % of the weight need."""
    found: list[str] = []

    def has_signatures() -> bool:
        try:
            found.append(rpc(asked, l1.blockchain_id, method, str(wanted), 67))
        except AssertionError:  # a validator has not accepted the block yet
            return False
        return True

    wait_for(has_signatures, f"{asked.node_id} gets the signatures")
    signed = parse_signed(bytes.fromhex(found[0][2:]))
    keys = [bytes.fromhex(proof_of(node)["publicKey"][2:]) for node in l1.validators]
    verify_message(signed, 12345, canonical_set((key, 10) for key in keys))
    assert signed.signer_count == len(l1.validators)
    assert signed.message.source_chain_id == ID.parse(l1.blockchain_id)

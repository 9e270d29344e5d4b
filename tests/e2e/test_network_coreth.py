"""A node in a network of avalanchego nodes: it bootstraps their recorded C-Chain, verifies new blocks, serves and gossips."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from eth_account import Account

from cchain_app.atomic.builder import Payment, build_export
from cchain_app.atomic.transactions import AtomicTx
from cchain_app.evm.engine import AccountState
from cchain_app.selectors.warp import MessageReason
from network_app.ports import ATOMIC_GOSSIP
from network_app.sync.messages import NOT_A_VALIDATOR, SIGNATURE_REQUEST, TRANSACTION_GOSSIP
from network_app.wire import p2p_pb2 as p2p
from network_app.wire.sdk_pb2 import PullGossipRequest, SignatureRequest, SignatureResponse
from nodeproject.processes.local_network import make_keys
from primitives import bls, checksummed
from primitives.hashing import EMPTY_HASH, keccak256
from primitives.ids import P_CHAIN_ID
from primitives.keys import EWOQ_KEY, address_of
from primitives.secp256k1 import address_of_private_key
from primitives.warp import AddressedCall, UnsignedMessage, build_payload
from tests.builders.coreth import local_parameters
from tests.builders.peers import NETWORK_ID
from tests.conformance.coreth_vectors import data, document
from tests.e2e.network import NetworkNode, wait_for
from tests.e2e.recorded_peer import RecordedPeer
from tests.e2e.transactions import Sender

LAST = 51
"""Height to which the peer's chain is accepted: all kinds of blocks, imports and exports among them."""
CHAIN_ID = 43112
WARP = "0x0200000000000000000000000000000000000005"
WEI = 10**9


class Followed(NamedTuple):
    """The node and its peer."""

    node: NetworkNode
    peer: RecordedPeer


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    home = tmp_path_factory.mktemp("coreth")
    (node_id,) = make_keys([home / "data"], now=1_700_000_000)
    peer = RecordedPeer(LAST)
    with peer.running() as address:
        env = {
            "NODE_PARAMETERS": "avalanchego",
            "NODE_CONSENSUS": "snowman",
            "NODE_BOOTSTRAP": address,
            "NODE_HEALTH_INTERVAL": "1",
        }
        with NetworkNode(home, ip="127.0.0.1", node_id=node_id, env=env) as node:
            node.start()
            wait_for(
                lambda: bool(node.ask("info.isBootstrapped", chain="C")["isBootstrapped"]),
                "the C-Chain is bootstrapped",
            )
            yield Followed(node, peer)


def recorded(number: int) -> Any:
    return document("local_chain")["blocks"][number]


def account(number: int) -> bytes:
    """Return the key of one of the accounts that the recorded network has funded."""
    return keccak256(b"coreth A %d" % number)


def export(node: NetworkNode, key: bytes) -> AtomicTx:
    """Return an export of the account of a key."""
    address = address_of_private_key(key)
    nonce, balance = (
        int(node.rpc(method, "0x" + address.hex(), "latest"), 16)
        for method in ("eth_getTransactionCount", "eth_getBalance")
    )
    return build_export(
        [key],
        {address: AccountState(nonce, balance, EMPTY_HASH)},
        Payment(1_000_000, address_of(key), P_CHAIN_ID),
        base_fee=10 * WEI,
        parameters=local_parameters(),
    )


def transfer(node: NetworkNode, key: bytes) -> str:
    """Return a signed transfer as 0x text."""
    sender = Account.from_key(key)
    nonce = int(node.rpc("eth_getTransactionCount", sender.address, "latest"), 16)
    return Sender(sender, CHAIN_ID, nonce).transfer(sender.address)


def status(node: NetworkNode, tx: AtomicTx) -> str:
    found: str = node.ask("avax.getAtomicTxStatus", txID=str(tx.tx_id))["status"]
    return found


def test_recorded_blocks_are_executed_to_the_same_hashes(network: Followed) -> None:
    node, peer = network
    for number in (0, 1, 17, 44, 50, LAST):
        shown = node.rpc("eth_getBlockByNumber", hex(number), False)
        assert shown["hash"] == recorded(number)["hash"]
    assert node.rpc("eth_blockNumber") == hex(LAST)
    assert peer.even_requests == 0


def test_recorded_blocks_are_served_byte_for_byte(network: Followed) -> None:
    _, peer = network
    ids = [bytes(block_id) for block_id in peer.c_chain.ids]
    assert peer.ask(p2p.GetAcceptedFrontier()).container_id == ids[LAST]
    known = peer.ask(p2p.GetAccepted(container_ids=[ids[0], ids[7], ids[LAST + 1], ids[LAST]]))
    assert list(known.container_ids) == [ids[0], ids[7], ids[LAST]]
    ancestors = peer.ask(p2p.GetAncestors(container_id=ids[LAST]))
    assert list(ancestors.containers) == peer.c_chain.raws[:LAST][::-1]
    assert peer.ask(p2p.Get(container_id=ids[45])).container == peer.c_chain.raws[44]


def test_fresh_peers_learn_that_there_is_no_state_to_fetch(network: Followed) -> None:
    """Their bootstrap does not begin before most of the stake has answered these two (coreth.md 12.3)."""
    _, peer = network
    summary = peer.ask(p2p.GetStateSummaryFrontier()).summary
    genesis = data(recorded(0)["hash"])
    assert (len(summary), summary[:10], summary[10:42]) == (106, bytes(10), genesis)
    for heights, found in (([], []), ([16384], []), ([0, 16384], [keccak256(summary)])):
        answer = peer.ask(p2p.GetAcceptedStateSummary(heights=heights))
        assert list(answer.summary_ids) == found


def test_new_blocks_are_verified_with_their_proposers_and_preferred(network: Followed) -> None:
    """In normal operation, in which slots, predicates and capacity are verified, too."""
    _, peer = network
    ids, raws = peer.c_chain.ids, peer.c_chain.raws
    for height in range(LAST + 1, LAST + 4):
        peer.ask(p2p.PushQuery(container=raws[height - 1], requested_height=height))
    newest = bytes(ids[LAST + 3])
    query = p2p.PullQuery(container_id=newest, requested_height=LAST + 1)
    wait_for(lambda: peer.ask(query).preferred_id == newest, "the newest block is preferred")
    chits = peer.ask(query)
    assert chits.preferred_id_at_height == bytes(ids[LAST + 1])
    assert (chits.accepted_id, chits.accepted_height) == (bytes(ids[LAST]), LAST)


def test_pushed_transactions_reach_the_pool(network: Followed) -> None:
    node, peer = network
    raw = data(transfer(node, account(0)))
    tx = export(node, account(1))
    peer.tell(TRANSACTION_GOSSIP, raw)
    peer.tell(ATOMIC_GOSSIP, tx.raw)
    hash_text = "0x" + keccak256(raw).hex()
    wait_for(lambda: node.rpc("eth_getTransactionByHash", hash_text) is not None, "it is pending")
    wait_for(lambda: status(node, tx) == "Processing", "the export is pending")


def test_own_transactions_are_pushed(network: Followed) -> None:
    node, peer = network
    raw = transfer(node, EWOQ_KEY)
    tx = export(node, account(2))
    node.rpc("eth_sendRawTransaction", raw)
    text = checksummed.encode(tx.raw, checksummed.TextEncoding.HEX)
    assert node.ask("avax.issueTx", tx=text) == {"txID": str(tx.tx_id)}
    wait_for(lambda: data(raw) in peer.pushed[TRANSACTION_GOSSIP], "the transfer is pushed")
    wait_for(lambda: tx.raw in peer.pushed[ATOMIC_GOSSIP], "the export is pushed")


@pytest.mark.parametrize("handler", [TRANSACTION_GOSSIP, ATOMIC_GOSSIP])
def test_only_validators_may_pull(network: Followed, handler: int) -> None:
    _, peer = network
    refused = peer.call(handler, PullGossipRequest(salt=bytes(32)).SerializeToString())
    assert (refused.error_code, refused.error_message) == (NOT_A_VALIDATOR, "not a validator")


def test_messages_of_accepted_blocks_are_signed(network: Followed) -> None:
    node, peer = network
    logs = node.rpc("eth_getLogs", {"address": WARP, "fromBlock": hex(36), "toBlock": hex(36)})
    size = int(logs[0]["data"][66:130], 16)
    message = data(logs[0]["data"][130:])[:size]
    answer = peer.call(SIGNATURE_REQUEST, SignatureRequest(message=message).SerializeToString())
    signature = SignatureResponse.FromString(answer.app_bytes).signature
    public_key = data(node.ask("info.getNodeID")["nodePOP"]["publicKey"])
    assert bls.verify(public_key, message, signature)

    payload = build_payload(AddressedCall(bytes(20), b"never sent"))
    unsent = UnsignedMessage(NETWORK_ID, peer.c_chain_id, payload)
    request = SignatureRequest(message=unsent.raw)
    refused = peer.call(SIGNATURE_REQUEST, request.SerializeToString())
    assert (refused.error_code, refused.error_message) == MessageReason.NOT_SENT.value

"""A node among nodes of the reference implementation, with the same P-Chain and a different C-Chain."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from nodeproject.processes.local_network import make_keys
from primitives.upgrades import OWN_NETWORK
from tests.e2e.network import NetworkNode, wait_for
from tests.e2e.platform_wallet import fund, new_keys
from tests.e2e.reference_peer import ReferencePeer, reference_peer
from tests.servers.client import RpcUnreachable

FEE = 10_000_000
REFERENCE = {"NODE_PARAMETERS": "avalanchego", "NODE_HEALTH_INTERVAL": "1"}
ABSENT = "this node does not take part in the C-Chain (NODE_CHAINS)"


def made(home: Path, **env: str) -> NetworkNode:
    """Return a node of the reference implementation's local network, not started."""
    (node_id,) = make_keys([home / "data"], now=1_700_000_000)
    return NetworkNode(home, ip="127.0.0.1", node_id=node_id, env={**REFERENCE, **env})


def is_up(node: NetworkNode) -> bool:
    """Return whether a node answers, with or without a C-Chain."""
    try:
        node.ask("info.getNodeID")
    except RpcUnreachable:
        return False
    return True


def pay(maker: NetworkNode) -> None:
    """Make the node build a P-Chain block."""
    fund(maker, [(new_keys(1)[0], 1_000_000)], fee=FEE)


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkNode]:
    """The node that builds the P-Chain's blocks."""
    with made(tmp_path_factory.mktemp("maker"), NODE_CHAINS="P") as running:
        running.start(wait=False)
        wait_for(lambda: is_up(running), "the maker answers")
        pay(running)
        pay(running)
        yield running


@pytest.fixture
def peer(maker: NetworkNode) -> Iterator[tuple[ReferencePeer, str]]:
    """A reference peer, and the address that it listens on."""
    peer = reference_peer(("127.0.0.1", maker.staking_port))
    with peer.running() as address:
        wait_for(lambda: bool(peer.network.connected()), "the peer has a P-Chain")
        yield peer, address


def p_height(node: NetworkNode) -> int:
    return int(node.ask("platform.getHeight")["height"])


@contextmanager
def joined(home: Path, maker: NetworkNode, address: str, **env: str) -> Iterator[NetworkNode]:
    """A node that follows the block builder, and bootstraps from the reference peer as well."""
    producer = str(maker.ask("info.getNodeID")["nodeID"])

    both = f"{address},127.0.0.1:{maker.staking_port}"
    with made(home, NODE_BOOTSTRAP=both, NODE_PRODUCER=producer, **env) as node:
        node.start(wait=False)  # waiting would include the C-Chain, which may be disabled
        wait_for(lambda: is_up(node), "the node answers")
        yield node


def answer(node: NetworkNode, path: str, body: object) -> tuple[int, str]:
    """POST and return the status and the text."""
    with closing(http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()


def unready(node: NetworkNode) -> str:
    """Return why a node is not ready; an empty string if it is."""
    status, readiness = node.get("/ext/health/readiness")
    error: str = readiness["checks"]["bootstrapped"].get("error", "")
    assert status == (503 if error else 200)
    return error


def benched(node: NetworkNode) -> dict[str, list[str]]:
    """Return the chains about which a node does not ask its peers now, by peer."""
    return {peer["nodeID"]: peer["benched"] for peer in node.ask("info.peers")["peers"]}


def test_foreign_c_chain_does_not_affect_the_p_chain(
    tmp_path: Path, maker: NetworkNode, peer: tuple[ReferencePeer, str]
) -> None:
    reference, address = peer
    with joined(tmp_path / "node", maker, address) as node:
        wait_for(lambda: p_height(node) == p_height(maker), "it has the P-Chain")
        words = f"{reference.node_id} follows a C-Chain with another genesis than this node's"
        wait_for(
            lambda: words in node.checks()["C"].get("error", ""), "health tells of the C-Chain"
        )
        pay(maker)
        wait_for(lambda: p_height(node) == p_height(maker), "it goes on with the P-Chain")
        assert node.node_id not in reference.disconnected_from
        assert node.ask("info.isBootstrapped", chain="P") == {"isBootstrapped": True}
        assert node.ask("info.isBootstrapped", chain="C") == {"isBootstrapped": False}
        wait_for(lambda: words in unready(node), "the readiness check names the C-Chain")
        # It has no X-Chain. A peer is set aside for ten seconds at first, and again after its next wrong answer.
        wait_for(
            lambda: benched(node).get(str(reference.node_id)) == ["C", "X"],
            "the reference is set aside on both chains",
        )
        assert reference.asked_about_c > 0


def test_node_without_the_c_chain_is_complete_and_reports_it(
    tmp_path: Path, maker: NetworkNode, peer: tuple[ReferencePeer, str]
) -> None:
    reference, address = peer
    with joined(tmp_path / "node", maker, address, NODE_CHAINS="P") as node:
        wait_for(lambda: p_height(node) == p_height(maker), "it has the P-Chain")
        wait_for(lambda: node.get("/ext/health/readiness")[0] == 200, "it is ready")
        assert reference.asked_about_c == 0
        block_number = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
        assert answer(node, "/ext/bc/C/rpc", block_number) == (404, ABSENT + "\n")
        with pytest.raises(InvalidStatus) as refused, connect(node.ws_url):
            pass
        assert refused.value.response.status_code == 404
        body: Any = refused.value.response.body
        assert bytes(body).decode() == ABSENT + "\n"
        assert node.ask("info.isBootstrapped", chain="P") == {"isBootstrapped": True}
        assert node.ask("info.isBootstrapped", chain="C") == {"isBootstrapped": False}
        c_chain = node.ask("info.getBlockchainID", alias="C")
        assert c_chain == maker.ask("info.getBlockchainID", alias="C")
        status = node.ask("platform.getBlockchainStatus", blockchainID="C")
        assert status == {"status": "Created"}
        # Each check has its own thread: this one may run for the first time after the node is ready.
        wait_for(lambda: "error" not in node.checks()["C"], "the check of the C-Chain passes")
        check = node.checks()["C"]
        assert check["message"]["consensus"] == ABSENT
        metrics = node.metrics()
        assert 'svc_chain_bootstrapped{chain="P"}' in metrics
        assert 'svc_chain_bootstrapped{chain="C"}' not in metrics
        assert 'svc_chain_height{chain="C"}' not in metrics
        assert "All chains are bootstrapped" in node.manage("bootstrap_progress")
        pay(maker)
        wait_for(lambda: p_height(node) == p_height(maker), "it follows")


def test_the_upgrade_time_is_announced_as_the_reference_does(
    maker: NetworkNode, peer: tuple[ReferencePeer, str]
) -> None:
    reference, _ = peer
    (seen,) = reference.network.connected().values()
    assert seen.upgrade_time == OWN_NETWORK.latest == 1_607_144_400
    assert seen.node_id == maker.node_id

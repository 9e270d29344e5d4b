"""A node whose networking is switched off."""

import socket

import pytest

from tests.e2e.conftest import MakeNode
from tests.e2e.network import wait_for
from tests.e2e.test_health import ask, call, wait_for_health
from tests.e2e.test_metrics import scrape


def test_without_the_network_a_node_is_whole_and_healthy(make_node: MakeNode) -> None:
    node = make_node(env={"NODE_NETWORK": "false", "NODE_HEALTH_INTERVAL": "1"})
    node.start()
    page = wait_for_health(node)

    assert page.status == 200, page.json
    assert page.json["checks"]["network"]["message"]["connectedPeers"] == 0
    assert ask(node, "/ext/health/readiness").status == 200
    assert call(node, "/ext/info", "info.peers")["result"] == {"numPeers": "0", "peers": []}
    for chain in ("P", "X", "C"):
        answer = call(node, "/ext/info", "info.isBootstrapped", {"chain": chain})
        assert answer["result"] == {"isBootstrapped": True}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", node.staking_port), timeout=5)
    figures = scrape(node)
    assert figures["svc_network_peers"] == 0
    assert "svc_network_process_up" not in figures

    assert "coins with a fixed cap" in node.manage(
        "asset", "create", "Gold", "GLD", "--amount", "7"
    )
    assert "All coins are accounted for." in node.manage("check_supply")

    height = int(node.rpc("eth_blockNumber"), 16)
    node.manage("produce_block", "--empty")
    wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) == height + 1, "it makes blocks")

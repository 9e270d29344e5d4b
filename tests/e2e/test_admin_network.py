"""The admin's network pages in a real browser, and the health history after a restart."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import SCREENSHOTS, node_script
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for

BLOCKS = 30
LISTS = {
    "peers": "/admin/network_app/peer/",
    "bootstrap": "/admin/network_app/chainsync/",
    "outer-blocks": "/admin/network_app/outerblock/?show=C",
    "status": "/admin/network_app/networkstatus/",
    "health": "/admin/health_app/healthchange/",
}
SCREENS = ("desk", "phone")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    """Two validators with some blocks."""
    with LocalNetwork(tmp_path_factory.mktemp("network"), 2) as made:
        made.start()
        made.nodes[0].manage("produce_block", "--empty", "--count", str(BLOCKS))
        yield made


@pytest.fixture(scope="module")
def joiner(network: LocalNetwork) -> NetworkNode:
    """A node that joined later and has reached the frontier."""
    node = network.joiner()
    node.start()
    wait_for(lambda: agreed([*network.nodes, node]), "the joiner has the others' heads")
    wait_for(lambda: node.get("/ext/health")[0] == 200, "the joiner is healthy")
    wait_for(lambda: len(node.peers()) == 2, "the joiner is connected to both")
    wait_for(lambda: len(history(node)) >= 6, "each check is in the history")
    other = network.nodes[1]
    other.stop()
    wait_for(lambda: last(node, "P")[1] == 0, "half of the stake is missed")
    other.start()
    wait_for(lambda: last(node, "P")[1] == 1, "it is there again")
    wait_for(lambda: len(node.peers()) == 2, "the joiner is connected to both again")
    return node


def history(node: NetworkNode) -> list[tuple[Any, ...]]:
    with node.database() as ask:
        return ask("SELECT name, healthy, error FROM health_app_healthchange ORDER BY id")


def last(node: NetworkNode, check: str) -> tuple[Any, ...]:
    return next(row for row in reversed(history(node)) if row[0] == check)


def test_pages_of_the_network_fit_on_a_desk_and_on_a_phone(
    network: LocalNetwork, joiner: NetworkNode
) -> None:
    given = {
        "base": f"http://127.0.0.1:{joiner.port}",
        "password": (joiner.directory / "data" / "admin_password").read_text().strip(),
        "lists": LISTS,
        "screenshots": SCREENSHOTS,
    }
    found = node_script("run.mjs", "admin", "look", json.dumps(given))

    assert found["faults"] == []
    for screen in SCREENS:
        seen = {name: found["seen"][f"{name}-{screen}"] for name in ("overview", *LISTS)}
        pages = {name: found["seen"][f"{name}-page-{screen}"] for name in LISTS}
        assert "2 connected" in seen["overview"]
        assert seen["peers"].count("outbound") + seen["peers"].count("inbound") == 2
        assert any(str(node_id) in pages["peers"] for node_id in network.node_ids)
        assert "1970" not in pages["peers"]
        assert seen["bootstrap"].count("100 %") == 3  # P, X and C
        assert f"at height {BLOCKS}" in seen["bootstrap"]
        assert "bootstrapped" in pages["bootstrap"]
        assert "signed" in pages["outer-blocks"]
        assert "alive" in pages["status"]
        assert "connected to 50.00% of the stake < 80.00%" in seen["health"]
        assert "passes" in pages["health"]


def test_a_restart_is_no_news(joiner: NetworkNode) -> None:
    before = history(joiner)

    joiner.restart()
    wait_for(lambda: joiner.get("/ext/health")[0] == 200, "it is healthy again")

    assert history(joiner) == before

"""Running nodes with chains of subnets: a killed restoration of a snapshot is finished, and a node moves to PostgreSQL."""

import json
import shutil
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from primitives.ids import ID
from primitives.keys import EWOQ_KEY
from tests.builders.transactions import RECIPIENT
from tests.e2e.conftest import ALONE, Postgresql
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet
from tests.e2e.subnets import create_chain
from tests.e2e.test_subnet_chains import CHAINS, SECONDS, Live, pending_nonce, rpc, served, wait_for
from tests.servers.node import RunningNode


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with RunningNode(tmp_path_factory.mktemp("copies") / "first") as node:
        node.start()
        made = Live(node)
        made.create()
        for name in CHAINS:
            wait_for(lambda name=name: served(node, name))
        yield made


def pay(live: Live, name: str, node: RunningNode | None = None) -> None:
    asked = node or live.node
    sent = live.send(name, asked, to=RECIPIENT, value=3, nonce=pending_nonce(asked, name))
    assert live.receipt(name, sent, asked)["status"] == "0x1"


def heads(node: RunningNode) -> dict[str, Any]:
    """Return the heads of the chains, once the node serves them."""
    for name in CHAINS:
        wait_for(lambda name=name: served(node, name))
    return {name: rpc(node, name, "eth_getBlockByNumber", "latest", False) for name in CHAINS}


def test_a_killed_restoration_leaves_one_of_both_states(live: Live) -> None:
    node = live.node
    pay(live, "dex")
    node.manage("snapshot", "save", "kept", "--replace")
    before = heads(node)
    (listed,) = json.loads(node.manage("snapshot", "list", "--json"))
    numbers = {name: int(head["number"], 16) for name, head in before.items()}
    assert {ID.parse(one): head["height"] for one, head in listed["chains"].items()} == {
        ID.parse(live.blockchains[name]): number for name, number in numbers.items()
    }
    for name in CHAINS:
        pay(live, name)
    later = heads(node)

    node.manage_killed_at("emptied-sqlite", "snapshot", "restore", "kept")
    assert heads(node) == later
    node.manage_killed_at("one restored", "snapshot", "restore", "kept")
    node.restart()
    assert heads(node) == before
    assert "the restoration of the snapshot kept was interrupted, and continues" in node.log()

    for name in CHAINS:
        pay(live, name)
    assert "2 chains of subnets" in node.manage("snapshot", "restore", "kept")
    assert heads(node) == before


def test_clients_of_a_chain_that_a_snapshot_ends_are_told(live: Live) -> None:
    node = live.node
    node.manage("snapshot", "save", "before-late")
    with PlatformClient(node.port) as client:
        late = create_chain(client, Wallet(EWOQ_KEY), live.subnets["dex"], "late", 9_003)
    wait_for(lambda: served(node, late))
    with connect(f"ws://127.0.0.1:{node.port}/ext/bc/late/ws") as socket:
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
        socket.send(json.dumps(subscribe))
        assert "result" in json.loads(socket.recv(timeout=SECONDS))
        node.manage("snapshot", "restore", "before-late")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=SECONDS)
    node.manage("snapshot", "delete", "before-late")  # other tests list the snapshots
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, f"chain {late} has ended")

    for name in (late, "late"):
        with pytest.raises(HTTPError) as refused:
            rpc(node, name, "eth_chainId")
        reason = refused.value.read().decode()
        assert (refused.value.code, "the P-Chain has gone back" in reason) == (404, True)


def test_the_node_moves_to_postgresql(
    live: Live, postgresql: Postgresql, tmp_path_factory: pytest.TempPathFactory
) -> None:
    node = live.node
    pay(live, "dex")
    before = heads(node)
    upgrades = node.directory / "data/chains" / f"{live.blockchains['game']}.upgrade.json"
    upgrades.write_text('{"precompileUpgrades": []}')
    node.stop()
    directory = tmp_path_factory.mktemp("copies") / "moved"
    try:
        with RunningNode(directory, postgresql=postgresql(), prepared=False, beside=ALONE) as moved:
            moved.set(NODE_DATA_DIR=str(node.directory / "data"))
            assert "Moved to PostgreSQL" in moved.manage("transfer_state")
            shutil.copytree(node.directory / "data", directory / "data", dirs_exist_ok=True)
            moved.set(NODE_DATA_DIR=str(directory / "data"))
            moved.start()
            assert heads(moved) == before
            moved.manage("snapshot", "save", "moved")
            for name in CHAINS:
                pay(live, name, moved)
            moved.manage("snapshot", "restore", "moved")
            assert heads(moved) == before
            pay(live, "game", moved)
    finally:
        node.start()
    assert heads(node) == before

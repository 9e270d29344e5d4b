"""A running node is restored to a named snapshot: the answers to clients, and the continued chain."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import (
    CHAIN_ID,
    RICH_KEY,
    SCREENSHOTS,
    MakeNode,
    Nodes,
    Postgresql,
    kind_of,
    node_script,
)
from tests.e2e.platform_client import PlatformClient
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.process import ServerDied

STRANGER = "0x000000000000000000000000000000000000dEaD"
PASSWORD = "correct horse battery staple 7"


@pytest.fixture(scope="module")
def of_this_file(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Postgresql
) -> Iterator[Nodes]:
    """Nodes that only this file uses, because its tests restore snapshots."""
    running = Nodes(tmp_path_factory.mktemp("snapshots"), postgresql)
    yield running
    running.end(Nodes.KINDS)


@pytest.fixture
def node(of_this_file: Nodes, request: pytest.FixtureRequest) -> Iterator[CheckedNode]:
    """The node under test. It keeps the snapshots of other tests, which use different names."""
    found = of_this_file.get(kind_of(request.node))
    yield found
    found.transcript.check()


def seen(node: CheckedNode, address: str) -> list[Any]:
    """Return a client's view of both chains, the keystore and a pool."""
    with node.client() as client, PlatformClient(node.port) as platform:
        return [
            *client.batch(
                [
                    ("eth_getBlockByNumber", "latest", True),
                    ("eth_getBalance", address, "latest"),
                    ("eth_getBalance", STRANGER, "latest"),
                    ("eth_getTransactionCount", address, "pending"),
                    ("txpool_content",),
                ]
            ),
            platform.call("platform.getHeight"),
            platform.call("platform.getTimestamp"),
            [
                (item["txID"], item["endTime"])
                for item in platform.call("platform.getCurrentValidators")["validators"]
            ],
            platform.call("keystore.listUsers"),
        ]


def send(node: CheckedNode, sender: Sender, count: int) -> list[str]:
    """Send transfers and return their hashes once they are in blocks."""
    with node.client() as client:
        sent = [
            client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 5))
            for _ in range(count)
        ]
        wait_for_receipts(client, sent)
    return sent


def test_running_node_restores_a_snapshot_and_continues(
    node: CheckedNode, account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    kept = send(node, sender, 3)
    sender.nonce += 4  # a gap, so that the next transaction stays pending
    with node.client() as client, PlatformClient(node.port) as platform:
        waiting = client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 6))
        platform.call("keystore.createUser", username="alice", password=PASSWORD)
    node.manage("time_travel", "90d")
    node.manage("snapshot", "save", "a")
    before = seen(node, account.address)

    sender.nonce = 3
    lost = send(node, sender, 3)
    with PlatformClient(node.port) as platform:
        platform.call("keystore.createUser", username="bob", password=PASSWORD)
    node.manage("time_travel", "400d")
    assert seen(node, account.address) != before

    assert node.manage("snapshot", "restore", "a").startswith("Restored a: ")

    assert seen(node, account.address) == before
    with node.client() as client:
        receipts = client.batch([("eth_getTransactionReceipt", other) for other in (*kept, *lost)])
        assert [item is not None for item in receipts] == [True] * 3 + [False] * 3
        assert client.call("eth_getTransactionByHash", waiting)["blockHash"] is None

    sender.nonce = 3
    gap = send(node, sender, 4)
    with node.client() as client:
        receipts = wait_for_receipts(client, [*gap, waiting])
    assert [receipt["status"] for receipt in receipts] == ["0x1"] * 5
    assert int(receipts[0]["blockNumber"], 16) == int(before[0]["number"], 16) + 1
    node.manage("time_travel", "400d")
    after = seen(node, account.address)
    assert int(after[5]["height"]) > int(before[5]["height"])
    node.restart()
    assert seen(node, account.address) == after


def test_repeated_restores_under_load_succeed(node: CheckedNode, account: LocalAccount) -> None:
    sender = Sender(account, CHAIN_ID)
    send(node, sender, 2)
    node.manage("snapshot", "save", "load")
    before = seen(node, account.address)
    for count in (1, 3):
        sender.nonce = 2
        send(node, sender, count)
        with node.client() as client:
            for _ in range(20):  # so that the producer is building blocks during the restore
                client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 1))
            node.manage("snapshot", "restore", "load")
        assert seen(node, account.address) == before


def test_command_lists_snapshots_and_reports_refusals(make_node: MakeNode) -> None:
    node = make_node(prepared=False)
    node.start()
    assert node.manage("snapshot", "list").startswith("There are no snapshots yet")
    node.manage("snapshot", "save", "a")
    (listed,) = json.loads(node.manage("snapshot", "list", "--json"))
    assert (listed["name"], listed["cchain"]["height"]) == ("a", 0)
    assert listed["chain_id"] == CHAIN_ID
    assert " a " in node.manage("snapshot", "list")
    with pytest.raises(ServerDied, match="There is a snapshot a already: --replace overwrites it"):
        node.manage("snapshot", "save", "a")
    assert node.manage("snapshot", "delete", "a") == "Deleted a.\n"
    assert node.manage("snapshot", "list", "--json") == "[]\n"


@pytest.mark.parametrize("node", ["embedded", "production"], indirect=True)
def test_a_kill_leaves_either_state(
    node: CheckedNode, account: LocalAccount, request: pytest.FixtureRequest
) -> None:
    embedded = kind_of(request.node) == "embedded"
    sender = Sender(account, CHAIN_ID)
    send(node, sender, 2)
    node.manage("snapshot", "save", "whole")
    before = seen(node, account.address)
    send(node, sender, 2)
    later = seen(node, account.address)
    if embedded:
        node.manage_killed_at("copied", "snapshot", "save", "half")
        node.manage_killed_at("copied", "snapshot", "save", "whole", "--replace")
        found = json.loads(node.manage("snapshot", "list", "--json"))
        assert {"whole", "half"} & {item["name"] for item in found} == {"whole"}

    node.manage_killed_at(
        "emptied-sqlite" if embedded else "emptied-postgresql", "snapshot", "restore", "whole"
    )
    assert seen(node, account.address) == later
    if embedded:  # nothing was committed, so other processes of the node would continue to run
        node.restart()
        assert seen(node, account.address) == later

    node.manage_killed_at("restored", "snapshot", "restore", "whole")
    node.restart()
    assert seen(node, account.address) == before
    sender.nonce = 2
    send(node, sender, 1)
    if not embedded:  # all of several running processes switch to the snapshot
        node.manage("snapshot", "restore", "whole")
        assert seen(node, account.address) == before
        sender.nonce = 2
        send(node, sender, 3)


def test_admin_page_saves_restores_and_deletes(fresh: CheckedNode) -> None:
    send(fresh, Sender(Account.from_key(RICH_KEY), CHAIN_ID), 2)
    given = {
        "base": f"http://127.0.0.1:{fresh.port}",
        "password": (fresh.directory / "data" / "admin_password").read_text().strip(),
        "screenshots": SCREENSHOTS,
    }
    found = node_script("run.mjs", "admin", "snapshots", json.dumps(given))
    assert found["faults"] == []
    for screen in ("desk", "phone"):
        assert "No snapshots yet." in found["seen"][f"none-{screen}"]
        assert "before-upgrade" in found["seen"][f"list-{screen}"]
        assert "Everything done since is lost" in found["seen"][f"question-{screen}"]

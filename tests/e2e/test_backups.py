"""A node that works is saved in a file, and goes on from it elsewhere: on SQLite, and on PostgreSQL."""

import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY, MakeNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.transactions import Sender, wait_for_receipts

PAUSE = 0.05
"""Seconds between two transfers: each makes a block, and all are executed anew in the end."""
STRANGER = "0x000000000000000000000000000000000000dEaD"
PASSWORD = "correct horse battery staple 7"

Counts = dict[str, int]


@contextmanager
def load(node: CheckedNode, sender: Sender) -> Iterator[list[str]]:
    """Have transfers sent one after the other, as long as the body runs; give the hashes of those that were taken."""
    ending = threading.Event()
    taken: list[str] = []
    failures: list[BaseException] = []
    under_way = threading.Event()

    def send() -> None:
        try:
            with node.client() as client:
                while not ending.wait(PAUSE):
                    sent = [client.call("eth_sendRawTransaction", sender.transfer(STRANGER))]
                    wait_for_receipts(client, sent)
                    taken.extend(sent)
                    under_way.set()
        except BaseException as error:
            failures.append(error)
            under_way.set()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        assert under_way.wait(120)
        yield taken
    finally:
        ending.set()
        thread.join()
    assert failures == []


def manifest_of(path: Path) -> Any:
    """Return what is written down in a backup."""
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("manifest.json"))


def counts(node: CheckedNode, tables: list[str]) -> Counts:
    """Return how many rows a node's tables have."""
    with node.database() as ask:
        return {table: ask(f'SELECT count(*) FROM "{table}"')[0][0] for table in tables}


def standing(node: CheckedNode) -> tuple[Any, ...]:
    """Return where both chains of a node stand, and what somebody has there, as clients are told."""
    with node.client() as client, PlatformClient(node.port) as platform:
        head = client.call("eth_getBlockByNumber", "latest", False)
        return (
            head["hash"],
            head["stateRoot"],
            client.call("eth_getBalance", STRANGER, "latest"),
            platform.call("platform.getHeight"),
            platform.call("platform.getTimestamp"),
            platform.call("keystore.listUsers"),
        )


def goes_on(node: CheckedNode, account: LocalAccount) -> None:
    """Send something to a node, and see a block with it on the head that it had."""
    sender = Sender(account, CHAIN_ID)
    with node.client() as client:
        before = client.call("eth_getBlockByNumber", "latest", False)
        sender.nonce = int(client.call("eth_getTransactionCount", sender.address, "pending"), 16)
        sent = client.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        (receipt,) = wait_for_receipts(client, [sent])
        block = client.call("eth_getBlockByHash", receipt["blockHash"], False)
    assert int(block["number"], 16) == int(before["number"], 16) + 1
    assert block["parentHash"] == before["hash"]


def test_a_backup_under_load_goes_on_in_both_databases(make_node: MakeNode, tmp_path: Path) -> None:
    account: LocalAccount = Account.from_key(RICH_KEY)
    node = make_node()
    node.start()
    path = tmp_path / "node.backup"
    with PlatformClient(node.port) as platform:
        platform.call("keystore.createUser", username="alice", password=PASSWORD)
    with load(node, Sender(account, CHAIN_ID)) as taken:
        node.manage_killed_at("saved", "backup", str(path))
        assert not path.exists()
        known = len(taken)
        said = node.manage("backup", str(path))
        assert said.startswith(f"Saved {path}: C-Chain at ")
    assert len(taken) > known, "nothing was done meanwhile"
    saved = manifest_of(path)
    heights = saved["standing"]["cchain"]["height"], saved["standing"]["pchain"]["height"]
    assert known <= heights[0] <= len(taken) + 1

    embedded, production = make_node(), make_node("production")
    wanted = {name: kept[1] for name, kept in saved["tables"].items()}
    for restored in (embedded, production):
        if restored is production:
            restored.manage_killed_at("filled", "restore", str(path))
            assert not any(counts(restored, ["cchain_app_block", "auth_user"]).values())
        assert "verified" in restored.manage("restore", str(path))
        assert counts(restored, list(wanted)) == wanted
        restored.start()
    found = standing(embedded)
    assert found == standing(production)
    assert found[:2] == (saved["standing"]["cchain"]["id"], saved["standing"]["state_root"])
    assert found[5] == {"users": ["alice"]}
    for restored in (embedded, production):
        goes_on(restored, account)

    # And the node that was saved moves to PostgreSQL, with all that it has by now.
    before = standing(node)
    moved = make_node("production")
    node.stop()
    move(node, moved)
    had = counts(node, list(wanted))
    assert counts(moved, list(wanted)) == had
    moved.start()
    assert standing(moved) == before
    goes_on(moved, account)


def move(node: CheckedNode, moved: CheckedNode) -> None:
    """Let a node of the production profile have the data directory of one of the embedded profile, with its rows."""
    moved.set(NODE_DATA_DIR=str(node.directory / "data"))
    said = moved.manage("transfer_state")
    assert "Moved to PostgreSQL: C-Chain at " in said
    shutil.copytree(node.directory / "data", moved.directory / "data", dirs_exist_ok=True)
    moved.set(NODE_DATA_DIR=str(moved.directory / "data"))

"""Back up a running node to a file and restore the backup elsewhere, on SQLite and on PostgreSQL."""

import json
import shutil
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from explorer_app.tokens.events import TRANSFER
from primitives.ids import ID
from tests.builders import puppet
from tests.builders.bytecode import words
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY, MakeNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.transactions import Sender, wait_for_receipts

PAUSE = 0.05
"""Seconds between two transfers. Each creates a block, and all blocks are executed again at the end."""
STRANGER = "0x000000000000000000000000000000000000dEaD"
PASSWORD = "correct horse battery staple 7"
ABI = [{"type": "function", "name": "totalSupply", "inputs": [], "outputs": [{"type": "uint256"}]}]
SECONDS = 120.0
"""Time limit for the token index, which is written after the blocks."""
OF_EXPLORER = ("token", "tokentransfer", "tokenbalance", "tokenprogress", "suppliedabi")

Counts = dict[str, int]


def deploy_token(node: CheckedNode, sender: Sender) -> str:
    """Deploy a token and supply its ABI; return its address."""
    code = puppet.deployed(puppet.of_erc20())
    with node.client() as client:
        sent = sender.sign({"data": code, "gas": 2_000_000})
        (receipt,) = wait_for_receipts(client, [client.call("eth_sendRawTransaction", sent)])
    token = str(receipt["contractAddress"])
    answered = explorer(node, action="supplyabi", address=token, abi=json.dumps(ABI))
    assert answered == "ABI supplied, not verified"
    return token


def explorer(node: CheckedNode, **form: str) -> Any:
    """Send a request about a contract to the explorer's API."""
    url = f"http://127.0.0.1:{node.port}/api"
    return requests.post(url, {"module": "contract", **form}, timeout=SECONDS).json()["result"]


def mint(sender: Sender, token: str) -> str:
    """Return the next transaction, which emits a token's Transfer event from the zero address."""
    told = puppet.emit((TRANSFER, bytes(20), bytes.fromhex(STRANGER[2:])), words(1))
    return sender.sign({"to": to_checksum_address(token), "data": told, "gas": 200_000})


def wait_for_tokens(node: CheckedNode, *, all_of_them: bool) -> None:
    """Wait until the first token transfer is indexed, or all of them."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = counts(node, ["explorer_app_tokentransfer", "cchain_app_log"])
        written, logs = found.values()
        if written == logs if all_of_them else written:
            return
        assert time.monotonic() < deadline, found
        time.sleep(PAUSE)


@contextmanager
def load(node: CheckedNode, sender: Sender, token: str) -> Iterator[list[str]]:
    """Send coins and tokens in turn while the body runs; yield the growing list of mined transaction hashes."""
    ending = threading.Event()
    taken: list[str] = []
    failures: list[BaseException] = []
    under_way = threading.Event()

    def send() -> None:
        try:
            with node.client() as client:
                while not ending.wait(PAUSE):
                    is_coin = len(taken) % 2
                    made = sender.transfer(STRANGER) if is_coin else mint(sender, token)
                    sent = [client.call("eth_sendRawTransaction", made)]
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
        assert failures == []
        yield taken
    finally:
        ending.set()
        thread.join()
    assert failures == []


def manifest_of(path: Path) -> Any:
    """Return the manifest of a backup."""
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("manifest.json"))


def counts(node: CheckedNode, tables: list[str]) -> Counts:
    """Return the number of rows in each of these tables."""
    with node.database() as ask:
        return {table: ask(f'SELECT count(*) FROM "{table}"')[0][0] for table in tables}


def heads(node: CheckedNode) -> tuple[Any, ...]:
    """Return the head of each chain and the state root from a node's rows, in the format of a manifest."""
    with node.database() as ask:
        ((number, block_hash, root),) = ask(
            "SELECT number, hash, state_root FROM cchain_app_block ORDER BY number DESC LIMIT 1"
        )
        ((height, tip),) = ask("SELECT height, tip FROM platform_app_chain")
    return _hex(block_hash), _hex(root), number, str(ID(bytes(tip))), height


def _hex(value: bytes) -> str:
    return f"0x{bytes(value).hex()}"


def waiting(node: CheckedNode) -> list[str]:
    """Return the hashes of the transactions in a node's pool."""
    with node.database() as ask:
        rows = ask("SELECT hash FROM cchain_app_pooltransaction")
    return [_hex(one) for (one,) in rows]


def standing(node: CheckedNode) -> tuple[Any, ...]:
    """Return the heads of both chains, a balance and the keystore users, as seen by clients."""
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
    """Send a transaction to a node, and check that its block is built on the previous head."""
    sender = Sender(account, CHAIN_ID)
    with node.client() as client:
        before = client.call("eth_getBlockByNumber", "latest", False)
        sender.nonce = int(client.call("eth_getTransactionCount", sender.address, "pending"), 16)
        sent = client.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        (receipt,) = wait_for_receipts(client, [sent])
        block = client.call("eth_getBlockByHash", receipt["blockHash"], False)
    assert int(block["number"], 16) == int(before["number"], 16) + 1
    assert block["parentHash"] == before["hash"]


def test_backup_under_load_is_restored_into_both_databases(
    make_node: MakeNode, tmp_path: Path
) -> None:
    account: LocalAccount = Account.from_key(RICH_KEY)
    node = make_node()
    node.start()
    path = tmp_path / "node.backup"
    with PlatformClient(node.port) as platform:
        platform.call("keystore.createUser", username="alice", password=PASSWORD)
    sender = Sender(account, CHAIN_ID)
    token = deploy_token(node, sender)
    begun = int(node.rpc("eth_blockNumber"), 16)
    with load(node, sender, token) as taken:
        wait_for_tokens(node, all_of_them=False)
        node.manage_killed_at("saved", "backup", str(path))
        assert not path.exists()
        known = len(taken)
        said = node.manage("backup", str(path))
        assert said.startswith(f"Saved {path}: C-Chain at ")
    assert len(taken) > known, "nothing was done meanwhile"
    saved = manifest_of(path)
    cchain, pchain = saved["standing"]["cchain"], saved["standing"]["pchain"]
    assert known <= cchain["height"] - begun <= len(taken) + 1
    root = saved["standing"]["state_root"]
    head = cchain["id"], root, cchain["height"], pchain["id"], pchain["height"]

    wanted = {name: kept[1] for name, kept in saved["tables"].items()}
    assert all(wanted[f"explorer_app_{name}"] for name in OF_EXPLORER)
    for profile in ("embedded", "production"):
        restored = make_node(profile, prepared=profile == "embedded")
        if profile == "production":
            restored.manage_killed_at("filled", "restore", str(path))
            assert not any(counts(restored, ["cchain_app_block", "auth_user"]).values())
        assert "verified" in restored.manage("restore", str(path))
        assert counts(restored, list(wanted)) == wanted
        assert heads(restored) == head
        sent = waiting(restored)
        restored.start()
        with restored.client() as client:
            wait_for_receipts(client, sent)
            found = client.call("eth_getBlockByNumber", hex(cchain["height"]), False)
            assert (found["hash"], found["stateRoot"]) == (cchain["id"], root)
        assert standing(restored)[5] == {"users": ["alice"]}
        goes_on(restored, account)
        wait_for_tokens(restored, all_of_them=True)
        assert json.loads(explorer(restored, action="getabi", address=token)) == ABI

    # The backed-up node itself moves to PostgreSQL, with all blocks that it has by now.
    before = standing(node)
    moved = make_node("production", prepared=False)
    node.stop()
    move(node, moved)
    had = counts(node, list(wanted))
    assert counts(moved, list(wanted)) == had
    moved.start()
    assert standing(moved) == before
    goes_on(moved, account)


def move(node: CheckedNode, moved: CheckedNode) -> None:
    """Move the data directory and the rows of an embedded node to a production node."""
    moved.set(NODE_DATA_DIR=str(node.directory / "data"))
    said = moved.manage("transfer_state")
    assert "Moved to PostgreSQL: C-Chain at " in said
    shutil.copytree(node.directory / "data", moved.directory / "data", dirs_exist_ok=True)
    moved.set(NODE_DATA_DIR=str(moved.directory / "data"))

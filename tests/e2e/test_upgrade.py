"""A data directory and a PostgreSQL database of version 0.1.0 start with this version, and nothing in them is lost.

tests/vectors/README.md says how they were made.
"""

import json
import lzma
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account

from primitives.product import VERSION
from tests.e2e.conftest import ALONE, CHAIN_ID, RICH_KEY, Postgresql
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.node import RunningNode
from tests.servers.postgresql import programs

KEPT = Path(__file__).resolve().parents[1] / "vectors" / "upgrade"
STRANGER = "0x000000000000000000000000000000000000dEaD"


def kept(profile: str) -> dict[str, Any]:
    """Return the recorded calls and results, the number of rows of each table, and the transaction in the pool."""
    found: dict[str, Any] = json.loads(lzma.decompress((KEPT / f"{profile}.json.xz").read_bytes()))
    return found


def restore(profile: str, node: RunningNode) -> None:
    """Put the files and, in production, the database of the old version where the node expects them."""
    with tarfile.open(KEPT / f"{profile}.tar.xz") as files:
        files.extractall(node.directory, filter="data")
    if profile == "production":
        statements = lzma.decompress((KEPT / "production.sql.xz").read_bytes())
        subprocess.run(
            [programs() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", node.database_url],
            input=statements,
            stdout=subprocess.DEVNULL,
            check=True,
        )


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_node_of_the_previous_version_continues(
    tmp_path: Path, postgresql: Postgresql, profile: str
) -> None:
    server = postgresql() if profile == "production" else None
    with RunningNode(tmp_path, postgresql=server, prepared=False, beside=ALONE) as node:
        restore(profile, node)
        node.start()
        goes_on(node, profile)
        with node.database() as query:
            assert query("SELECT version FROM chaindb_programversion") == [(VERSION,)]


def goes_on(node: RunningNode, profile: str) -> None:
    """Check the answers and rows of a node, and that it mines the stored transaction and a new one."""
    before = kept(profile)
    for call in before["calls"]:
        path, method, params = call["path"], call["method"], call["params"]
        assert ask(node, path, method, params) == call["result"], (method, params)
    with node.database() as query:
        for table, rows in before["rows"].items():
            ((count,),) = query(f'SELECT count(*) FROM "{table}"')
            assert count >= rows, table

    with node.client() as client:
        if profile == "embedded":
            assert client.call("anvil_getAutomine") is False
            client.call("evm_setAutomine", True)
            client.call("evm_mine")
        (receipt,) = wait_for_receipts(client, [before["pending"]])
        assert int(receipt["blockNumber"], 16) == before["head"] + 1
        sender = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
        sender.nonce = int(client.call("eth_getTransactionCount", sender.address, "pending"), 16)
        sent = client.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        wait_for_receipts(client, [sent])


def ask(node: RunningNode, path: str, method: str, params: Any) -> Any:
    """Return the result of a call to an interface of the node."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = requests.post(f"http://127.0.0.1:{node.port}{path}", json=call, timeout=60).json()
    assert "result" in answer, answer
    return answer["result"]

"""The admin in a real browser, on the running node."""

import csv
import io
import json
from http.client import HTTPConnection

import pytest
from eth_account.signers.local import LocalAccount

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, SCREENSHOTS, node_script
from tests.e2e.transactions import Sender, wait_for_receipts

STRANGER = "0x000000000000000000000000000000000000dEaD"


def test_a_transaction_is_found_by_its_hash(node: CheckedNode, account: LocalAccount) -> None:
    with node.client() as client:
        raw = Sender(account, CHAIN_ID).transfer(STRANGER, 123_456_789)
        sent = client.call("eth_sendRawTransaction", raw)
        wait_for_receipts(client, [sent])
    given = {
        "base": f"http://127.0.0.1:{node.port}",
        "password": (node.directory / "data" / "admin_password").read_text().strip(),
        "hash": sent,
        "screenshots": SCREENSHOTS,
    }
    found = node_script("run.mjs", "admin", "findTransaction", json.dumps(given))
    assert found["faults"] == []
    assert found["rows"] == 1
    assert sent in found["transaction"]
    assert "0.000000000123456789 AVAX" in found["transaction"]
    assert STRANGER in found["transaction"]
    assert "C-Chain" in found["dashboard"]


def test_operator_pauses_resumes_reruns_a_check_and_drops_a_transaction(
    node: CheckedNode, account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    sender.nonce = 1  # after a gap, so that the transaction stays pending
    with node.client() as client:
        waiting = client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 1))
        given = {
            "base": f"http://127.0.0.1:{node.port}",
            "password": (node.directory / "data" / "admin_password").read_text().strip(),
            "hash": waiting,
            "screenshots": SCREENSHOTS,
        }
        try:
            found = node_script("run.mjs", "admin", "operate", json.dumps(given))
        finally:
            client.call("evm_setAutomine", True)  # other tests use this node too
        said = found["said"]
        assert found["faults"] == []
        assert "Transactions a minute" in found["plain"]["text"]
        assert found["plain"]["bars"] == 5 * 30
        assert "Pause the production of blocks?" in said["pause asked"]
        assert "Paused the C-Chain's production of blocks." in said["pause"]
        assert "Resumed the C-Chain's production of blocks." in said["resume"]
        assert "The check X-Chain was run again: it passes." in said["check"]
        assert waiting in said["drop asked"]
        assert f"Dropped transaction {waiting} from the mempool." in said["drop"]
        assert client.call("eth_getTransactionByHash", waiting) is None
        assert "This list has no filter “height=abc”" in said["filter"]
        # Blocks are mined again.
        sender.nonce = 0
        wait_for_receipts(
            client, [client.call("eth_sendRawTransaction", sender.transfer(STRANGER, 1))]
        )


def test_the_nodes_own_validator_is_found_and_in_the_file(fresh: CheckedNode) -> None:
    with fresh.database() as ask:
        [(own,)] = ask("SELECT node FROM platform_app_staker WHERE added_height = 0")
    given = {
        "base": f"http://127.0.0.1:{fresh.port}",
        "password": (fresh.directory / "data" / "admin_password").read_text().strip(),
        "node": own,
        "screenshots": SCREENSHOTS,
    }
    found = node_script("run.mjs", "admin", "findValidator", json.dumps(given))
    assert found["faults"] == []
    assert "validating" in found["dashboard"]
    assert own in found["validator"]
    assert "Primary Network" in found["validator"]
    assert found["name"] == "validators.csv"
    listed = {row["node_id"]: row["phase"] for row in csv.DictReader(io.StringIO(found["file"]))}
    assert listed[own] == "current"


@pytest.mark.parametrize("node", ["embedded", "daphne"], indirect=True)
@pytest.mark.parametrize(
    ("host", "status", "told"),
    [
        ("192.168.7.7:9650", 302, ""),
        ("[fd00::7]:9650", 302, ""),
        ("localhost:9650", 302, ""),
        ("node.lan:9650", 403, "NODE_ALLOWED_HOSTS"),
    ],
)
def test_admin_accepts_any_address_and_only_its_own_names(
    node: CheckedNode, host: str, status: int, told: str
) -> None:
    connection = HTTPConnection("127.0.0.1", node.port, timeout=60)
    connection.request("GET", "/admin/", headers={"host": host})
    answer = connection.getresponse()
    assert answer.status == status
    assert told in answer.read().decode()
    connection.close()

"""The explorer in a real browser, on a node with some history on both chains."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account.signers.local import LocalAccount
from eth_utils import to_checksum_address

from tests.conformance.explorer_samples import Sample
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, node_script
from tests.e2e.development import FOUNDRY
from tests.e2e.transactions import Sender, wait_for_receipts

STRANGER = "0x000000000000000000000000000000000000dEaD"
COUNTER = "0x60075f55601680600d5f395ff33615600d5760015f54015f55005b5f545f5260205ff3"
"""Its code adds one to its slot 0 when it is called with data."""
TRANSFERRED = "0xa9059cbb" + STRANGER[2:].rjust(64, "0") + "64".rjust(64, "0")
"""transfer(STRANGER, 100)."""
AT_ONCE = 50
CAST = FOUNDRY / "cast-linux-amd64/bin/cast"


@pytest.fixture
def sender(node: CheckedNode, account: LocalAccount) -> Sender:
    """An account with coins on a node that has more than a page of everything."""
    made = Sender(account, CHAIN_ID)
    with node.client() as client:
        for _ in range(12):
            raws = [made.transfer(STRANGER, 10**15 + number) for number in range(AT_ONCE)]
            hashes = client.batch([("eth_sendRawTransaction", raw) for raw in raws])
            wait_for_receipts(client, hashes)
    return made


def sent(node: CheckedNode, raw: str) -> dict[str, Any]:
    """Send a transaction and return its receipt."""
    with node.client() as client:
        return wait_for_receipts(client, [client.call("eth_sendRawTransaction", raw)])[0]


@pytest.fixture
def cabinet(node: CheckedNode) -> str:
    """The address of a verified contract with variables and functions of each kind, which an unlocked account made."""
    (step,) = Sample("cabinet", {}).steps
    with node.client() as client:
        sender = client.call("eth_accounts")[0]
        created = {"from": sender, "data": step["data"], "gas": hex(4_000_000)}
        tx_hash = client.call("eth_sendTransaction", created)
        receipt = wait_for_receipts(client, [tx_hash])[0]
    address = str(receipt["contractAddress"])
    verify(base_of(node), Sample("cabinet", {"cabinet": address[2:]}))
    return to_checksum_address(address)


def verify(base: str, sample: Sample) -> None:
    """Have a contract verified, and wait for that; it may be already, as another one of the same code is."""
    fields = sample.fields
    asked = {"module": "contract", "action": "verifysourcecode"}
    submitted = {
        "contractaddress": "0x" + sample.addresses[fields["verify"]],
        "sourceCode": json.dumps(fields["standardJson"]),
        "codeformat": "solidity-standard-json-input",
        "contractname": fields["contractName"],
        "compilerversion": fields["compilerVersion"],
    }
    guid = requests.post(f"{base}/api", asked | submitted, timeout=60).json()["result"]
    status = {"module": "contract", "action": "checkverifystatus", "guid": guid}
    result = "Pending in queue"
    until = time.monotonic() + 120
    while result == "Pending in queue" and time.monotonic() < until:
        result = requests.get(f"{base}/api", status, timeout=60).json()["result"]
    assert result == "Pass - Verified"


def base_of(node: CheckedNode) -> str:
    return f"http://127.0.0.1:{node.port}"


def test_every_page_in_a_browser(node: CheckedNode, sender: Sender, tmp_path: Path) -> None:
    created = sent(node, sender.sign({"data": COUNTER, "gas": 200_000}))
    contract = to_checksum_address(created["contractAddress"])
    called = sent(node, sender.sign({"to": contract, "data": TRANSFERRED, "gas": 100_000}))
    failed = sent(node, sender.sign({"data": "0x5f5ffd", "gas": 100_000}))
    assert [one["status"] for one in (created, called, failed)] == ["0x1", "0x1", "0x0"]
    with node.database() as ask:
        [(validator,)] = ask("SELECT node FROM platform_app_staker WHERE added_height = 0")
    call, number = called["transactionHash"], int(called["blockNumber"], 16)
    pages = {
        "front": "/",
        "blocks": "/blocks",
        "block": f"/block/{number}",
        "txs": "/txs",
        "tx": f"/tx/{call}",
        "tx-calls": f"/tx/{call}?tab=calls",
        "tx-state": f"/tx/{call}?tab=state",
        "tx-raw": f"/tx/{call}?tab=raw",
        "tx-failed": f"/tx/{failed['transactionHash']}",
        "address": f"/address/{sender.address}",
        "contract": f"/address/{contract}?tab=contract",
        "pool": "/pool",
        "p-txs": "/p/txs",
        "p-block": "/p/block/0",
        "validators": "/p/validators",
        "validator": f"/p/validator/{validator}",
        "calendar": "/p/calendar",
        "supply": "/p/supply",
        "subnets": "/p/subnets",
        "connect": "/connect",
        "faucet": "/faucet",
        "tokens": "/tokens",
        "address-tokens": f"/address/{sender.address}?tab=tokens",
        "search": "/search?q=0",
    }
    given = {"base": base_of(node), "pages": pages, "screenshots": str(tmp_path)}
    found = node_script("run.mjs", "explorer", "look", json.dumps(given))

    assert found["faults"] == [], "\n".join(found["faults"])
    seen = found["seen"]
    assert len(seen) == 2 * len(pages)
    for screen in ("desk", "phone"):
        assert "called transfer of" in seen[f"tx-{screen}"]
        assert STRANGER in seen[f"tx-{screen}"]
        assert "reverted without a reason" in seen[f"tx-failed-{screen}"]
        assert "this node" in seen[f"validator-{screen}"]
        assert "Older" in seen[f"address-{screen}"]


def test_heads_tick_and_search_leads_on(node: CheckedNode, sender: Sender) -> None:
    with node.database() as ask:
        [(validator,)] = ask("SELECT node FROM platform_app_staker WHERE added_height = 0")
    base = base_of(node)
    live = {"base": base, "raw": sender.transfer(STRANGER, 7)}
    ticked = node_script("run.mjs", "explorer", "live", json.dumps(live))
    search = {"base": base, "typed": validator[:14], "whole": ticked["hash"]}
    led = node_script("run.mjs", "explorer", "search", json.dumps(search))
    plain = {"base": base, "path": f"/tx/{ticked['hash']}"}
    read = node_script("run.mjs", "explorer", "withoutScripts", json.dumps(plain))

    assert [one["faults"] for one in (ticked, led, read)] == [[], [], []]
    assert ticked["after"] > ticked["before"]
    assert led["suggested"] == f"/p/validator/{validator}"
    assert led["found"] == f"/tx/{ticked['hash']}"
    assert "7 wei" in read["text"]


def test_a_contract_is_read_and_written_in_a_browser(
    node: CheckedNode, cabinet: str, tmp_path: Path
) -> None:
    with node.client() as client:
        account = client.call("eth_accounts")[1]
    given = {
        "base": base_of(node), "address": cabinet, "account": account, "chain": hex(CHAIN_ID),
        "count": {"desk": "1234", "phone": "5678"}, "screenshots": str(tmp_path),
    }  # fmt: skip
    found = node_script("run.mjs", "explorer", "contract", json.dumps(given))

    assert found["faults"] == [], "\n".join(found["faults"])
    seen = found["seen"]
    for screen, count in given["count"].items():
        assert seen[f"asked-{screen}"] == [
            "eth_requestAccounts", "eth_chainId", "wallet_switchEthereumChain", "wallet_addEthereumChain",
            "wallet_switchEthereumChain", "eth_sendTransaction",
        ]  # fmt: skip
        assert all("succeeded in block" in one for one in seen[f"contract-write-{screen}"])
        unsent, bad = seen[f"contract-refused-{screen}"]
        assert "not sent" in unsent
        assert "reverted with Locked" in unsent
        assert "value must be a whole number" in bad
        values, total, failure = seen[f"contract-read-{screen}"]
        assert count in values
        assert total == "42"
        assert "reverted with Locked" in failure
        stored, held = seen[f"contract-storage-{screen}"]
        assert count in stored
        assert "new" in stored
        assert str(25 * 10**16 * (1 if screen == "desk" else 2)) in held
    with node.client() as client:
        assert client.call("eth_getBalance", cabinet, "latest") == hex(5 * 10**17)


def test_a_transaction_is_prepared_without_scripts_and_cast_sends_it(
    node: CheckedNode, cabinet: str
) -> None:
    path = f"/address/{cabinet}/write"
    form = {"base": base_of(node), "path": path, "name": "setNumber", "fields": {"a0": "77"}}
    found = node_script("run.mjs", "explorer", "plainForm", json.dumps(form))
    (line,) = (one for one in found["text"].splitlines() if one.startswith("cast send"))
    with node.client() as client:
        account = client.call("eth_accounts")[1]
    command = [*line.removesuffix("--interactive").split(), "--unlocked", "--from", account]
    done = subprocess.run(
        [str(CAST), *command[1:]], capture_output=True, text=True, check=False, timeout=60
    )

    assert found["faults"] == []
    assert done.returncode == 0, done.stderr
    with node.client() as client:
        assert int(client.call("eth_getStorageAt", cabinet, hex(19), "latest"), 16) == 77

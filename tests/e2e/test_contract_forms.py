"""Forms for a contract's functions and storage in a real browser, with a wallet and with the node's own account."""

import json
import subprocess
import time

import pytest
import requests
from eth_utils import to_checksum_address

from tests.conformance.explorer_samples import Sample
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, SCREENSHOTS, node_script
from tests.e2e.development import FOUNDRY
from tests.e2e.transactions import wait_for_receipts

CAST = FOUNDRY / "cast-linux-amd64/bin/cast"


@pytest.fixture
def cabinet(node: CheckedNode) -> str:
    """The address of a verified contract with all kinds of variables and functions, deployed by an unlocked account."""
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
    """Verify a contract and wait for the result; an earlier contract with the same code may have verified it."""
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


def test_a_contract_is_read_and_written_in_a_browser(node: CheckedNode, cabinet: str) -> None:
    with node.client() as client:
        account = client.call("eth_accounts")[1]
    given = {
        "base": base_of(node), "address": cabinet, "account": account, "chain": hex(CHAIN_ID),
        "count": {"desk": "1234", "phone": "5678"}, "screenshots": SCREENSHOTS,
    }  # fmt: skip
    found = node_script("run.mjs", "explorer", "contract", json.dumps(given))

    assert found["faults"] == [], "\n".join(found["faults"])
    seen = found["seen"]
    for screen, count in given["count"].items():
        assert seen[f"asked-{screen}"] == [
            "eth_requestAccounts", "eth_chainId", "wallet_switchEthereumChain", "wallet_addEthereumChain",
            "wallet_switchEthereumChain", "eth_sendTransaction",
        ]  # fmt: skip
        assert all("succeeded in block" in item for item in seen[f"contract-write-{screen}"])
        unsent, bad = seen[f"contract-refused-{screen}"]
        assert "not sent" in unsent
        assert "reverted with Locked" in unsent
        assert "value must be a whole number" in bad
        assert seen[f"contract-unexplained-{screen}"] == ["not sent No reason was given.", True]
        assert (
            seen[f"contract-busy-{screen}"]
            == "The node returned an error: 429 <b>Too Many Requests"
        )
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


def test_transaction_prepared_without_scripts_is_sent_by_cast(
    node: CheckedNode, cabinet: str
) -> None:
    path = f"/address/{cabinet}/write"
    form = {"base": base_of(node), "path": path, "name": "setNumber", "fields": {"a0": "77"}}
    found = node_script("run.mjs", "explorer", "plainForm", json.dumps(form))
    (line,) = (item for item in found["text"].splitlines() if item.startswith("cast send"))
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

"""A node that is started with flags, as development scripts start nodes: on another port, without fees."""

import http.client
import json
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from web3 import AsyncWeb3, Web3, WebSocketProvider

from primitives.product import NAME, VERSION
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import MakeNode
from tests.e2e.network import wait_for
from tests.e2e.transactions import wait_for_receipts
from tests.servers.node import ROOT, RunningNode
from tests.servers.ports import free_port, has_ipv6
from tests.servers.process import ServerProcess

RICH = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""The key of the first account of the well-known development mnemonic."""
CHAIN_ID = 31337


def started_by(make_node: MakeNode, *flags: str, **env: str) -> CheckedNode:
    """Start a node whose port is set by a flag alone."""
    port = free_port()
    command = [sys.executable, "manage.py", "runnode", "--port", str(port), *flags]
    node = make_node(command=command, env={"NODE_HTTP_PORT": "1", **env})
    node.port = port
    return node.start()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


@pytest.fixture(params=["uvicorn", "daphne"])
def flagged(make_node: MakeNode, config: Path, request: pytest.FixtureRequest) -> CheckedNode:
    """A node with the flags of a typical script: chain ID, no fees, a small block, another client name."""
    return started_by(
        make_node, "--chain-id", str(CHAIN_ID), "--base-fee", "0", "--gas-limit", "12000000",
        "--client-name", "anvil/v1.7.1", "--config-out", str(config), "--server", request.param,
    )  # fmt: skip


def get(node: CheckedNode, path: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read()
    finally:
        connection.close()


async def test_a_script_s_node(flagged: CheckedNode, config: Path) -> None:
    w3 = Web3(Web3.HTTPProvider(f"http://127.0.0.1:{flagged.port}"))
    account = Account.from_key(RICH)
    assert w3.client_version.startswith("anvil/v1.7.1 (")
    assert f"Listening on 127.0.0.1:{flagged.port}\n" in flagged.log()

    raw = account.sign_transaction(
        {
            "chainId": CHAIN_ID, "nonce": 0, "gas": 21_000, "gasPrice": 0, "value": 5,
            "to": Account.create().address,
        }
    ).raw_transaction  # fmt: skip
    receipt: Any = w3.eth.wait_for_transaction_receipt(w3.eth.send_raw_transaction(raw))
    block: Any = w3.eth.get_block("latest")

    assert (receipt["status"], receipt["effectiveGasPrice"]) == (1, 0)
    assert (block["baseFeePerGas"], block["gasLimit"]) == (0, 12_000_000)
    assert block["mixHash"] != bytes(32)
    assert w3.eth.get_balance(account.address) == 10_000 * 10**18 - 5
    assert w3.eth.get_code("0xcA11bde05977b3631167028862bE2a173976CA11")

    written = json.loads(config.read_text())
    assert written["available_accounts"][0] == account.address
    assert written["private_keys"][0] == RICH
    assert (written["base_fee"], written["gas_limit"]) == ("0", "12000000")
    assert written["wallet"]["mnemonic"].endswith(" junk")

    async with AsyncWeb3(WebSocketProvider(f"ws://127.0.0.1:{flagged.port}")) as client:
        assert await client.eth.chain_id == CHAIN_ID
        assert await client.eth.subscribe("newHeads")

    status, kind, page = get(flagged, "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert b"Latest transactions" in page
    assert b">31337</code>" in get(flagged, "/connect")[2]


@pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)
def test_listening_address_is_printed_once(node: CheckedNode) -> None:
    line = f"Listening on {'[::]' if has_ipv6() else '0.0.0.0'}:{node.port}\n"
    node.wait_for_words(line)

    assert node.log().count(line) == 1
    assert node.log().index(f"{NAME} {VERSION} ───") < node.log().index(line)


def test_later_start_keeps_the_chains_settings(make_node: MakeNode) -> None:
    node = started_by(make_node, "--no-mining", "--quiet", NODE_HARDFORK="london")
    assert node.rpc("eth_getBlockByNumber", "0x0", False).get("withdrawalsRoot") is None
    assert "Listening on" not in node.log()
    assert "0x" not in node.log()
    first = node.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
    node.stop()

    node.set(NODE_HARDFORK="osaka")
    node.start()
    assert node.rpc("eth_getBlockByNumber", "0x0", False)["hash"] == first
    assert (
        "NODE_HARDFORK is osaka, but this chain began with london and keeps that value"
        in node.log()
    )


def over_ipc(path: Path, *calls: tuple[str, list[Any]]) -> list[Any]:
    """Send calls at once over a Unix socket, and return their results."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(
            b"".join(
                json.dumps(
                    {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
                ).encode()
                for id_, (method, params) in enumerate(calls)
            )
        )
        lines = client.makefile()
        answers = [json.loads(lines.readline()) for _ in calls]
    by_id = {answer["id"]: answer for answer in answers}
    return [by_id[id_]["result"] for id_ in range(len(calls))]


def test_anvil_flags_take_effect(make_node: MakeNode, tmp_path: Path) -> None:
    ipc, dumps = tmp_path / "node.ipc", tmp_path / "dumps"
    dumps.mkdir()
    node = started_by(
        make_node, "--timestamp", "1600000000", "--no-create2", "--mixed-mining", "-b", "1",
        "--auto-impersonate", "--mnemonic-random", "--no-priority-fee", "--ipc", str(ipc),
        "--dump-state", str(dumps), "--state-interval", "1", "--json", "--disable-console-log",
        "--order", "fifo", "--max-transactions", "1", "-n", "ethereum", "--steps-tracing",
    )  # fmt: skip
    stranger, target = "0x" + "0" * 40, "0x" + "12" * 20

    first, code, tip, interval, automine, accounts = over_ipc(
        ipc,
        ("eth_getBlockByNumber", ["0x0", False]),
        ("eth_getCode", ["0x4e59b44847b379578588920cA78FbF26c0B4956C", "latest"]),
        ("eth_maxPriorityFeePerGas", []),
        ("anvil_getIntervalMining", []),
        ("anvil_getAutomine", []),
        ("eth_accounts", []),
    )
    assert (int(first["timestamp"], 16), code, tip) == (1_600_000_000, "0x", "0x0")
    assert (interval, automine) == (1, True)
    assert accounts[0] != Account.from_key(RICH).address.lower()
    assert node.rpc("eth_getBalance", accounts[0], "latest") == hex(10_000 * 10**18)
    sent = node.rpc("eth_sendTransaction", {"from": stranger, "to": target, "value": "0x5"})
    with node.client() as client:  # the answer waits for the block, but no longer than a second
        (receipt,) = wait_for_receipts(client, [sent])
    block = receipt["blockNumber"]
    assert len(node.rpc("eth_getBlockByNumber", block, False)["transactions"]) == 1
    assert (
        0
        <= int(node.rpc("eth_getBlockByNumber", block, False)["timestamp"], 16) - 1_600_000_000
        < 3600
    )

    def dumped_balance() -> bool:
        file = dumps / "state.json"
        return (
            file.exists()
            and json.loads(file.read_text())["accounts"].get(target, {}).get("balance") == "0x5"
        )

    wait_for(dumped_balance, "the state is written")
    assert stat.S_IMODE(ipc.stat().st_mode) == 0o600
    words = (node.directory / "data" / "mnemonic").read_text().strip()
    assert words not in node.log()
    assert any('"event": "' in line for line in node.log().splitlines())
    node.stop()
    assert not ipc.exists()

    command = [sys.executable, "manage.py", "run", "--load-state", str(dumps / "state.json")]
    with RunningNode(tmp_path / "other", command=command) as other:
        other.start()
        assert other.rpc("eth_getBalance", target, "latest") == "0x5"


def test_missing_state_file_is_reported(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    ended = subprocess.run(
        [sys.executable, "manage.py", "run", "--data-dir", str(tmp_path / "data"), "--port", "0", "--load-state", str(missing)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert ended.returncode == 1
    assert f"the state cannot be loaded: {missing}: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_banner_shows_the_port_chosen_by_the_system(tmp_path: Path) -> None:
    log = tmp_path / "node.log"
    command = [
        sys.executable,
        "-m",
        "nodeproject",
        "--port",
        "0",
        "--data-dir",
        str(tmp_path / "data"),
    ]
    process = ServerProcess(command, log, cwd=ROOT)
    try:
        process.wait_until(lambda: "Listening on 127.0.0.1:" in log.read_text(), 240.0)
    finally:
        process.kill()

    said = log.read_text()
    (port,) = re.findall(r"^Listening on 127\.0\.0\.1:([0-9]+)$", said, re.MULTILINE)
    assert f"  RPC            http://127.0.0.1:{port} (also " in said
    assert "follow" not in said
    assert "network_app" not in said


def test_commands_find_the_node_by_data_directory(make_node: MakeNode) -> None:
    node = started_by(make_node)
    data = node.directory / "data"

    def status() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "nodeproject", "status", "--data-dir", str(data)],
            cwd=ROOT, capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        return done.stdout

    assert f" ms on http://127.0.0.1:{node.port}\n" in status()
    node.stop()
    assert "does not answer" in status()
    assert not (data / "http_address.json").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            ["--hardfork", "atlantis"],
            "'atlantis' was given; it must be one of frontier, homestead,",
        ),
        (["--port", "eighty"], "'eighty' was given; it must be a whole number from 0 to 65535"),
        (["--prot", "8545"], "unrecognized arguments: --prot 8545; did you mean --port?"),
    ],
)
def test_wrong_flags_exit_with_message_and_status_2(
    flags: list[str], words: str, tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "runnode", "--data-dir", str(tmp_path / "none"), *flags],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "none").exists()

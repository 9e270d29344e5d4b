"""A node that is started with flags, as development scripts start nodes: on another port, without fees."""

import http.client
import json
import re
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
from tests.servers.node import ROOT
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
    assert b"<dd>31337</dd>" in get(flagged, "/connect")[2]


@pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)
def test_programs_are_told_once_that_it_listens(node: CheckedNode) -> None:
    line = f"Listening on {'[::]' if has_ipv6() else '0.0.0.0'}:{node.port}\n"
    node.wait_for_words(line)

    assert node.log().count(line) == 1
    assert node.log().index(f"{NAME} {VERSION} ───") < node.log().index(line)


def test_a_later_start_goes_on_with_what_the_chain_has(make_node: MakeNode) -> None:
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


def test_the_banner_has_the_port_that_the_system_chose(tmp_path: Path) -> None:
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


def test_commands_find_the_node_by_its_data_directory(make_node: MakeNode) -> None:
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
def test_wrong_flags_end_with_words_and_two(flags: list[str], words: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "runnode", "--data-dir", str(tmp_path / "none"), *flags],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "none").exists()

"""A fork of a running chain: of this node's, of Anvil's, and of geth's if `make geth` has built it."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_utils import to_checksum_address

from tests.e2e.conftest import RICH_KEY
from tests.e2e.network import wait_for
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers import geth
from tests.servers.anvil import Anvil
from tests.servers.geth import Geth
from tests.servers.node import RunningNode
from tests.servers.process import ServerDied

STRANGER = "0x000000000000000000000000000000000000bEEF"
# The init code writes 7 to slot 0. The deployed code returns slot 0; if called with data it adds one to it.
INIT = "0x60075f55601680600d5f395ff33615600d5760015f54015f55005b5f545f5260205ff3"
ANVILS_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"


class Remote:
    """A chain with a contract and a transfer to an unused address."""

    def __init__(self, running: Any, url: str, key: str) -> None:
        self.running = running
        self.url = url
        self.key = key
        account = Account.from_key(key)
        self.chain_id = int(running.rpc("eth_chainId"), 16)
        sender = Sender(account, self.chain_id)
        creation = self._send(sender.sign({"data": INIT, "gas": 200_000}))
        self.contract = to_checksum_address(creation["contractAddress"])
        self.transfer = self._send(sender.transfer(STRANGER, 5))
        self.head = int(self.transfer["blockNumber"], 16)

    def _send(self, raw: str) -> dict[str, Any]:
        sent = self.running.rpc("eth_sendRawTransaction", raw)
        wait_for(
            lambda: self.running.rpc("eth_getTransactionReceipt", sent) is not None,
            f"a block with {sent}",
        )
        receipt: dict[str, Any] = self.running.rpc("eth_getTransactionReceipt", sent)
        assert receipt["status"] == "0x1"
        return receipt


REMOTES = (
    "this node",
    "anvil",
    pytest.param(
        "geth",
        marks=pytest.mark.skipif(not geth.BINARY.exists(), reason="`make geth` takes minutes"),
    ),
)


@pytest.fixture(params=REMOTES)
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Remote]:
    """A remote chain."""
    if request.param == "anvil":
        with Anvil(tmp_path, "--chain-id", "777") as anvil:
            yield Remote(anvil, f"{anvil.url}/?key=s3cr3tk3y", ANVILS_KEY)
        return
    if request.param == "geth":
        with Geth(tmp_path) as running:
            yield Remote(running, f"{running.url}/?key=s3cr3tk3y", geth.KEY)
        return
    with RunningNode(tmp_path / "remote") as node:
        node.start()
        yield Remote(node, f"{node.url}?key=s3cr3tk3y", RICH_KEY)


@pytest.fixture
def fork(remote: Remote, tmp_path: Path) -> Iterator[RunningNode]:
    """A node that is a fork of the remote chain."""
    env = {"NODE_FORK_URL": remote.url}
    if isinstance(remote.running, Geth):  # Geth mines an empty block now and then
        env["NODE_FORK_BLOCK_NUMBER"] = str(remote.head)
    with RunningNode(tmp_path / "fork", env=env) as node:
        node.start()
        yield node


def counter(node: RunningNode, remote: Remote, block: str = "latest") -> int:
    return int(node.rpc("eth_call", {"to": remote.contract}, block), 16)


def passed_on(node: RunningNode, method: str, *params: Any) -> Any:
    """Return a result that is forwarded from the remote node, with fields that this node does not have."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    with closing(node.client()) as client:
        return json.loads(client.post(body.encode()).body)["result"]


def count(node: RunningNode, remote: Remote) -> dict[str, Any]:
    """Add one to the counter on the fork."""
    account = Account.from_key(remote.key)
    nonce = int(node.rpc("eth_getTransactionCount", account.address, "latest"), 16)
    raw = Sender(account, remote.chain_id, nonce).sign(
        {"to": remote.contract, "data": "0x01", "gas": 100_000}
    )
    with closing(node.client()) as client:
        return wait_for_receipts(client, [client.call("eth_sendRawTransaction", raw)])[0]


def test_fork_continues_without_the_remote_node(remote: Remote, fork: RunningNode) -> None:
    pin = hex(remote.head)
    told = remote.running.rpc("eth_getBlockByNumber", pin, True)
    assert int(fork.rpc("eth_chainId"), 16) == remote.chain_id
    assert fork.rpc("eth_blockNumber") == pin
    assert passed_on(fork, "eth_getBlockByNumber", "latest", True) == told
    sent = remote.transfer["transactionHash"]
    assert passed_on(fork, "eth_getTransactionReceipt", sent) == remote.transfer
    assert fork.rpc("eth_getCode", remote.contract, "latest") == "0x" + INIT[2 + 26 :]
    assert fork.rpc("eth_getBalance", STRANGER, "latest") == "0x5"

    snapshot = fork.rpc("evm_snapshot")
    mined = count(fork, remote)
    assert int(mined["blockNumber"], 16) == remote.head + 1
    block = fork.rpc("eth_getBlockByNumber", mined["blockNumber"], False)
    assert block["parentHash"] == told["hash"]
    assert [counter(fork, remote), counter(fork, remote, pin)] == [8, 7]
    assert int(remote.running.rpc("eth_call", {"to": remote.contract}, "latest"), 16) == 7
    assert fork.rpc("evm_revert", snapshot) is True
    assert counter(fork, remote) == 7
    count(fork, remote)
    fork.kill()

    remote.running.stop()
    fork.start()
    assert counter(fork, remote) == 8
    count(fork, remote)
    assert counter(fork, remote) == 9
    fork.rpc("evm_mine")
    assert int(fork.rpc("eth_blockNumber"), 16) == remote.head + 3
    assert fork.rpc("anvil_reset") is None
    assert counter(fork, remote) == 7
    fork.stop()

    assert "s3cr3t" not in fork.log()
    with fork.database() as ask:
        assert ask("SELECT count(*) FROM cchain_app_block WHERE number < " + str(remote.head)) == [
            (0,)
        ]
        fetched = "SELECT slot, value FROM c_forked_slots WHERE address = lower('"
        rows = ask(fetched + remote.contract + "')")
        assert rows == [("0x" + "0" * 64, "0x" + "0" * 63 + "7")]
        (url,) = ask("SELECT fork_url FROM cchain_app_chain")[0]
        assert url == remote.url.partition("/?")[0].partition("/ext")[0]
        found = ask(
            "SELECT balance FROM c_forked_accounts WHERE address = lower('" + STRANGER + "')"
        )
        assert [int(item[0]) for item in found] == [5]


def test_fork_at_a_transaction_includes_it(remote: Remote, tmp_path: Path) -> None:
    sent = remote.transfer["transactionHash"]
    env = {"NODE_FORK_URL": remote.url, "NODE_FORK_TRANSACTION_HASH": sent}
    told = remote.running.rpc("eth_getBlockByNumber", hex(remote.head), False)
    with RunningNode(tmp_path / "fork", env=env) as fork:
        fork.start()
        assert fork.rpc("eth_blockNumber") == hex(remote.head)
        mined = fork.rpc("eth_getTransactionReceipt", sent)
        assert mined["status"] == "0x1"
        for member in ("from", "to", "gasUsed", "effectiveGasPrice", "transactionIndex"):
            assert mined[member] == remote.transfer[member]
        block = fork.rpc("eth_getBlockByNumber", "latest", False)
        assert block["transactions"] == [sent]
        for member in (
            "parentHash", "timestamp", "baseFeePerGas", "gasLimit", "miner", "mixHash",
            "transactionsRoot", "receiptsRoot",
        ):  # fmt: skip
            assert block[member] == told[member]
        assert fork.rpc("eth_getBalance", STRANGER, "latest") == "0x5"
        pin = hex(remote.head - 1)
        assert fork.rpc("eth_getBalance", STRANGER, pin) == "0x0"
        count(fork, remote)
        fork.kill()
        remote.running.stop()
        fork.start()
        assert counter(fork, remote) == 8
        assert fork.rpc("anvil_reset") is None
        assert fork.rpc("eth_getBlockByNumber", "latest", False) == block


def test_fork_of_an_unreachable_node_does_not_start(tmp_path: Path) -> None:
    env = {"NODE_FORK_URL": "http://127.0.0.1:1/s3cr3tk3y", "NODE_FORK_RETRIES": "0"}
    with RunningNode(tmp_path / "fork", env=env) as node:
        with pytest.raises(ServerDied):
            node.start()
        log = node.log()
    words = "failed to get fork block number; http://127.0.0.1:1 does not answer: no connection"
    assert f"CommandError: {words}" in log
    assert "s3cr3t" not in log
    assert "Traceback" not in log

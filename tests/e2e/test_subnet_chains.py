"""EVM chains of subnets, from the transaction that creates one to a contract on it: one node, and one that follows it.

The second node tracks one of two subnets: it has that subnet's chain with equal roots, and nothing of the other.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest

from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from nodeproject.startup.chain_databases import alias_of
from primitives.hashing import keccak256
from primitives.ids import ID
from primitives.keys import EWOQ_KEY
from tests.builders.transactions import KEY, RECIPIENT, SENDER, unsigned
from tests.e2e.conftest import ALONE, Postgresql, node_script
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, raw
from tests.e2e.subnets import create_chain
from tests.servers.node import RunningNode

TRANSFER = keccak256(b"Transfer(address,address,uint256)")
SECONDS = 120
"""Time limit of each wait, on a busy machine."""
INIT = bytes.fromhex("600a600c600039600a6000f3602a60005260206000f3")
"""Creates a contract that returns 42."""
MINT = bytes.fromhex(
    f"6007600052 73{RECIPIENT.hex()} 6000 7f{TRANSFER.hex()} 60206000a3 60016000f3"
)
"""Creates a token whose first log is a transfer of 7 units to `RECIPIENT`."""
CHAINS = {"dex": 9_001, "game": 9_002}
"""Chain IDs by name; each is the chain of a subnet of its own."""


class Live:
    """A node that makes all blocks, and the chains of its subnets."""

    def __init__(self, node: RunningNode) -> None:
        self.node = node
        self.subnets: dict[str, str] = {}
        self.blockchains: dict[str, str] = {}

    def create(self) -> None:
        """Create the subnets and their chains."""
        wallet = Wallet(EWOQ_KEY)
        with PlatformClient(self.node.port) as client:
            for name, chain_id in CHAINS.items():
                wallet.look(client)
                subnet = client.commit(raw(wallet.create_subnet()))
                self.subnets[name] = subnet
                self.blockchains[name] = create_chain(client, wallet, subnet, name, chain_id)

    def signed(self, name: str, **changes: Any) -> str:
        """Return a transaction for a chain, signed; by default the next one on the node that makes blocks."""
        if "nonce" not in changes:
            changes["nonce"] = pending_nonce(self.node, name)
        given = unsigned(chain_id=CHAINS[name], **changes)
        return f"0x{decode_transaction(sign_transaction(given, KEY), CHAINS[name]).raw.hex()}"

    def send(self, name: str, node: RunningNode | None = None, **changes: Any) -> str:
        """Send a transaction on a chain, by default to the node that makes blocks; return its hash."""
        raw = self.signed(name, **changes)
        sent: str = rpc(node or self.node, name, "eth_sendRawTransaction", raw)
        return sent

    def receipt(self, name: str, sent: str, node: RunningNode | None = None) -> Any:
        """Return a receipt, once there is one."""
        asked = node or self.node
        return wait_for(lambda: rpc(asked, name, "eth_getTransactionReceipt", sent))


def platform_owner() -> tuple[Any, ...]:
    from primitives.keys import address_of

    return (address_of(EWOQ_KEY),)


def rpc(node: RunningNode, name: str, method: str, *params: Any) -> Any:
    """Call a method of a chain by its alias or blockchain ID."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = Request(  # a node of the test
        f"http://127.0.0.1:{node.port}/ext/bc/{name}/rpc",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=SECONDS) as response:
        answer = json.load(response)
    assert "result" in answer, answer
    return answer["result"]


def pending_nonce(node: RunningNode, name: str) -> int:
    """Return the sender's next nonce on a chain as a node knows it."""
    return int(rpc(node, name, "eth_getTransactionCount", f"0x{SENDER.hex()}", "pending"), 16)


def wait_for(ask: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """Return the first true answer."""
    until = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with RunningNode(tmp_path_factory.mktemp("subnets") / "first") as node:
        node.start()
        made = Live(node)
        made.create()
        for name in CHAINS:
            wait_for(lambda name=name: served(node, name))
        yield made


def test_contracts_live_on_each_chain(live: Live) -> None:
    for name, chain_id in CHAINS.items():
        assert rpc(live.node, name, "eth_chainId") == hex(chain_id)
        receipt = live.receipt(name, live.send(name, to=None, data=INIT, value=0, gas=200_000))
        call = {"to": receipt["contractAddress"]}
        by_id = live.blockchains[name]
        assert int(rpc(live.node, by_id, "eth_call", call, "latest"), 16) == 42
    assert rpc(live.node, "C", "eth_blockNumber") == "0x0"


def served(node: RunningNode, name: str) -> bool:
    try:
        return bool(rpc(node, name, "eth_chainId"))
    except OSError:
        return False


def test_a_browser_shows_each_chain(live: Live) -> None:
    for name in CHAINS:
        wait_for(lambda name=name: served(live.node, name))
    live.receipt("dex", live.send("dex", to=None, data=INIT, value=0, gas=200_000))
    sent = live.send("dex", to=RECIPIENT, value=7)
    live.receipt("dex", sent)
    base = f"http://127.0.0.1:{live.node.port}"

    def explored(scenario: str, **given: Any) -> Any:
        found = node_script("run.mjs", "explorer", scenario, json.dumps({"base": base, **given}))
        assert found["faults"] == []
        return found

    pages = {"front": "/chain/dex", "tx": f"/chain/dex/tx/{sent}", "chains": "/chains"}
    seen = explored("look", pages=pages)["seen"]
    for screen in ("desk", "phone"):
        assert "dex block" in seen[f"front-{screen}"]
        assert "sent 0.000000000000000007 COIN" in seen[f"tx-{screen}"]
        assert live.blockchains["game"][:8] in seen[f"chains-{screen}"]

    raw = live.signed("dex", to=RECIPIENT, value=8)
    moved = explored("live", raw=raw, pages="/chain/dex", rpc="/ext/bc/dex")
    assert moved["after"] > moved["before"]

    entries = ["C-Chain 43112", "dex 9001", "game 9002", "All chains"]
    for choice in explored("switchChains", **{"from": "/chain/dex/blocks", "to": "game"})["seen"]:
        assert [" ".join(entry.split()) for entry in choice["entries"]] == entries
        assert (choice["left"], choice["path"], choice["chosen"]) == (0, "/chain/game", "game")


@pytest.fixture(scope="module")
def follower(live: Live, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node that tracks the first subnet only."""
    with RunningNode(
        tmp_path_factory.mktemp("subnets") / "second",
        env={
            "NODE_BOOTSTRAP": f"127.0.0.1:{live.node.staking_port}",
            "NODE_TRACK_SUBNETS": live.subnets["dex"],
        },
    ) as node:
        node.start()
        wait_for(lambda: served(node, "dex"))
        yield node


def states(node: RunningNode) -> list[tuple[Any, ...]]:
    """Return the name and the state of each chain of a subnet on a node, by name."""
    with node.database() as ask:
        return ask("SELECT name, state FROM cchain_app_subnetchain ORDER BY name")


def test_a_follower_has_the_chain_of_the_subnet_that_it_tracks(
    live: Live, follower: RunningNode
) -> None:
    sent = live.send("dex", to=RECIPIENT, value=7)
    number = live.receipt("dex", sent)["blockNumber"]

    def block(node: RunningNode) -> Any:
        return rpc(node, "dex", "eth_getBlockByNumber", number, False)

    assert wait_for(lambda: served(follower, "dex") and block(follower)) == block(live.node)
    assert not served(follower, "game")
    assert not (follower.directory / "data/chains" / f"{live.blockchains['game']}.sqlite3").exists()
    # The chain of the other subnet was created later, so its row may be written later.
    expected = [("dex", "running"), ("game", "untracked")]
    wait_for(lambda: states(follower) == expected)


def test_a_transaction_at_a_follower_gets_into_a_block(live: Live, follower: RunningNode) -> None:
    sent = live.send("dex", node=follower, to=RECIPIENT, value=9)
    wait_for(lambda: rpc(follower, "dex", "eth_getTransactionReceipt", sent))
    assert live.receipt("dex", sent)["status"] == "0x1"


def test_a_killed_follower_catches_up(live: Live, follower: RunningNode) -> None:
    follower.kill()
    hashes = [live.send("dex", to=RECIPIENT, value=1) for _ in range(3)]
    for sent in hashes:
        live.receipt("dex", sent)
    follower.start()
    head = rpc(live.node, "dex", "eth_blockNumber")
    wait_for(lambda: served(follower, "dex") and rpc(follower, "dex", "eth_blockNumber") == head)
    with PlatformClient(follower.port) as client:
        chain = live.blockchains["dex"]
        wait_for(lambda: client.call("info.isBootstrapped", chain=chain)["isBootstrapped"])
        wait_for(lambda: "error" not in client.call("health.health")["checks"][chain])


def test_the_chains_go_on_after_a_kill(live: Live) -> None:
    sent = live.send("dex", to=RECIPIENT, value=5)
    live.node.kill()
    live.node.start()
    assert rpc(live.node, "dex", "eth_chainId") == hex(CHAINS["dex"]), "served at once"
    assert live.receipt("dex", sent)["status"] == "0x1"
    assert live.receipt("dex", live.send("dex", to=RECIPIENT, value=5))["status"] == "0x1"


def test_a_restored_backup_has_the_chains(
    live: Live, tmp_path_factory: pytest.TempPathFactory
) -> None:
    saved = tmp_path_factory.mktemp("saved") / "node.backup"
    live.node.manage("backup", str(saved))
    expected = {
        name: rpc(live.node, name, "eth_getBlockByNumber", "latest", False) for name in CHAINS
    }
    live.node.stop()
    try:
        with RunningNode(tmp_path_factory.mktemp("subnets") / "restored") as node:
            assert "Verified" in node.manage("restore", "--verify-only", str(saved))
            assert "Restored" in node.manage("restore", str(saved))
            node.start()
            for name, block in expected.items():
                found = rpc(node, name, "eth_getBlockByNumber", block["number"], False)
                assert found == block
                nonce = pending_nonce(node, name)
                sent = live.send(name, node=node, nonce=nonce, to=RECIPIENT, value=1)
                live.receipt(name, sent, node)
    finally:
        live.node.start()


def indexed_by_worker(live: Live, name: str) -> tuple[bool, int]:
    """Return whether the explorer's tasks have summarised a chain up to its head, and how many transfers of tokens they found.

    No page was requested, so a worker ran the tasks.
    """
    schema = alias_of(ID.parse(live.blockchains[name]))
    with live.node.database() as ask:
        ((head, last, transfers),) = ask(
            f'SELECT (SELECT max(number) FROM "{schema}".cchain_app_block), '
            f'(SELECT max(last_block) FROM "{schema}".explorer_app_dayfigures), '
            f'(SELECT count(*) FROM "{schema}".explorer_app_tokentransfer)'
        )
    return head == last, transfers


def test_the_production_profile_makes_blocks_of_subnets_chains(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Postgresql
) -> None:
    directory = tmp_path_factory.mktemp("subnets") / "production"
    with RunningNode(directory, postgresql=postgresql(), beside=ALONE) as node:
        node.start()
        made = Live(node)
        made.create()
        for name in CHAINS:
            wait_for(lambda name=name: served(node, name))
            sent = made.send(name, to=RECIPIENT, value=3)
            assert made.receipt(name, sent)["status"] == "0x1"
        token = made.receipt("dex", made.send("dex", to=None, data=MINT, value=0, gas=200_000))
        assert token["status"] == "0x1"
        for name, transfers in {"dex": 1, "game": 0}.items():
            expected = (True, transfers)
            wait_for(lambda name=name, want=expected: indexed_by_worker(made, name) == want)
        node.stop()
        node.start()
        sent = made.send("dex", to=RECIPIENT, value=3)
        assert made.receipt("dex", sent)["status"] == "0x1"
        assert "this process produces the blocks of dex" in node.log("producer")

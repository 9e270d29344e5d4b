"""The running nodes, funded accounts and compiled contracts of the end-to-end tests.

Nodes are started when the first test asks for them and shared by all of the session; what a test
sends comes from an account of its own, so that tests do not meet in nonces.
"""

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from primitives.devkeys import DEV_KEYS
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.node import RunningNode
from tests.servers.postgresql import PostgresqlServer

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
CHAIN_ID = 43112
RICH_KEY = next(iter(DEV_KEYS.values()))

Javascript = Callable[..., Any]
"""Runs a scenario: library, name, the node, and the account whose key it gets."""


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A PostgreSQL server for the nodes of the production profile."""
    server = PostgresqlServer()
    yield server
    server.stop()


class Nodes:
    """The session's nodes by kind; each is started once."""

    def __init__(self, directory: Path, request: pytest.FixtureRequest) -> None:
        self._directory = directory
        self._request = request
        self._running: dict[str, RunningNode] = {}

    def get(self, kind: str) -> RunningNode:
        """Return the node of a kind: embedded, daphne or production (of two web processes)."""
        if kind not in self._running:
            self._running[kind] = self._make(kind).start()
        return self._running[kind]

    def close(self) -> None:
        """End all nodes."""
        for node in self._running.values():
            node.close()

    def _make(self, kind: str) -> RunningNode:
        directory = self._directory / kind
        if kind == "production":
            server = self._request.getfixturevalue("postgresql")
            return RunningNode(directory, postgresql=server, env={"NODE_WEB_WORKERS": "2"})
        return RunningNode(directory, env={"NODE_SERVER": kind} if kind == "daphne" else {})


@pytest.fixture(scope="session")
def nodes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Nodes]:
    """All nodes that tests share."""
    running = Nodes(tmp_path_factory.mktemp("nodes"), request)
    yield running
    running.close()


@pytest.fixture
def node(nodes: Nodes, request: pytest.FixtureRequest) -> RunningNode:
    """The node of the kind that the test is parametrized with, else the embedded one."""
    return nodes.get(getattr(request, "param", "embedded"))


@pytest.fixture
def fresh(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningNode]:
    """A running node that no other test sees; its parameter is the profile, else embedded."""
    production = getattr(request, "param", "embedded") == "production"
    server = request.getfixturevalue("postgresql") if production else None
    with RunningNode(tmp_path / "node", postgresql=server) as node:
        yield node.start()


_SEEDS = itertools.count(1)


@pytest.fixture
def account(node: RunningNode) -> LocalAccount:
    """A new account with 100 coins on the test's node."""
    made: LocalAccount = Account.from_key(next(_SEEDS).to_bytes(32, "big"))
    rich = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
    with node.client() as client:
        rich.nonce = int(client.call("eth_getTransactionCount", rich.address, "pending"), 16)
        sent = client.call("eth_sendRawTransaction", rich.transfer(made.address, 100 * 10**18))
        wait_for_receipts(client, [sent])
    return made


@pytest.fixture(scope="session")
def contracts() -> dict[str, Any]:
    """ABI and code of the contracts in tests/clients/contracts, by name."""
    return node_script("compile.mjs")


@pytest.fixture
def javascript(
    node: RunningNode, account: LocalAccount, contracts: dict[str, Any]
) -> Callable[[str, str], Any]:
    """Runs a scenario of a client's module with the test's node and account; returns its findings."""

    def run(library: str, scenario: str) -> Any:
        given = {
            "url": node.url,
            "wsUrl": node.ws_url,
            "key": account.key.to_0x_hex(),
            "chainId": CHAIN_ID,
            "artifact": contracts["Ledger"],
        }
        return node_script("run.mjs", library, scenario, json.dumps(given))

    return run


def node_script(script: str, *arguments: str) -> Any:
    """Run one of the clients' scripts and return the JSON that it prints."""
    done = subprocess.run(
        ["node", script, *arguments],
        cwd=CLIENTS,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode:
        pytest.fail(f"{script} {arguments[:2]}:\n{done.stderr}", pytrace=False)
    return json.loads(done.stdout)

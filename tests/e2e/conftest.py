"""The running nodes, funded accounts and compiled contracts of the end-to-end tests.

Nodes are started when a test first requests them and are shared by the whole session. Each test sends its
transactions from its own account, so that tests do not compete for nonces. The answers to clients are checked
after each test, and each node's chain when the node is stopped.
"""

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from primitives.keys import DEV_KEYS
from tests.e2e.checked import CheckedNode
from tests.e2e.development import Anvil, DevelopmentNode
from tests.e2e.sharing import SHARED, WholeFiles, place_of
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers import machines
from tests.servers.postgresql import PostgresqlServer

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parent / "clients"
CHAIN_ID = 43112
RICH_KEY = next(iter(DEV_KEYS.values()))
SCREENSHOTS = os.environ.get("SCREENSHOTS")
"""Directory for screenshots of pages, if they are wanted."""
SCRIPT_SECONDS = 300
"""Time limit for a client's script: browsers and compilers start slowly on a busy machine."""

MakeNode = Callable[..., CheckedNode]
"""Creates a node for one test without starting it, from a profile and options of `RunningNode`."""


LONGEST = 600
"""Time limit for one test in seconds, including the starts of its nodes. Waits inside a test give up earlier,
with a better message."""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeFiles:
    """Return the scheduler that distributes the tests over the workers."""
    return WholeFiles(config, log)


def pytest_report_header() -> str:
    """Return the line of the output that names the network of the tests with several machines."""
    return machines.description()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder, which start nodes, a longer timeout, and run the long ones first."""
    here = [item for item in items if item.path.parent == HERE]
    for item in here:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONGEST))
    unlisted = {item.path.stem for item in here if uses_nodes(item)} - {*SHARED}
    if unlisted:
        raise pytest.UsageError(
            f"{unlisted} use the shared nodes, and are not in tests/e2e/sharing.py"
        )
    if len(here) == len(items):
        items.sort(key=lambda item: place_of(item.nodeid))


def uses_nodes(item: pytest.Item) -> bool:
    """Return whether a test uses the nodes that are shared by all files."""
    return isinstance(item, pytest.Function) and "nodes" in item.fixturenames


ALONE = ("producer", "worker", "beat")
"""Processes beside the web server of a node without peers. It has no network process, which would be started
and killed for nothing."""
Postgresql = Callable[[], PostgresqlServer]
"""Returns the PostgreSQL server for nodes in the production profile; it is started on the first call."""


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgresql]:
    """The PostgreSQL server, which runs longer than all nodes."""
    with ExitStack() as end:

        @cache
        def server() -> PostgresqlServer:
            started = PostgresqlServer()
            end.callback(started.stop)
            return started

        yield server


class Nodes:
    """The shared nodes by kind; each is started once."""

    KINDS = frozenset({"embedded", "daphne", "production"})

    def __init__(self, directory: Path, postgresql: Postgresql) -> None:
        self._directory = directory
        self._postgresql = postgresql
        self._numbers = itertools.count()
        self._running: dict[str, CheckedNode] = {}

    def get(self, kind: str) -> CheckedNode:
        """Return the node of a kind; the production node has two web processes."""
        if kind not in self._running:
            self._running[kind] = self._make(kind)
            self._running[kind].start()
        return self._running[kind]

    def end(self, kinds: Collection[str]) -> None:
        """Check and stop the nodes of some kinds; a later `get` starts a new node."""
        ended = [self._running.pop(kind) for kind in kinds if kind in self._running]
        with ExitStack() as nodes:
            for node in ended:
                nodes.enter_context(node)
            for node in ended:
                node.check()

    def _make(self, kind: str) -> CheckedNode:
        directory = self._directory / f"{kind}{next(self._numbers)}"
        everywhere = {"NODE_HTTP_HOST": "*"}
        if kind == "production":
            env = {"NODE_WEB_WORKERS": "2"} | everywhere
            return CheckedNode(directory, postgresql=self._postgresql(), env=env)
        env = {"NODE_SOLC_DIRECTORY": str(CLIENTS)} | everywhere
        return CheckedNode(directory, env=env | ({"NODE_SERVER": kind} if kind == "daphne" else {}))


@pytest.fixture(scope="session")
def _nodes(tmp_path_factory: pytest.TempPathFactory, postgresql: Postgresql) -> Iterator[Nodes]:
    running = Nodes(tmp_path_factory.mktemp("nodes"), postgresql)
    yield running
    running.end(Nodes.KINDS)


@pytest.fixture(scope="module", autouse=True)
def _no_longer_than_needed(request: pytest.FixtureRequest, _nodes: Nodes) -> None:
    """Stop nodes that the file does not use, because even idle processes take a tenth of a processor."""
    users = [
        item for item in request.session.items if item.path == request.path and uses_nodes(item)
    ]
    _nodes.end(Nodes.KINDS - {kind_of(user) for user in users})


@pytest.fixture(scope="session")
def nodes(_nodes: Nodes) -> Nodes:
    """All nodes that the tests share."""
    return _nodes


@pytest.fixture
def node(nodes: Nodes, request: pytest.FixtureRequest) -> Iterator[CheckedNode]:
    """The node of the kind that the test is parametrized with, else the embedded one."""
    found = nodes.get(kind_of(request.node))
    yield found
    found.transcript.check()


def kind_of(item: pytest.Item) -> str:
    """Return the kind of node that a test uses."""
    call = getattr(item, "callspec", None)
    return "embedded" if call is None else str(call.params.get("node", "embedded"))


@pytest.fixture
def make_node(tmp_path: Path, postgresql: Postgresql) -> Iterator[MakeNode]:
    """Creates nodes that no other test uses."""
    with ExitStack() as nodes:
        made: list[CheckedNode] = []

        def make(profile: str = "embedded", **options: Any) -> CheckedNode:
            if profile == "production":
                options |= {"postgresql": postgresql(), "beside": ALONE}
            node = CheckedNode(tmp_path / f"node{len(made)}", **options)
            made.append(nodes.enter_context(node))
            return node

        yield make
        for node in made:
            node.check()


@pytest.fixture
def fresh(make_node: MakeNode, request: pytest.FixtureRequest) -> CheckedNode:
    """A running node that no other test uses; its parameter is the profile, embedded by default."""
    node = make_node(getattr(request, "param", "embedded"))
    node.start()
    return node


@pytest.fixture(scope="module")
def anvil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Anvil]:
    """Foundry's Anvil, started when a module's first test requests it."""
    with Anvil(tmp_path_factory.mktemp("anvil")) as running:
        yield running


@pytest.fixture(scope="module")
def devnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevelopmentNode]:
    """This node as a developer starts it. Each module has its own, because its tests move time and revert."""
    with DevelopmentNode(tmp_path_factory.mktemp("devnet")) as running:
        yield running.start()


_SEEDS = itertools.count(1)


@pytest.fixture
def account(node: CheckedNode) -> LocalAccount:
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
    node: CheckedNode, account: LocalAccount, contracts: dict[str, Any]
) -> Callable[[str, str], Any]:
    """Runs a scenario of a client's module with the test's node and account, and returns its results."""

    def run(library: str, scenario: str) -> Any:
        given = {
            "url": node.url,
            "wsUrl": node.ws_url,
            "key": account.key.to_0x_hex(),
            "chainId": CHAIN_ID,
            "artifact": contracts["Ledger"],
        }
        before = node.transcript.count
        found = node_script("run.mjs", library, scenario, json.dumps(given))
        assert node.transcript.count > before, "nobody overheard the client"
        return found

    return run


def node_script(script: str, *arguments: str) -> Any:
    """Run one of the clients' scripts and return the JSON that it prints."""
    done = subprocess.run(
        ["node", script, *arguments],
        cwd=CLIENTS,
        capture_output=True,
        text=True,
        check=False,
        timeout=SCRIPT_SECONDS,
    )
    if done.returncode:
        pytest.fail(f"{script} {arguments[:2]}:\n{done.stderr}", pytrace=False)
    return json.loads(done.stdout)

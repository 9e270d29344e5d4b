"""Traces the five walks on real nodes and prints the counts in the format of docs/architecture.md."""

import http.client
import http.cookiejar
import json
import os
import re
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from eth_account import Account
from websockets.sync.client import connect

from primitives.keys import DEV_KEYS, EWOQ_KEY
from tests.e2e.network import LocalNetwork, NetworkNode, NotReached, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import UNIT, Wallet, new_keys, raw
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.node import RunningNode
from tests.walks.ways import (
    FAILING_CHECK,
    GET_LOGS,
    ISSUE_TX,
    PEERS_BLOCK,
    RAW_TRANSACTION,
    Counted,
    Walk,
    count,
)

TRACED = (sys.executable, "-m", "tests.walks.traced", "runnode")
CHAIN_ID = 43112
IN_MEMORY = 300
"""Number of blocks, so many that a search for logs in all of them reads the rows."""
IN_THE_ADMIN = len(ISSUE_TX.steps) - 2
"""Number of steps of that walk before the admin page is opened."""
LOGGING_CODE = "0x600160006000a100"
"""Init code that emits one log, with the topic 1, and creates an empty contract."""


class Trail:
    """The log of a traced node."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "walks.log"
        self.path.touch()
        self._read = 0

    @contextmanager
    def walk(self, walk: Walk, found: dict[Walk, Counted]) -> Iterator[Callable[[int], None]]:
        """Count the files of a walk made in this context; yield a function that waits for its steps."""
        begin = self.path.stat().st_size
        names = [f"{step.file}:{step.function}" for step in walk.steps]

        def reached() -> list[tuple[str, list[str]]]:
            with self.path.open() as log:
                log.seek(begin)
                lines = [json.loads(line) for line in log if line.endswith("\n")]
            return [(line["step"], line["stack"]) for line in lines if line["step"] in names]

        def missing(steps: int) -> set[str]:
            return set(names[:steps]) - {step for step, _ in reached()}

        def wait(steps: int = len(names)) -> None:
            try:
                wait_for(lambda: not missing(steps), walk.name)
            except NotReached as error:
                raise NotReached(f"{walk.name}: {missing(steps)}") from error

        yield wait
        wait()
        found[walk] = count(stack for _, stack in reached())


def traced(node: RunningNode) -> Trail:
    """Make a node log its steps from its next start on."""
    trail = Trail(node.directory)
    node._command = list(TRACED)
    node.set(WALKS_LOG=str(trail.path))
    return trail


class OnePieceConnection(http.client.HTTPConnection):
    """A connection that sends a request in one piece, as most clients do.

    `HTTPConnection` sends the head before the body, and the fast path answers only requests that arrive complete.
    """

    _pieces: list[bytes] | None = None

    def send(self, data: Any) -> None:
        """Send bytes, or keep those of a request until it is complete."""
        if self._pieces is None:
            super().send(data)
        else:
            self._pieces.append(bytes(data))

    def request(self, *arguments: Any, **options: Any) -> None:
        """Send a request."""
        self._pieces = []
        try:
            super().request(*arguments, **options)
            request = b"".join(self._pieces)
        finally:
            self._pieces = None
        self.send(request)


def alone(directory: Path, found: dict[Walk, Counted]) -> None:
    """Make the walks of a single node: a transaction on each chain, and a search for logs."""
    with RunningNode(directory) as node:
        node.manage("init_node")
        node.manage("produce_block", "--empty", "--count", str(IN_MEMORY))
        trail = traced(node)
        node.start()
        sender = Sender(Account.from_key(next(iter(DEV_KEYS.values()))), CHAIN_ID)
        with node.client() as client, connect(node.ws_url) as socket:
            client._connection = OnePieceConnection("127.0.0.1", node.port, timeout=60)
            logging = sender.sign({"data": LOGGING_CODE, "gas": 90_000})
            wait_for_receipts(client, [client.call("eth_sendRawTransaction", logging)])
            socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
            socket.recv()
            with trail.walk(RAW_TRANSACTION, found):
                client.call("eth_sendRawTransaction", sender.transfer(sender.address))
                socket.recv()
            with trail.walk(GET_LOGS, found):
                logs = client.call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})
                assert len(logs) == 1, logs
        wallet = Wallet(EWOQ_KEY)
        with PlatformClient(node.port) as client:
            client._connection = OnePieceConnection("127.0.0.1", node.port, timeout=60)
            wallet.look(client)
            admin = Admin(node)
            with trail.walk(ISSUE_TX, found) as done:
                tx_id = client.issue(raw(wallet.pay([(new_keys(1)[0], UNIT)])))
                done(IN_THE_ADMIN)
                assert tx_id in admin.page_of("/admin/platform_app/tx/", tx_id)


class Admin:
    """A browser session that is logged in to a node's admin."""

    def __init__(self, node: RunningNode) -> None:
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)
        self._base = f"http://127.0.0.1:{node.port}"
        login = self._page("/admin/login/")
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', login))
        password = (node.directory / "data" / "admin_password").read_text().strip()
        form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
        self._page("/admin/login/", {**form, "next": "/admin/"})

    def page_of(self, path: str, term: str) -> str:
        """Search for a term, open the only matching row, and return its page."""
        listed = self._page(f"{path}?q={term}")
        (row,) = set(re.findall(rf'href="({path}[^"?]+/change/)', listed))
        return self._page(row)

    def _page(self, path: str, form: dict[str, str] | None = None) -> str:
        data = urllib.parse.urlencode(form).encode() if form else None
        request = urllib.request.Request(self._base + path, data, {"Referer": self._base})
        with self._opener.open(request, timeout=60) as answer:
            return str(answer.read().decode())


def follower(directory: Path, found: dict[Walk, Counted]) -> None:
    """Make the walks of a follower: a block of its producer, and the loss of the producer."""
    with LocalNetwork(directory, 1) as network:
        network.start()
        (first,) = network.nodes
        joiner = network.joiner()
        trail = traced(joiner)
        network.start([joiner])
        wait_for(lambda: joiner.get("/ext/health")[0] == 200, "the node follows the other one")
        sender = Sender(Account.from_key(next(iter(DEV_KEYS.values()))), CHAIN_ID)
        with trail.walk(PEERS_BLOCK, found), first.client() as client:
            client.call("eth_sendRawTransaction", sender.transfer(sender.address))
        with trail.walk(FAILING_CHECK, found) as done:
            first.kill()
            done(4)
            assert status(joiner) == http.HTTPStatus.SERVICE_UNAVAILABLE


def status(node: NetworkNode) -> int:
    """Request the health page once and return the HTTP status."""
    with closing(http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)) as connection:
        connection.request("GET", "/ext/health")
        return connection.getresponse().status


def told(walk: Walk, counted: Counted) -> Sequence[str]:
    """Return a walk's counts and files in Markdown."""
    seen: set[str] = set()
    shown = []
    for file in counted.entries:
        shown.append(f"`{file}` again" if file in seen else f"`{file}`")
        seen.add(file)
    heading = f"{len(counted.files)} files, {len(counted.returns)} returns"
    return [f"**{walk.name}**: {heading}", "", " → ".join(shown), ""]


def main() -> None:
    """Make the walks and print them."""
    found: dict[Walk, Counted] = {}
    with ExitStack() as end:
        directory = Path(end.enter_context(tempfile.TemporaryDirectory(prefix="walks-")))
        alone(directory / "alone", found)
        follower(directory / "network", found)
    for walk, counted in found.items():
        sys.stdout.write("\n".join(told(walk, counted)) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "nodeproject.settings.test")
    main()

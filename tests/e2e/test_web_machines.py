"""Two web machines, one producer, PostgreSQL and Redis form one node, and any of their processes may be killed."""

import json
import socket
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests
from eth_account import Account
from websockets.sync.client import connect

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY
from tests.e2e.network import wait_for
from tests.e2e.test_proxies import HOST, OPERATORS, nginx
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.certificates import make_certificate
from tests.servers.client import RpcFault, RpcUnreachable
from tests.servers.machines import Machines
from tests.servers.ports import free_port
from tests.servers.postgresql import PostgresqlServer
from tests.servers.process import ServerProcess
from tests.servers.web_machines import WebMachine

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "deploy/systemd/web.env.example"
UPSTREAM = ROOT / "deploy/proxies/nginx-web-machines.conf"
STRANGER = "0x000000000000000000000000000000000000dEaD"
SECONDS = 120.0
FIRST_KEY = 9000
"""Private key of the first sender; each test has senders of its own."""


class WebCluster(NamedTuple):
    """The node: its processes on this machine, and its two web machines."""

    node: CheckedNode
    web: list[WebMachine]
    postgresql: PostgresqlServer

    def sender(self, key: int) -> Sender:
        """Return a new sender with 100 coins."""
        made = Sender(Account.from_key((FIRST_KEY + key).to_bytes(32, "big")), CHAIN_ID)
        rich = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
        with self.web[0].client() as client:
            rich.nonce = int(client.call("eth_getTransactionCount", rich.address, "pending"), 16)
            sent = client.call("eth_sendRawTransaction", rich.transfer(made.address, 10**20))
            wait_for_receipts(client, [sent])
        with self.web[1].client() as client:
            wait_for_receipts(client, [sent])
        return made


def example_settings() -> dict[str, str]:
    """Return the settings of the example for web machines that do not depend on the network."""
    lines = [line for line in EXAMPLE.read_text().splitlines() if not line.startswith("#")]
    settings = dict(line.split("=", 1) for line in lines)
    for name in ("NODE_DATA_DIR", "NODE_DATABASE_URL", "NODE_REDIS_URL", "NODE_HTTP_HOST"):
        del settings[name]  # the test's own
    # One process for each machine is enough here, and clients come without TLS.
    return settings | {"NODE_WEB_WORKERS": "1", "NODE_ADMIN_HTTPS": "false"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebCluster]:
    directory = tmp_path_factory.mktemp("machines")
    with ExitStack() as ending:
        machines = ending.enter_context(Machines(directory))
        gateways = machines.gateways
        postgresql = PostgresqlServer(addresses=gateways)
        ending.callback(postgresql.stop)
        node = CheckedNode(
            directory / "node",
            postgresql=postgresql,
            beside=("producer", "worker", "beat"),
            serves=False,
            redis_options=("--bind", "127.0.0.1", *gateways, "--protected-mode", "no"),
        )
        ending.enter_context(node)
        node.start()
        web = [
            WebMachine(
                node,
                machine,
                directory / f"web{place}",
                **example_settings() | {"NODE_TRUSTED_PROXIES": machine.gateway},
            )
            for place, machine in enumerate(machines.all)
        ]
        for item in web:
            ending.callback(item.kill)
            item.start(wait=False)
        for item in web:
            item.wait_until_answering()
        yield WebCluster(node, web, postgresql)
        node.check_chain()


class Acknowledgements(threading.Thread):
    """A client of one machine that sends one transaction after the other, each until it is acknowledged."""

    def __init__(self, machine: WebMachine, sender: Sender) -> None:
        super().__init__()
        self._machine = machine
        self._sender = sender
        self._ending = threading.Event()
        self.hashes: list[str] = []
        self.unexpected: list[Exception] = []

    def more(self, count: int) -> None:
        """Wait until `count` more transactions are acknowledged."""
        before = len(self.hashes)
        wait_for(
            lambda: len(self.hashes) >= before + count or not self.is_alive(),
            "the machine takes transactions",
            SECONDS,
        )
        assert self.unexpected == []

    def stop(self) -> None:
        self._ending.set()
        self.join()

    def run(self) -> None:
        try:
            with self._machine.client() as client:
                while not self._ending.wait(0.1):
                    raw = self._sender.transfer(STRANGER)
                    while not self._is_sent(client, raw) and not self._ending.wait(0.1):
                        pass
        except Exception as error:
            self.unexpected.append(error)

    def _is_sent(self, client: Any, raw: str) -> bool:
        """Send a transaction; return whether it need not be sent again."""
        try:
            self.hashes.append(client.call("eth_sendRawTransaction", raw))
        except RpcUnreachable:
            return False  # the machine was killed
        except RpcFault as fault:
            # It was stored, but its acknowledgement was lost with a killed process.
            return fault.message.startswith(("already known", "nonce too low"))
        return True


class Watcher(threading.Thread):
    """A client that stays on one connection and compares the heads that it is shown."""

    def __init__(self, machine: WebMachine, account: str) -> None:
        super().__init__()
        self._machine = machine
        self._account = account
        self._ending = threading.Event()
        self.steps_back: list[tuple[str, int, int]] = []
        self.heads: set[int] = set()
        self.unexpected: list[Exception] = []

    def stop(self) -> None:
        self._ending.set()
        self.join()

    def run(self) -> None:
        questions: dict[str, tuple[tuple[Any, ...], Callable[[Any], int]]] = {
            "number": (("eth_blockNumber",), lambda answer: int(answer, 16)),
            "block": (
                ("eth_getBlockByNumber", "latest", False),
                lambda answer: int(answer["number"], 16),
            ),
            "nonce": (
                ("eth_getTransactionCount", self._account, "latest"),
                lambda answer: int(answer, 16),
            ),
        }
        last = {"head": 0, "nonce": 0}
        try:
            with self._machine.client() as client:
                while not self._ending.is_set():
                    for name, (call, value_of) in questions.items():
                        kind = "nonce" if name == "nonce" else "head"
                        value = value_of(client.call(*call))
                        if value < last[kind]:
                            self.steps_back.append((name, last[kind], value))
                        last[kind] = value
                        if kind == "head":
                            self.heads.add(value)
        except Exception as error:
            self.unexpected.append(error)


def test_both_machines_are_one_node(cluster: WebCluster) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "info.getNodeID", "params": {}}
    ids = [
        requests.post(f"http://{web.address}/ext/info", json=call, timeout=SECONDS).json()["result"]
        for web in cluster.web
    ]
    assert ids[0] == ids[1]
    pages = [requests.get(f"http://{web.address}/blocks", timeout=SECONDS) for web in cluster.web]
    assert [page.status_code for page in pages] == [200, 200]
    files = {text.partition('"')[0] for page in pages for text in page.text.split('"/static/')[1:]}
    assert files
    for file in files:
        first, second = (
            requests.get(f"http://{web.address}/static/{file}", timeout=SECONDS)
            for web in cluster.web
        )
        assert (first.status_code, first.content) == (200, second.content), file


def test_a_session_of_the_admin_is_valid_on_both_machines(cluster: WebCluster) -> None:
    first, second = (f"http://{web.address}" for web in cluster.web)
    with requests.Session() as session:
        page = session.get(f"{first}/admin/login/", timeout=SECONDS).text
        token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        password = Path(cluster.node.settings["NODE_DATA_DIR"], "admin_password").read_text()
        form = {
            "csrfmiddlewaretoken": token,
            "username": "admin",
            "password": password.strip(),
            "next": "/admin/",
        }
        inside = session.post(f"{first}/admin/login/", data=form, timeout=SECONDS)
        assert inside.url == f"{first}/admin/"
        cookies = session.cookies.get_dict()
    elsewhere = requests.get(
        f"{second}/admin/", cookies=cookies, timeout=SECONDS, allow_redirects=False
    )
    assert elsewhere.status_code == 200


def test_a_filter_may_be_polled_on_either_machine(cluster: WebCluster) -> None:
    sender = cluster.sender(0)
    with cluster.web[0].client() as first, cluster.web[1].client() as second:
        clients = [first, second]
        made = first.call("eth_newBlockFilter")
        heard: list[str] = []
        blocks: list[str] = []
        for number in range(12):
            client = clients[number % 2]
            sent = client.call("eth_sendRawTransaction", sender.transfer(STRANGER))
            blocks += {item["blockHash"] for item in wait_for_receipts(client, [sent])}
            heard += clients[number // 2 % 2].call("eth_getFilterChanges", made)
        wait_for(
            lambda: heard.extend(second.call("eth_getFilterChanges", made)) or blocks[-1] in heard,
            "the last block is reported",
            SECONDS,
        )
        assert [item for item in heard if item in blocks] == blocks
        assert len(set(heard)) == len(heard)


def test_a_sender_may_alternate_between_the_machines(cluster: WebCluster) -> None:
    sender = cluster.sender(1)
    with cluster.web[0].client() as first, cluster.web[1].client() as second:
        hashes = [
            (first, second)[number % 2].call("eth_sendRawTransaction", sender.transfer(STRANGER))
            for number in range(30)
        ]
        for client in (first, second):
            receipts = wait_for_receipts(client, hashes, SECONDS)
            assert {receipt["status"] for receipt in receipts} == {"0x1"}
        raw = sender.transfer(STRANGER)
        sent = first.call("eth_sendRawTransaction", raw)
        with pytest.raises(RpcFault, match=r"already known|nonce too low"):
            second.call("eth_sendRawTransaction", raw)
        wait_for_receipts(second, [sent])


def test_heads_never_go_back_for_a_client_that_stays(cluster: WebCluster) -> None:
    senders = [cluster.sender(2 + place) for place in range(2)]
    watchers = [Watcher(web, senders[1 - place].address) for place, web in enumerate(cluster.web)]
    loads = [
        Acknowledgements(web, sender) for web, sender in zip(cluster.web, senders, strict=True)
    ]
    with ExitStack() as ending:
        sockets = [
            ending.enter_context(connect(web.ws_url, compression=None, open_timeout=SECONDS))
            for web in cluster.web
        ]
        for subscriber in sockets:
            subscriber.send(
                '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
            )
            assert "result" in json.loads(subscriber.recv(SECONDS))
        for thread in (*watchers, *loads):
            thread.start()
        try:
            for load in loads:
                load.more(20)
        finally:
            for thread in (*loads, *watchers):
                thread.stop()
        with cluster.web[0].client() as client:
            hashes = [item for load in loads for item in load.hashes]
            last = max(int(item["blockNumber"], 16) for item in wait_for_receipts(client, hashes))
        for subscriber in sockets:
            numbers = list(_until(subscriber, last))
            assert numbers == list(range(numbers[0], last + 1))
    for watcher in watchers:
        assert (watcher.unexpected, watcher.steps_back) == ([], [])
        assert len(watcher.heads) > 5


def _until(subscriber: Any, last: int) -> Iterator[int]:
    """Yield the numbers of the announced heads up to one."""
    number = 0
    while number < last:
        header = json.loads(subscriber.recv(SECONDS))["params"]["result"]
        number = int(header["number"], 16)
        yield number


def test_a_proxy_keeps_each_client_on_one_machine_that_answers(
    cluster: WebCluster, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path, HOST)
    port, log = free_port(), tmp_path / "clients.log"
    main = nginx(tmp_path, port, 9650, certificate, OPERATORS)
    path = tmp_path / "node.conf"
    before, _, rest = path.read_text().partition("upstream node {")
    upstream = UPSTREAM.read_text()
    for place, web in enumerate(cluster.web):
        example = f"10.0.0.1{place + 1}:9650"
        assert example in upstream
        upstream = upstream.replace(example, web.address)
    logged = (
        f'log_format clients "$remote_addr $upstream_addr $status";\naccess_log {log} clients;\n'
    )
    path.write_text(before + upstream + logged + rest.partition("}")[2])
    (tmp_path / "proxy.conf").write_text(main.replace("    access_log off;\n", ""))
    proxy = ServerProcess(
        ["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "proxy.conf"), "-g", "daemon off;"],
        tmp_path / "proxy.log",
    )
    clients = [f"127.0.0.{number}" for number in range(11, 27)]
    context = ssl.create_default_context(cafile=str(certificate.certificate))
    try:
        proxy.wait_until(lambda: _head(port, clients[0], context) is not None)
        for _ in range(2):
            assert all(_head(port, client, context) for client in clients)
        served = _served(log)
        assert {len(machines) for machines in served.values()} == {1}
        assert {name for names in served.values() for name in names} == {
            web.address for web in cluster.web
        }
        cluster.web[0].kill()
        try:
            assert all(_head(port, client, context) for client in clients)
        finally:
            cluster.web[0].start()
    finally:
        proxy.stop()


def _head(port: int, client: str, context: ssl.SSLContext) -> str | None:
    """Return the head that a client at an address is shown through the proxy; None if it gets no answer."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
    headers = {"Host": HOST, "Content-Type": "application/json"}
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port), SECONDS, source_address=(client, 0)) as plain,
    ):
        connection = HTTPConnection(HOST)
        connection.sock = context.wrap_socket(plain, server_hostname=HOST)
        with closing(connection):
            connection.request("POST", "/ext/bc/C/rpc", call, headers)
            answer = connection.getresponse()
            if answer.status == 200:
                return str(json.load(answer)["result"])
    return None


def _served(log: Path) -> dict[str, set[str]]:
    """Return the machines that have answered each client."""
    served = defaultdict[str, set[str]](set)
    for line in log.read_text().splitlines():
        client, machine, _ = line.rsplit(" ", 2)
        served[client].add(machine)
    return served


def test_nothing_acknowledged_is_lost_when_any_process_is_killed(cluster: WebCluster) -> None:
    node, web, postgresql = cluster
    senders = [cluster.sender(4 + place) for place in range(2)]
    loads = [
        Acknowledgements(machine, sender) for machine, sender in zip(web, senders, strict=True)
    ]
    for load in loads:
        load.start()
    try:
        for place, machine in enumerate(web):
            loads[place].more(3)
            machine.kill()
            loads[1 - place].more(3)
            machine.start()
            loads[place].more(3)
        for name in ("producer", "worker", "beat"):
            node.kill_process(name)
            _more(loads)
            node.restart_process(name)
            _more(loads)
        node.redis.kill_process()
        _more(loads)
        node.redis.bring_back()
        _more(loads)
        postgresql.kill_process()
        postgresql.bring_back()
        _more(loads)
    finally:
        for load in loads:
            load.stop()
    assert [load.unexpected for load in loads] == [[], []]
    acknowledged = [item for load in loads for item in load.hashes]
    assert len(set(acknowledged)) == len(acknowledged)
    for machine in web:
        with machine.client() as client:
            receipts = wait_for_receipts(client, acknowledged, SECONDS)
            assert {receipt["status"] for receipt in receipts} == {"0x1"}
            for sender, load in zip(senders, loads, strict=True):
                mined = int(client.call("eth_getTransactionCount", sender.address, "latest"), 16)
                assert len(load.hashes) <= mined <= sender.nonce


def _more(loads: Sequence[Acknowledgements]) -> None:
    for load in loads:
        load.more(3)

"""PostgreSQL and Redis are stopped, killed and frozen under load.

One node in the production profile goes through all outages. No acknowledged transaction may be lost, the node
must report each outage, and it must recover.
"""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any, NamedTuple

import pytest
from eth_account import Account

from tests.e2e import network
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY
from tests.e2e.test_health import ask, history, wait_for_health
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.client import RpcFault, RpcUnreachable
from tests.servers.node import BESIDE
from tests.servers.postgresql import PASSWORD, PostgresqlServer

STRANGER = "0x000000000000000000000000000000000000dEaD"
CALL_SECONDS = 6.0
"""Seconds within which a call must fail if it needs an unavailable server: three times the documented limit."""
RETURN_SECONDS = 15.0
"""Seconds within which the node must recover after the server is back: five times the documented limit."""
PATIENCE = 120.0
"""Time limit in seconds for all other waits, on a busy machine."""
LASTS = 3.0
"""Seconds that an outage continues after the node has reported it."""
LONG = 20.0
"""Length in seconds of an outage that is long enough for growing retry delays to have grown: kombu's own delay is
8 s after four attempts."""
ATTEMPTS = 12
"""Least number of connection attempts of Celery's worker to its broker within `LONG`, even on a busy machine."""
TAKES_OVER = "this process produces the C-Chain's blocks"
AGAIN = re.compile(
    r" (Redis|PostgreSQL) at \S+ answers again after [\d.]+ s; \d+ operations failed"
)
FAILED = re.compile(r" Redis at \S+ answers again after [\d.]+ s; (\d+) operations failed")
BEGINS = re.compile(r"chaindb\.servers +(Redis|PostgreSQL) at \S+ does not answer: ")


def wait_for(reached: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true."""
    network.wait_for(reached, what, PATIENCE)


class Load:
    """Accounts that send one transaction after the other, each until it is acknowledged."""

    def __init__(self, node: CheckedNode, count: int = 2) -> None:
        self._node = node
        self._senders = [
            Sender(Account.from_key((7000 + number).to_bytes(32, "big")), CHAIN_ID)
            for number in range(count)
        ]
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []
        self.acknowledged: list[str] = []
        self.faults: list[RpcFault] = []
        self.slowest = 0.0
        """Duration in seconds of the slowest call that failed."""

    def start(self) -> None:
        rich = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
        with self._node.client() as client:
            raws = [rich.transfer(sender.address, 10**21) for sender in self._senders]
            funded = client.batch([("eth_sendRawTransaction", raw) for raw in raws])
            wait_for_receipts(client, funded)
        self._threads = [threading.Thread(target=self._send, args=[item]) for item in self._senders]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """Check that each acknowledged transaction is in exactly one block."""
        with self._node.client() as client:
            for at in range(0, len(self.acknowledged), 500):
                part = self.acknowledged[at : at + 500]
                found = wait_for_receipts(client, part)
                assert [item["transactionHash"] for item in found] == part
            for sender in self._senders:
                mined = client.call("eth_getTransactionCount", sender.address, "latest")
                assert int(mined, 16) >= sender.nonce - 1  # the last one may not have been accepted
        assert len(set(self.acknowledged)) == len(self.acknowledged)

    def more(self, count: int) -> None:
        """Wait until `count` more transactions are acknowledged."""
        before = len(self.acknowledged)
        wait_for(lambda: len(self.acknowledged) >= before + count, "the node takes transactions")

    def _send(self, sender: Sender) -> None:
        with self._node.client() as client:
            while not self._ending.is_set():
                raw, sent = sender.transfer(STRANGER), False
                # Limit the rate, because every block is executed again by another engine at the end.
                self._ending.wait(0.15)
                while not sent and not self._ending.is_set():
                    began = time.monotonic()
                    try:
                        self.acknowledged.append(client.call("eth_sendRawTransaction", raw))
                        sent = True
                    except RpcFault as fault:
                        # A transaction that was stored just before the outage is known when it is sent again.
                        sent = fault.message.startswith(("already known", "nonce too low:"))
                        if not sent:
                            self.faults.append(fault)
                            self.slowest = max(self.slowest, time.monotonic() - began)
                            time.sleep(0.1)


@pytest.fixture(scope="module")
def postgresql_here() -> Iterator[PostgresqlServer]:
    """This module's own PostgreSQL server, because other tests cannot run while it is killed."""
    server = PostgresqlServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def broken(
    postgresql_here: PostgresqlServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CheckedNode]:
    """The node whose servers are interrupted."""
    directory = tmp_path_factory.mktemp("outages")
    env = {"NODE_HEALTH_INTERVAL": "1"}
    with CheckedNode(directory, postgresql=postgresql_here, env=env, prepared=False) as node:
        node.start()
        yield node
        node.check_chain()


@pytest.fixture(scope="module")
def load(broken: CheckedNode) -> Iterator[Load]:
    """The load on the node during all tests."""
    made = Load(broken)
    wait_for_health(broken)
    made.start()
    yield made
    made.stop()
    made.check()


class Logs:
    """The output of the node's processes since this object was created."""

    def __init__(self, node: CheckedNode) -> None:
        self._node = node
        self._begun = {name: len(node.log(name)) for name in ("web", *BESIDE)}

    def news(self) -> dict[str, str]:
        return {name: self._node.log(name)[begun:] for name, begun in self._begun.items()}


class Outage(NamedTuple):
    """A kind of outage: the server and how it fails."""

    server: str
    begin: str
    needs: tuple[str, ...]
    """A call to the C-Chain that needs the server."""
    checks: tuple[str, ...]
    """The health checks that must fail."""


ON_REDIS = (("eth_newBlockFilter",), ("C", "P", "X"))
ON_POSTGRESQL = (("eth_getBalance", "0x" + "ab" * 20, "0x1"), ("C", "P", "X", "network"))


@pytest.mark.parametrize(
    "outage",
    [
        Outage("Redis", "stop_process", *ON_REDIS),
        Outage("Redis", "freeze", *ON_REDIS),
        Outage("PostgreSQL", "kill_process", *ON_POSTGRESQL),
        Outage("PostgreSQL", "stop_process", *ON_POSTGRESQL),
        Outage("PostgreSQL", "freeze", *ON_POSTGRESQL),
    ],
    ids=lambda outage: f"{outage.server}-{outage.begin}",
)
def test_outage_under_load_is_reported_and_loses_nothing(
    broken: CheckedNode, load: Load, postgresql_here: PostgresqlServer, outage: Outage
) -> None:
    server: Any = broken.redis if outage.server == "Redis" else postgresql_here
    words = f"{outage.server} at 127.0.0.1:{server.port} does not answer: "
    load.more(10)
    load.faults.clear()
    load.slowest = 0.0
    for name in outage.checks:  # the history is written after health shows the result
        wait_for(lambda name=name: history(broken, name)[-1:] == [""], "it passes")
    logs, first = Logs(broken), len(load.acknowledged)
    known = {name: len(history(broken, name)) for name in outage.checks}

    with broken_for_a_while(server, outage.begin):
        seconds, fault = refused(broken, outage.needs, words)
        assert (fault.code, fault.message.startswith(words)) == (-32000, True), fault.message
        assert seconds < CALL_SECONDS
        wait_for(lambda: unhealthy(broken) == set(outage.checks), "health names the outage")
        page = ask(broken, "/ext/health").json["checks"]
        assert {page[name]["error"] for name in outage.checks} == {fault.message}
        ready = ask(broken, "/ext/health/readiness")
        assert (ready.status, ready.json["checks"]["bootstrapped"]["error"]) == (503, fault.message)
        assert ask(broken, "/ext/health/liveness").status == 200
        if outage.server == "Redis":
            before = height(broken)
            load.more(10)
            wait_for(lambda: height(broken) > before, "blocks are made without Redis")
            assert load.faults == []
        else:
            assert admin_page(broken) == (503, f"{fault.message}\n")
        time.sleep(LASTS)
        ended = broken.ended
    returned = time.monotonic()
    wait_for(lambda: answered(broken, outage.needs), "the call is answered again")
    before = height(broken)
    wait_for(lambda: height(broken) > before, "blocks are made again")
    assert time.monotonic() - returned < RETURN_SECONDS
    wait_for(lambda: not unhealthy(broken), "the node is healthy again")
    assert ask(broken, "/ext/health/readiness").status == 200

    assert ended + broken.ended == []
    assert [item.message for item in load.faults if not item.message.startswith(words)] == []
    assert load.slowest < CALL_SECONDS
    load.more(10)
    with broken.client() as client:
        asked = load.acknowledged[first:]
        receipts = wait_for_receipts(client, asked)
    assert [receipt["transactionHash"] for receipt in receipts] == asked
    for name in outage.checks:
        wait_for(lambda name=name: len(history(broken, name)) >= known[name] + 2, "it is written")
        assert history(broken, name)[known[name] :] == [fault.message, ""]
    check_logs(logs, outage)


def check_logs(logs: Logs, outage: Outage) -> None:
    """Check that each process has logged at most the start and the end of the outage, no traceback and no password."""
    wait_for(
        lambda: all(len(BEGINS.findall(new)) <= _ends(new) for new in logs.news().values()),
        "each process has seen the end",
    )
    for name, text in logs.news().items():
        lines = [line for line in text.splitlines() if "chaindb.servers" in line]
        assert [outage.server] * len(lines) == [
            found[1] for line in lines if (found := BEGINS.search(line) or AGAIN.search(line))
        ], name
        assert len(lines) in (0, 2), (name, lines)
        assert "Traceback" not in text, (name, text)
        assert PASSWORD not in text, name
    assert _ends(logs.news()["web"]) == 1


def _ends(text: str) -> int:
    return len(AGAIN.findall(text))


def test_celery_resumes_soon_after_a_long_broker_outage(broken: CheckedNode, load: Load) -> None:
    load.more(10)  # beat sends ticks continuously, and the worker has received some
    logs = Logs(broken)
    with broken_for_a_while(broken.redis, "kill_process"):
        load.more(10)
        time.sleep(LONG)
    returned = time.time()

    wait_for(lambda: task_ended(broken, "platform_app.tick") > returned, "a task has run")
    assert time.time() - returned < RETURN_SECONDS
    assert broken.ended == []
    attempts = [int(count) for count in FAILED.findall(logs.news()["worker"])]
    assert len(attempts) == 1
    assert attempts[0] >= ATTEMPTS


def task_ended(node: CheckedNode, task: str) -> float:
    """Return when a periodic task last ended, in Unix seconds, or 0 if it never ran."""
    name = f'svc_celery_task_last_ended_timestamp_seconds{{task="{task}"}}'
    lines = ask(node, "/ext/metrics").body.decode().splitlines()
    return max((float(line.split()[-1]) for line in lines if line.startswith(name)), default=0.0)


def test_beat_builds_blocks_while_the_producer_is_dead(broken: CheckedNode, load: Load) -> None:
    del load
    broken.kill_process("producer")
    before = height(broken)
    wait_for(lambda: height(broken) > before + 1, "Celery makes blocks")
    taken = broken.log("producer").count(TAKES_OVER)
    broken.restart_process("producer")
    wait_for(lambda: broken.log("producer").count(TAKES_OVER) > taken, "the next one takes over")


@contextlib.contextmanager
def broken_for_a_while(server: Any, begin: str) -> Iterator[None]:
    """Interrupt a server for the duration of the body."""
    getattr(server, begin)()
    try:
        yield
    finally:
        server.bring_back()


def refused(node: CheckedNode, call: tuple[str, ...], words: str) -> tuple[float, RpcFault]:
    """Return the first error of a call that names the server, and the duration of the slowest call until then."""
    longest, until = 0.0, time.monotonic() + 60
    while True:
        began = time.monotonic()
        try:
            node.rpc(*call)
        except RpcFault as fault:
            longest = max(longest, time.monotonic() - began)
            if fault.message.startswith(words) or time.monotonic() > until:
                return longest, fault
        assert time.monotonic() < until, "the call does not need the server"


def admin_page(node: CheckedNode) -> tuple[int, str]:
    """Return status and text of a Django page that queries the database."""
    connection = HTTPConnection("127.0.0.1", node.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/admin/", headers={"Cookie": "sessionid=" + "a" * 32})
        response = connection.getresponse()
        return response.status, response.read().decode()


def answered(node: CheckedNode, call: tuple[str, ...]) -> bool:
    try:
        node.rpc(*call)
    except (RpcFault, RpcUnreachable):
        return False
    return True


def height(node: CheckedNode) -> int:
    return int(node.rpc("eth_blockNumber"), 16)


def unhealthy(node: CheckedNode) -> set[str]:
    """Return the checks that fail."""
    checks = ask(node, "/ext/health").json["checks"]
    return {name for name, result in checks.items() if "error" in result}

"""Read replicas of PostgreSQL: which reads they answer, never behind the primary, and what happens if they lag or fail."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import requests

from cchain_app.txs.signing import sign_transaction
from tests.builders.transactions import KEY, SENDER, unsigned
from tests.e2e.transactions import wait_for_receipts
from tests.servers.node import RunningNode
from tests.servers.postgresql import PostgresqlServer
from tests.servers.postgresql_replica import PostgresqlReplica

SECONDS = 120
EMITS = bytes.fromhex("600880600b6000396000f3600060006000a100")
"""Creates a contract whose code emits a log with one topic, 0, and no data."""


class Replicated(NamedTuple):
    """A node in the production profile, its server, and the replica that it reads from."""

    node: RunningNode
    replica: PostgresqlReplica
    url: str
    """The URL of the node's database on the replica."""
    contract: str

    def send(self) -> int:
        """Emit a log and wait for its receipt; return the status of the transaction's page in the explorer."""
        receipt = send(self.node, to=bytes.fromhex(self.contract[2:]))
        return self.page(f"tx/{receipt['transactionHash']}")

    def page(self, path: str) -> int:
        """Return the status of a page of the explorer."""
        return requests.get(
            f"http://127.0.0.1:{self.node.port}/{path}", timeout=SECONDS
        ).status_code

    def state(self) -> Any:
        """Return the message of the health check about the replica, once the check has run."""
        (message,) = wait_for(lambda: self._check().get("message")).values()
        return message

    def is_healthy(self) -> bool:
        """Return whether the check passes, whatever the message says."""
        return "error" not in self._check()

    def _check(self) -> Any:
        report = requests.get(f"http://127.0.0.1:{self.node.port}/ext/health", timeout=SECONDS)
        return report.json()["checks"]["replicas"]


def send(node: RunningNode, **changes: Any) -> Any:
    nonce = int(node.rpc("eth_getTransactionCount", f"0x{SENDER.hex()}", "pending"), 16)
    given = unsigned(nonce=nonce, value=0, gas=200_000, **changes)
    sent = node.rpc("eth_sendRawTransaction", f"0x{sign_transaction(given, KEY).hex()}")
    with node.client() as client:
        (receipt,) = wait_for_receipts(client, [sent])
    assert receipt["status"] == "0x1"
    return receipt


def wait_for(ask: Callable[[], Any]) -> Any:
    until = time.monotonic() + SECONDS
    while not (answer := ask()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)
    return answer


@pytest.fixture(scope="module")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    primary = PostgresqlServer()
    directory = tmp_path_factory.mktemp("replicated")
    try:
        with RunningNode(
            directory, postgresql=primary, env={"NODE_HEALTH_INTERVAL": "0.5"}
        ) as node:
            replica = PostgresqlReplica(primary)
            try:
                url = replica.url(node.database_url.rpartition("/")[2])
                node.set(NODE_DATABASE_REPLICA_URLS=url)
                node.start()
                contract = send(node, to=None, data=EMITS)["contractAddress"]
                yield Replicated(node, replica, url, contract)
                node.stop()
            finally:
                replica.stop()
    finally:
        primary.stop()


def test_the_replica_answers_and_is_never_behind(replicated: Replicated) -> None:
    wait_for(lambda: replicated.state()["leftOut"] == "")
    before = replicated.state()["reads"]
    assert [replicated.send() for _ in range(10)] == [200] * 10
    assert wait_for(lambda: replicated.page("txs") == 200 and replicated.state()["reads"] > before)
    assert replicated.is_healthy()


def test_a_replica_that_lags_is_left_out_and_named(replicated: Replicated) -> None:
    replicated.replica.pause()
    try:
        assert replicated.send() == 200
        reason = wait_for(lambda: replicated.state()["leftOut"])
        assert reason.startswith("it is ")
        assert reason.endswith(" bytes of the log behind")
        assert replicated.is_healthy()
    finally:
        replicated.replica.resume()
    assert wait_for(lambda: replicated.state()["leftOut"] == "")


def test_a_killed_replica_is_left_out_until_it_is_back(replicated: Replicated) -> None:
    replicated.replica.kill_process()
    try:
        assert replicated.send() == 200
        reason = wait_for(lambda: replicated.state()["leftOut"])
        assert reason.startswith(
            f"PostgreSQL replica at 127.0.0.1:{replicated.replica.port} does not answer"
        )
        assert "node" not in reason
        assert replicated.is_healthy()
    finally:
        replicated.replica.bring_back()
    wait_for(replicated.replica.answers)
    wait_for(lambda: replicated.state()["leftOut"] == "")
    before = replicated.state()["reads"]
    assert wait_for(lambda: replicated.page("txs") == 200 and replicated.state()["reads"] > before)


def test_a_server_that_takes_writes_is_no_replica(replicated: Replicated) -> None:
    node = replicated.node
    node.stop()
    node.set(NODE_DATABASE_REPLICA_URLS=node.database_url)
    node.start()
    try:
        assert replicated.page("txs") == 200
        assert replicated.state()["leftOut"] == "it is not a replica: it takes writes"
    finally:
        node.stop()
        node.set(NODE_DATABASE_REPLICA_URLS=replicated.url)
        node.start()

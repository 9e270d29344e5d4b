"""Conflicting transactions are issued at the same moment: exactly one of each pair is committed."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import pytest

from platform_app.txs.base import Tx
from tests.e2e.checked import CheckedNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_rows import check_platform_rows
from tests.e2e.platform_sdk import DAY, STAKE, new_node_id, soon
from tests.e2e.platform_wallet import FEE, UNIT, Wallet, address, fund, new_keys, raw, worth
from tests.servers.client import RpcFault

PAIRS = 24
CONNECTIONS = 4
"""Connections of each side; together they reach both of two web processes, except in one case of a hundred."""
PATIENCE = 120.0
"""Seconds until one side stops waiting for the other."""
REFUSALS = ("tx conflicts with other tx: ", "failed to read consumed UTXO ")

ISSUER = """
import json, pathlib, time
from chaindb import clock
from platform_app.apps import platform_chain
from platform_app.services.errors import RefusedIssue
from platform_app.services.mempool import issue_tx
from platform_app.txs.codec import parse
from utxo.errors import InvalidTx

directory = pathlib.Path({directory!r})
txs = [parse(bytes.fromhex(line)) for line in (directory / "theirs").read_text().split()]
(directory / "ready").touch()
while not (directory / "go").exists():
    time.sleep(0.001)
taken = []
for tx in txs:
    try:
        taken.append(str(issue_tx(platform_chain(), tx, now=clock.now())))
    except (InvalidTx, RefusedIssue):
        pass
(directory / "taken").write_text(json.dumps(taken))
"""
"""Code of a separate process that uses the node's services to issue the transactions of a file."""


class Rivals:
    """Many coins, each spent whole by two conflicting transactions with different receivers."""

    def __init__(self, node: CheckedNode) -> None:
        (key,) = new_keys(1)
        wallet = Wallet(key)
        fund(node, [(key, UNIT + number) for number in range(PAIRS)])
        with PlatformClient(node.port) as client:
            wallet.look(client)
        self.receivers = new_keys(2)
        self.sides = [
            [wallet.pay([(receiver, worth(coin) - FEE)], coin) for coin in wallet.coins]
            for receiver in self.receivers
        ]

    def check(self, node: CheckedNode, taken: list[str]) -> None:
        """Check that one transaction of each pair was committed, and that the node's rows are consistent."""
        with PlatformClient(node.port) as client:
            statuses = dict(zip(taken, client.wait(taken), strict=True))
            committed = {tx_id for tx_id, status in statuses.items() if status == "Committed"}
            for pair in zip(*self.sides, strict=True):
                assert len({str(item.tx_id) for item in pair} & committed) == 1
            received = sum(client.balance(address(receiver)) for receiver in self.receivers)
        assert received == sum(UNIT + number - FEE for number in range(PAIRS))
        with node.database() as ask:
            check_platform_rows(ask)


@pytest.mark.parametrize("node", ["embedded", "production"], indirect=True)
def test_two_clients_spend_the_same_coins(node: CheckedNode) -> None:
    rivals = Rivals(node)
    barrier = threading.Barrier(2)
    taken: list[str] = []
    refused: list[str] = []

    def issue(txs: list[Tx]) -> None:
        with ExitStack() as end:
            clients = [end.enter_context(PlatformClient(node.port)) for _ in range(CONNECTIONS)]
            for number, tx in enumerate(txs):
                barrier.wait(PATIENCE)
                try:
                    taken.append(clients[number % CONNECTIONS].issue(raw(tx)))
                except RpcFault as fault:
                    refused.append(fault.message)

    in_threads(*(partial(issue, side) for side in rivals.sides))
    assert len(taken) + len(refused) == 2 * PAIRS
    assert_conflicts(refused)
    rivals.check(node, taken)


def test_two_processes_spend_the_same_coins(node: CheckedNode) -> None:
    rivals = Rivals(node)
    ours, theirs = rivals.sides
    directory = node.directory / "rivals"
    directory.mkdir()
    (directory / "theirs").write_text("\n".join(their.raw.hex() for their in theirs))
    taken: list[str] = []
    refused: list[str] = []

    def issue() -> None:
        deadline = time.monotonic() + PATIENCE
        while not (directory / "ready").exists():
            assert time.monotonic() < deadline, "the other process does not begin"
            time.sleep(0.001)
        (directory / "go").touch()
        with PlatformClient(node.port) as client:
            for tx in reversed(ours):  # the two sides meet somewhere in the middle
                try:
                    taken.append(client.issue(raw(tx)))
                except RpcFault as fault:
                    refused.append(fault.message)

    in_threads(issue, lambda: node.manage("shell", "-c", ISSUER.format(directory=str(directory))))
    assert_conflicts(refused)
    rivals.check(node, taken + json.loads((directory / "taken").read_text()))


def test_two_clients_add_the_same_validator(node: CheckedNode) -> None:
    """The transactions spend different coins, so each is valid unless the other is accepted."""
    keys, validator, end = new_keys(2), new_node_id(), soon() + 15 * DAY
    fund(node, [(key, STAKE + UNIT) for key in keys])
    barrier = threading.Barrier(2)
    taken: list[str] = []
    refused: list[str] = []

    def issue(key: bytes) -> None:
        wallet = Wallet(key)
        with PlatformClient(node.port) as client:
            wallet.look(client)
            added = raw(wallet.add_validator(validator, end))
            barrier.wait(PATIENCE)
            try:
                taken.append(client.issue(added))
            except RpcFault as fault:
                refused.append(fault.message)

    in_threads(*(partial(issue, key) for key in keys))
    with PlatformClient(node.port) as client:
        outcomes = client.wait(taken)
        assert outcomes.count("Committed") == 1
        for tx_id, status in zip(taken, outcomes, strict=True):
            if status != "Committed":
                found = client.call("platform.getTxStatus", txID=tx_id)
                assert found["status"] == "Dropped"
                refused.append(found["reason"])
        current = client.call("platform.getCurrentValidators", nodeIDs=[str(validator)])
    (reason,) = refused
    assert "validator" in reason
    assert len(current["validators"]) == 1


def assert_conflicts(refused: list[str]) -> None:
    """Check that the error messages name an output that is spent or about to be spent."""
    for message in refused:
        assert any(words in message for words in REFUSALS), message


def in_threads(*works: Callable[[], object]) -> None:
    """Run all functions at the same time; raise the first failure."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]

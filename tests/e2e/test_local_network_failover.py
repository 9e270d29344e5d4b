"""A voting network of five nodes, run by the command, continues while nodes are stopped, killed and paused."""

import os
import signal
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.builders.node_settings import updated
from tests.e2e.local_command import STARTED, command, is_told, node_processes
from tests.e2e.network import wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.client import RpcClient
from tests.servers.ports import free_ports
from tests.servers.process import ServerProcess

NODES = range(1, 6)
Run = Callable[..., str]
"""Runs the command in a second terminal and returns its output."""


class Network:
    """The running command, and its nodes by the command's numbers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._first_port = free_ports(2 * len(NODES))[0]
        self.process: ServerProcess = command(directory, self._first_port, options="")
        self.sender = Sender(Account.from_key(next(iter(DEV_KEYS.values()))), 43112)

    def rpc(self, number: int) -> RpcClient:
        return RpcClient(self._port(number))

    def send(self, number: int) -> str:
        """Send a transaction to a node and return its hash."""
        with self.rpc(number) as client:
            sent = client.call("eth_sendRawTransaction", self.sender.transfer(self.sender.address))
            return str(sent)

    def accepted(self, number: int, sent: str) -> str:
        """Wait until a node has accepted a transaction; return its block's hash."""
        with self.rpc(number) as client:
            (receipt,) = wait_for_receipts(client, [sent])
            return str(receipt["blockHash"])

    def head(self, number: int) -> Any:
        with self.rpc(number) as client:
            return client.call("eth_getBlockByNumber", "latest", False)["hash"]

    def node_id(self, number: int) -> str:
        with PlatformClient(self._port(number)) as client:
            return client.node_id()

    def pid(self, number: int) -> int:
        (found,) = node_processes(self.directory / "data" / "network" / f"node{number}")
        return found

    def said(self) -> str:
        return self.process.log.read_text()

    def _port(self, number: int) -> int:
        return self._first_port + 2 * (number - 1)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    directory = tmp_path_factory.mktemp("network")
    running = Network(directory)
    try:
        running.process.wait_until(lambda: is_told(running.process), STARTED)
        yield running
        running.process.stop(how=signal.SIGTERM)
        assert not node_processes(directory)
    finally:
        running.process.kill()
        wait_for(lambda: not node_processes(directory), "the nodes have ended")


@pytest.fixture
def run(network: Network, settings: Any) -> Run:
    settings.NODE = updated(settings.NODE, data_dir=str(network.directory / "data"))

    def second_terminal(*words: str) -> str:
        out = StringIO()
        call_command("local_network", *words, stdout=out)
        return out.getvalue()

    return second_terminal


def status_with(run: Run, capsys: pytest.CaptureFixture[str], words: str) -> str:
    """Run the command until it prints these words; return its output.

    It gives each node three seconds for an answer, which on a busy machine may be too short once.
    """
    shown = ""

    def is_shown() -> bool:
        nonlocal shown
        run("status")
        shown = capsys.readouterr().out
        return words in shown

    wait_for(is_shown, f"the status is {words}")
    return shown


def test_a_second_terminal_sees_the_nodes(
    network: Network, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "5 of 5 validators run, with 100 % of the stake; 65 % must be there"
    shown = status_with(run, capsys, words)

    for number in NODES:
        assert network.node_id(number) in shown
    assert shown.count("ready") == len(NODES)


def test_four_validators_continue_and_a_stopped_one_catches_up(
    network: Network, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("stop", "2") == "node 2 is stopped\n"
    with pytest.raises(CommandError, match=r"^node 2 is stopped already$"):
        run("stop", "2")
    status_with(run, capsys, "4 of 5 validators run, with 80 % of the stake")

    sent = network.send(3)
    assert len({network.accepted(number, sent) for number in (1, 3, 4, 5)}) == 1

    assert run("start", "2") == "node 2 runs and is ready\n"
    network.accepted(2, sent)
    wait_for(lambda: network.head(2) == network.head(1), "node 2 has the others' head")
    with pytest.raises(CommandError, match=r"^node 2 runs already$"):
        run("start", "2")


def test_paused_node_continues(
    network: Network, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pause", "3") == "node 3 is paused\n"
    with pytest.raises(CommandError, match=r"^node 3 is paused already$"):
        run("pause", "3")
    run("status")
    assert "paused" in capsys.readouterr().out
    sent = network.send(1)
    assert len({network.accepted(number, sent) for number in (1, 2, 4, 5)}) == 1

    assert run("start", "3") == "node 3 runs and is ready\n"
    network.accepted(3, sent)


def test_killed_node_is_reported_and_the_others_continue(network: Network, run: Run) -> None:
    os.kill(network.pid(4), signal.SIGKILL)

    network.process.wait_until(lambda: "start 4` in a second terminal" in network.said())
    assert "node 4 has ended: it was ended by SIGKILL (signal 9)." in network.said()
    assert "the network decides, and no other may be missing" in network.said()
    with pytest.raises(CommandError, match=r"^node 4 has ended already: it was ended by SIGKILL"):
        run("stop", "4")
    sent = network.send(5)
    assert len({network.accepted(number, sent) for number in (1, 2, 3, 5)}) == 1

    assert run("start", "4") == "node 4 runs and is ready\n"
    network.accepted(4, sent)


def test_unknown_node_is_reported(run: Run) -> None:
    with pytest.raises(CommandError, match=r"^there is no node 6: this network has nodes 1 to 5$"):
        run("stop", "6")

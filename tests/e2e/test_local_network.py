"""`make network`'s command: it starts the nodes, says where they are, and ends them all at Ctrl-C."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from primitives.keys import DEV_KEYS
from tests.e2e.local_command import STARTED, command, is_told, node_processes
from tests.e2e.network import wait_for
from tests.e2e.platform_client import PlatformClient
from tests.servers.ports import free_ports
from tests.servers.process import ServerDied, ServerProcess

NODES = 2
SOLE = f"--nodes {NODES} --consensus sole"


@pytest.fixture
def first_port() -> int:
    """A port after which there are enough that nobody uses."""
    return free_ports(10)[0]


@pytest.fixture
def network(tmp_path: Path, first_port: int) -> Iterator[ServerProcess]:
    running = command(tmp_path, first_port, options=SOLE)
    try:
        yield running
    finally:
        running.kill()
        wait_for(lambda: not node_processes(tmp_path), "the nodes have ended")


def test_nodes_are_started_shown_and_ended_together(
    network: ServerProcess, tmp_path: Path, first_port: int
) -> None:
    network.wait_until(lambda: is_told(network), STARTED)

    text = network.log.read_text()
    ids = re.findall(r"NodeID-\w+", text)
    assert len(set(ids)) == NODES
    for place in range(NODES):
        port = first_port + 2 * place
        assert f"http://127.0.0.1:{port}/ext/bc/C/rpc" in text
        assert f"127.0.0.1:{port + 1}" in text
        with PlatformClient(port) as client:
            assert client.call("info.getNodeID")["nodeID"] == ids[place]
            validators = client.call("platform.getCurrentValidators")["validators"]
            assert {one["nodeID"] for one in validators} == set(ids)
        home = tmp_path / "data" / "network" / f"node{place + 1}"
        assert (home / "admin_password").read_text().strip()
        assert DEV_KEYS[next(iter(DEV_KEYS))] in (home / "node.log").read_text()
    assert "the user admin, whose password is in nodeN/admin_password" in text
    assert "funded accounts and their keys are in nodeN/node.log" in text
    assert len(node_processes(tmp_path)) == NODES

    network.stop(how=signal.SIGINT)

    assert not node_processes(tmp_path)


def test_what_the_nodes_have_made_is_there_at_the_next_start(
    network: ServerProcess, tmp_path: Path, first_port: int
) -> None:
    network.wait_until(lambda: is_told(network), STARTED)
    before = re.findall(r"NodeID-\w+", network.log.read_text())
    network.stop(how=signal.SIGINT)
    network.log.unlink()

    again = command(tmp_path, first_port, options=SOLE)
    try:
        again.wait_until(lambda: is_told(again), STARTED)
        assert re.findall(r"NodeID-\w+", again.log.read_text()) == before
    finally:
        again.stop(how=signal.SIGINT)


def test_what_is_unusual_about_a_run_is_told(
    network: ServerProcess, tmp_path: Path, first_port: int
) -> None:
    network.wait_until(lambda: is_told(network), STARTED)
    network.stop(how=signal.SIGINT)
    network.log.unlink()
    first = tmp_path / "data" / "network" / "node1"
    of_first_run = (first / "node.log").read_text()

    again = command(
        tmp_path,
        first_port,
        options="--nodes 1 --consensus sole",
        NODE_HTTP_PORT="1",
        NODE_LOG_LEVEL="DEBUG",
    )
    try:
        again.wait_until(lambda: is_told(again), STARTED)
        text = again.log.read_text()
        assert "This network began with 2 validators, of which 1 runs" in text
        assert "ignored: NODE_HTTP_PORT." in text
        assert (first / "node.log.1").read_text() == of_first_run
        assert of_first_run not in (first / "node.log").read_text()
        assert "DEBUG" in (first / "node.log").read_text()
    finally:
        again.stop(how=signal.SIGINT)


def test_nodes_end_with_the_command_however_it_ends(network: ServerProcess, tmp_path: Path) -> None:
    network.wait_until(lambda: len(node_processes(tmp_path)) == NODES, STARTED)

    network.kill()

    wait_for(lambda: not node_processes(tmp_path), "the nodes have ended")


def test_a_second_one_beside_it_is_refused(
    network: ServerProcess, tmp_path: Path, first_port: int
) -> None:
    network.wait_until(lambda: len(node_processes(tmp_path)) == NODES, STARTED)
    second = command(tmp_path, first_port, "second.log", options=SOLE)

    with pytest.raises(ServerDied, match="another node runs on"):
        second.finish(STARTED)


def test_a_port_that_is_taken_is_named(tmp_path: Path, first_port: int) -> None:
    with socket.create_server(("127.0.0.1", first_port + 2)):
        refused = command(tmp_path, first_port, options=SOLE)
        with pytest.raises(ServerDied, match=f":{first_port + 2} .*choose another --first-port"):
            refused.finish(STARTED)

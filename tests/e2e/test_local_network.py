"""The command behind `make network`: it starts the nodes, prints their addresses, and stops them on Ctrl-C."""

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
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
    """The first of enough consecutive free ports."""
    return free_ports(10)[0]


@contextmanager
def running(
    directory: Path, first_port: int, options: str, **settings: str
) -> Iterator[ServerProcess]:
    """Run the command until the nodes are ready; on exit make sure that no node is left running."""
    process = command(directory, first_port, options=options, **settings)
    try:
        process.wait_until(lambda: is_told(process), STARTED)
        yield process
    finally:
        process.kill()
        wait_for(lambda: not node_processes(directory), "the nodes have ended")


def test_nodes_start_and_stop_together_and_continue_at_the_next_start(
    tmp_path: Path, first_port: int
) -> None:
    with running(tmp_path, first_port, SOLE) as network:
        ids = assert_shown(network.log.read_text(), tmp_path, first_port)
        second = command(tmp_path, first_port, "second.log", options=SOLE)
        with pytest.raises(ServerDied, match="another node runs on"):
            second.finish(STARTED)
        assert len(node_processes(tmp_path)) == NODES

        network.stop(how=signal.SIGINT)
        assert not node_processes(tmp_path)
        network.log.unlink()

    first = tmp_path / "data" / "network" / "node1"
    of_first_run = (first / "node.log").read_text()
    alone = "--nodes 1 --consensus sole"
    unusual = {"NODE_HTTP_PORT": "1", "NODE_LOG_LEVEL": "DEBUG"}
    with running(tmp_path, first_port, alone, **unusual) as again:
        text = again.log.read_text()
        assert set(re.findall(r"NodeID-\w+", text)) == {ids[0]}
        assert "This network began with 2 validators, of which 1 runs" in text
        assert "ignored: NODE_HTTP_PORT." in text
        assert (first / "node.log.1").read_text() == of_first_run
        assert of_first_run not in (first / "node.log").read_text()
        wait_for(lambda: "DEBUG" in (first / "node.log").read_text(), "it logs at this level")

        again.kill()
        wait_for(lambda: not node_processes(tmp_path), "the nodes have ended with the command")


def assert_shown(text: str, directory: Path, first_port: int) -> list[str]:
    """Check that each node runs at the address that the command printed; return the node IDs."""
    ids = re.findall(r"NodeID-\w+", text)
    assert len(set(ids)) == NODES
    for place in range(NODES):
        port = first_port + 2 * place
        assert f"http://127.0.0.1:{port}/ext/bc/C/rpc" in text
        assert f"127.0.0.1:{port + 1}" in text
        with PlatformClient(port) as client:
            assert client.call("info.getNodeID")["nodeID"] == ids[place]
            validators = client.call("platform.getCurrentValidators")["validators"]
            assert {validator["nodeID"] for validator in validators} == set(ids)
        home = directory / "data" / "network" / f"node{place + 1}"
        assert (home / "admin_password").read_text().strip()
        assert DEV_KEYS[next(iter(DEV_KEYS))] in (home / "node.log").read_text()
    assert "the user admin; its password is in nodeN/admin_password" in text
    assert "funded accounts and their keys are in nodeN/node.log" in text
    assert len(node_processes(directory)) == NODES
    return ids


def test_taken_port_is_reported(tmp_path: Path, first_port: int) -> None:
    with socket.create_server(("127.0.0.1", first_port + 2)):
        refused = command(tmp_path, first_port, options=SOLE)
        with pytest.raises(ServerDied, match=f":{first_port + 2} .*choose another --first-port"):
            refused.finish(STARTED)

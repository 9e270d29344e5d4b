"""A node started by the client: free ports, waiting, and shutdown. Small programs replace the node."""

import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from nunatak import node as module
from nunatak.node import NodeEnded, NodeProcess, NodeSilent
from nunatak.rpc import Unreachable

pytestmark = pytest.mark.sqlite_only

ANSWERS = """
import os, signal, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = b'{"result": "0x1"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    server = HTTPServer(("127.0.0.1", int(os.environ["NODE_HTTP_PORT"])), Handler)
except OSError:
    sys.exit("CommandError: cannot listen on it: choose another NODE_HTTP_PORT")
server.serve_forever()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the program that replaces the node; the test writes it."""
    package = tmp_path / "packages" / "nodeproject"
    package.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return package / "__main__.py"


def test_node_runs_within_the_with_block_only(program: Path, tmp_path: Path) -> None:
    program.write_text(ANSWERS)

    with NodeProcess(tmp_path / "node") as node:
        assert node.rpc("eth_chainId") == "0x1"
    with pytest.raises(Unreachable):
        node.rpc("eth_chainId")


def test_port_taken_meanwhile_is_replaced(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(ANSWERS)
    draw = module._free_ports
    with socket.create_server(("127.0.0.1", 0)) as taken:
        drawn = iter([[taken.getsockname()[1], 1], draw(2)])
        monkeypatch.setattr(module, "_free_ports", lambda _count: next(drawn))

        with NodeProcess(tmp_path / "node") as node:
            assert node.rpc("eth_chainId") == "0x1"
    assert next(drawn, None) is None


def test_node_without_free_port_fails(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("import sys; sys.exit('CommandError: cannot listen on 127.0.0.1:1')")
    starts = []
    monkeypatch.setattr(module, "_free_ports", lambda count: starts.append(count) or [1, 2])

    with pytest.raises(NodeEnded, match="cannot listen on 127"):
        NodeProcess(tmp_path / "node").start()
    assert len(starts) == module.TRIES


def test_ended_node_is_not_restarted(program: Path, tmp_path: Path) -> None:
    program.write_text("import sys; print('once'); sys.exit('broken')")

    with pytest.raises(
        NodeEnded, match=r"^the node ended with 1 before it answered:\n(once\n)?broken"
    ):
        NodeProcess(tmp_path / "node").start()


def test_unresponsive_node_is_terminated(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ended"
    program.write_text(
        "import signal, sys\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (open({str(mark)!r}, 'w').close(), sys.exit()))\n"
        "print('waiting', flush=True)\nsignal.pause()\n"
    )
    node = NodeProcess(tmp_path / "node")
    passed = iter(range(0, 10_000, 10))
    # the clock advances only once the program is able to receive the signal that ends it
    advancing = SimpleNamespace(
        monotonic=lambda: next(passed) if "waiting" in node.log.read_text() else 0,
        sleep=time.sleep,
    )
    monkeypatch.setattr(module, "time", advancing)

    with pytest.raises(
        NodeSilent, match=r"^the node does not answer at http://127\.0\.0\.1:\d+/ext"
    ):
        node.start()
    assert mark.exists()


def test_settings_of_another_node_or_project_are_not_handed_on(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(
        "import os, sys\n"
        "names = sorted(name for name in os.environ if name.startswith(('NODE_', 'DJANGO_')))\n"
        "sys.exit(' '.join([*names, os.environ['NODE_CHAIN_ID'], os.getcwd()]))\n"
    )
    monkeypatch.setenv("NODE_PROFILE", "production")
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "shop.settings")
    directory = tmp_path / "node"

    with pytest.raises(
        NodeEnded,
        match=f"NODE_CHAIN_ID NODE_DATA_DIR NODE_HTTP_PORT NODE_STAKING_PORT 31337 {directory}$",
    ):
        NodeProcess(directory, {"NODE_CHAIN_ID": "31337"}).start()


def test_modules_of_the_working_directory_do_not_shadow_the_node(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(ANSWERS)
    directory = tmp_path / "node"
    other = directory / "nodeproject"
    other.mkdir(parents=True)
    (other / "__main__.py").write_text("import sys; sys.exit('the wrong one')")
    monkeypatch.chdir(directory)

    with NodeProcess(directory) as node:
        assert node.rpc("eth_chainId") == "0x1"

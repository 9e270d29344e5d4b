"""Processes of a local network and its control socket, with small programs instead of nodes."""

import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nodeproject.processes.local_network import processes
from nodeproject.processes.local_network import running as running_module
from nodeproject.processes.local_network.control import NAME, Control, ask
from nodeproject.processes.local_network.directories import LocalNode
from nodeproject.processes.local_network.processes import (
    NetworkNodeProcess,
    RequestRefused,
    State,
    in_words,
    stop_all,
)
from nodeproject.processes.local_network.running import LocalNetworkRun, NetworkFailed
from nodeproject.processes.local_network.status import Quorum
from primitives.ids import NodeID

pytestmark = pytest.mark.sqlite_only

SECONDS = 60.0
# one call: an unbuffered `print` writes a line and its end separately
READY = "import os; os.write(1, b'ready\\n'); "
SLEEPS = READY + "import time; time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"


def wait_for(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.01)


def state_of(process: NetworkNodeProcess) -> str:
    """Return the letter of the process's state in the kernel."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


Make = Callable[[str], NetworkNodeProcess]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[NetworkNodeProcess] = []

    def make_process(program: str) -> NetworkNodeProcess:
        number = len(made) + 1
        directory = tmp_path / f"node{number}"
        directory.mkdir()
        command = [sys.executable, "-c", program]
        made.append(NetworkNodeProcess(f"node {number}", directory, command, dict(os.environ)))
        return made[-1]

    yield make_process
    for process in made:
        if process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
            wait_for(lambda process=process: process.check() or process.pid is None)


def started(process: NetworkNodeProcess) -> NetworkNodeProcess:
    process.start()
    wait_for(lambda: process.last_line() == "ready")
    return process


def test_node_is_stopped_and_restarted(make: Make) -> None:
    process = started(make(SLEEPS))
    with pytest.raises(RequestRefused, match=r"^node 1 runs already$"):
        process.start()

    process.stop()
    with pytest.raises(RequestRefused, match=r"^node 1 is being stopped already$"):
        process.stop()
    with pytest.raises(RequestRefused, match="start it when that is done"):
        process.start()
    wait_for(lambda: not process.check() and process.pid is None)

    assert (process.state, process.ending) == (State.STOPPED, "")
    with pytest.raises(RequestRefused, match=r"^node 1 is stopped already$"):
        process.stop()
    with pytest.raises(RequestRefused, match=r"^node 1 is stopped already$"):
        process.pause()
    started(process)
    assert (process.log.parent / "node.log.1").read_text() == "ready\n"


def test_paused_node_does_not_respond_until_resumed(make: Make) -> None:
    process = started(make(SLEEPS))
    process.pause()
    wait_for(lambda: state_of(process) == "T")
    with pytest.raises(RequestRefused, match=r"^node 1 is paused already$"):
        process.pause()

    pid = process.pid
    process.start()
    wait_for(lambda: state_of(process) != "T")
    assert (process.state, process.pid) == (State.RUNNING, pid)


def test_a_paused_node_can_be_stopped(make: Make) -> None:
    process = started(make(SLEEPS))
    process.pause()
    process.stop()
    wait_for(lambda: not process.check() and process.pid is None)
    assert process.state is State.STOPPED


def test_node_that_ignores_termination_is_killed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.1)
    deaf, other = started(make(DEAF)), started(make(SLEEPS))
    stop_all([deaf, other])
    assert deaf.state is other.state is State.STOPPED


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("print('no database'); raise SystemExit(3)", "it ended by itself with exit code 3"),
        ("import os; print('no database', flush=True); os.kill(os.getpid(), 9)",
         "it was ended by SIGKILL (signal 9)"),
    ],
)  # fmt: skip
def test_an_unexpected_end_is_reported_once(make: Make, program: str, words: str) -> None:
    process = make(program)
    process.start()
    wait_for(process.check)
    assert not process.check()
    assert (process.state, process.ending) == (State.ENDED, words)
    assert process.last_line() == "no database"
    with pytest.raises(RequestRefused, match=r"^node 1 has ended already: it "):
        process.stop()


def test_a_log_cannot_steer_the_terminal(make: Make) -> None:
    process = make("print('first'); print('\\x1b[2Jsecond\\x07')")
    process.start()
    wait_for(process.check)
    assert process.last_line() == "[2Jsecond"


def test_unnamed_signal_is_reported_by_number() -> None:
    assert in_words(-200) == "it was ended by signal 200"


# The socket


class Served:
    """A control socket that a thread serves."""

    def __init__(self, directory: Path, answer: Callable[[Mapping[str, Any]], Any]) -> None:
        self._control = Control(directory)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(answer,))
        self._thread.start()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        self._thread.join()
        self._control.__exit__()

    def _serve(self, answer: Callable[[Mapping[str, Any]], Any]) -> None:
        while not self._ended.is_set():
            self._control.serve(0.05, answer)


def refuse(_request: Mapping[str, Any]) -> Any:
    raise RequestRefused("not today")


def test_requests_are_answered_or_refused_however_long_the_path(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with Served(deep, dict):
        assert ask(deep, "stop", 2) == {"action": "stop", "node": 2}
        assert stat.S_IMODE((deep / NAME).stat().st_mode) == 0o600
    with Served(deep, refuse), pytest.raises(RequestRefused, match=r"^not today$"):
        ask(deep, "status")
    with pytest.raises(RequestRefused, match=r"^no local network runs in "):
        ask(deep, "status")


def test_a_killed_command_leaves_no_stale_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(os.path.relpath(tmp_path / NAME))
    with pytest.raises(RequestRefused, match=r"^no local network runs in "):
        ask(tmp_path, "status")
    with Served(tmp_path, dict):
        assert ask(tmp_path, "status")["action"] == "status"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"status\n", "a request is a line of JSON"),
        (b"[1]\n", "a request is an object"),
        (b'"' + b"x" * 5000 + b"\n", "a request is a line of JSON"),
    ],
)
def test_an_invalid_request_is_reported(tmp_path: Path, line: bytes, words: str) -> None:
    with Served(tmp_path, dict), socket.socket(socket.AF_UNIX) as client:
        client.connect(os.path.relpath(tmp_path / NAME))
        client.sendall(line)
        assert json.loads(client.makefile().readline()) == {"error": words}
        # A client that connects, sends nothing and leaves does not block others.
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(os.path.relpath(tmp_path / NAME))
        assert ask(tmp_path, "status")["action"] == "status"


# A network of such programs


def running(tmp_path: Path, made: list[NetworkNodeProcess], said: list[str]) -> LocalNetworkRun:
    nodes = [
        LocalNode(tmp_path / f"node{place}", NodeID(bytes([place]) * 20), 0, 0)
        for place in range(1, len(made) + 1)
    ]
    return LocalNetworkRun(nodes, made, Quorum(13, 20), said.append, {})


def test_failed_start_of_a_node_fails_the_network_with_its_message(
    tmp_path: Path, make: Make
) -> None:
    made = [make(SLEEPS), make("print('no database'); raise SystemExit(1)")]
    with Control(tmp_path) as control, pytest.raises(NetworkFailed) as failed:
        running(tmp_path, made, []).start(control)
    assert "node 2 has ended: it ended by itself with exit code 1." in str(failed.value)
    assert "The last line of its log: no database (see" in str(failed.value)


def test_network_not_ready_in_time_fails(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_module, "PATIENCE", 0.5)
    with (
        Control(tmp_path) as control,
        pytest.raises(NetworkFailed, match=r"^not all nodes were ready within 0 s$"),
    ):
        running(tmp_path, [make(SLEEPS)], []).start(control)


def test_network_ends_after_all_its_nodes(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_module.status, "is_ready", lambda *_of_node: True)
    made = [make(SLEEPS), make(SLEEPS), make(SLEEPS)]
    said: list[str] = []
    network = running(tmp_path, made, said)
    with Control(tmp_path) as control, ThreadPoolExecutor(1) as pool:
        network.start(control)
        ended = pool.submit(network.watch, control)
        assert ask(tmp_path, "pause", 2)["nodes"][1]["state"] == "paused"
        for number, words in [
            (0, "there is no node 0: this network has nodes 1 to 3"),
            (4, "there is no node 4: this network has nodes 1 to 3"),
            (2, "node 2 is paused already"),
        ]:
            with pytest.raises(RequestRefused, match=f"^{words}$"):
                ask(tmp_path, "pause", number)
        with pytest.raises(RequestRefused, match=r"^unknown request: 'burn'$"):
            ask(tmp_path, "burn")

        os.kill(made[0].pid or 0, signal.SIGKILL)
        wait_for(lambda: any("start 1`" in line for line in said))
        assert not ended.done()
        for process in made[1:]:
            os.kill(process.pid or 0, signal.SIGKILL)
        assert isinstance(ended.exception(SECONDS), NetworkFailed)

    assert any(
        line.startswith("node 2 is paused, as requested in a second terminal.") for line in said
    )
    (told,) = [line for line in said if line.startswith("node 1 has ended")]
    assert told.startswith("node 1 has ended: it was ended by SIGKILL (signal 9).")
    assert any("1 of 3 validators run, with 33 % of the stake" in line for line in said)

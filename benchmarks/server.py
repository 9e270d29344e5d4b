"""A server under test: started on a free port, awaited, and ended by its process group."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.rpc import Client
from benchmarks.wire import Endpoint, Http
from tests.servers.ports import free_ports

TICKS = os.sysconf("SC_CLK_TCK")
"""Ticks per second of the clock that counts processor time."""
REST_SECONDS = 0.3
"""Seconds over which a server's processor time is looked at before a measurement."""
REST_SHARE = 0.1
"""Share of a core below which a server counts as idle."""
REST_PATIENCE = 6.0
"""Seconds after which a server that is never idle is measured as it is."""


class StartFailed(Exception):
    """A server ended or did not answer before the measurement."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How one of the compared programs is started."""

    name: str
    """Name in `--peers`."""
    title: str
    command: Callable[[int], Sequence[str]]
    """The command line for a port."""
    http_path: str = "/"
    ws_path: str = "/"
    environment: Callable[[int, Path], Mapping[str, str]] = lambda _port, _scratch: {}
    """Environment variables for a port and a temporary directory."""
    directory: Path = field(default_factory=Path.cwd)
    probe: str = "eth_chainId"
    """Method that is called until the server answers."""
    fill: Callable[[Mapping[str, str]], None] = lambda _environment: None
    """Called with the environment before the start, for example to fill the data directory."""
    ports: int = 1
    """Number of consecutive ports that the server uses; the first is its endpoint's."""
    poll_seconds: float = 0.05
    """Seconds between two such calls."""
    patience: float = 60.0
    """Seconds until the first answer at most."""
    grace: float = 5.0
    """Seconds that the server has to end."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    kind: Kind
    endpoint: Endpoint
    process: subprocess.Popen[bytes]
    environment: Mapping[str, str]
    """Environment variables of its start."""

    def processor_seconds(self) -> float:
        """Return the processor time that the server's processes have used so far."""
        return sum(processor_seconds_of(pid) for pid in _processes_of(self.process.pid))

    def by_role(self, role_of: Callable[[str], str | None]) -> dict[str, tuple[float, int]]:
        """Return processor seconds and bytes of memory of the server's processes by their role.

        Args:
            role_of: Returns the role of a command line; None: the role of the process that started it.
        """
        parents = dict(_family_of(self.process.pid))
        roles: dict[str, tuple[float, int]] = {}
        for pid in parents:
            role = _inherited(pid, parents, role_of)
            used, held = roles.get(role, (0.0, 0))
            roles[role] = (used + processor_seconds_of(pid), held + _proportional_set(pid, "Pss:"))
        return roles

    def memory(self) -> int:
        """Return the bytes of memory that the server's processes hold, shared pages once."""
        return sum(_proportional_set(pid, "Pss:") for pid in _processes_of(self.process.pid))

    def anonymous_memory(self) -> int:
        """Return the same without pages of files, which the kernel can drop: programs and mapped databases."""
        return sum(_proportional_set(pid, "Pss_Anon:") for pid in _processes_of(self.process.pid))

    def await_rest(self) -> None:
        """Wait until the server is idle, at most REST_PATIENCE seconds: it may load parts beside its first answers."""
        deadline = time.perf_counter() + REST_PATIENCE
        while time.perf_counter() < deadline:
            before = self.processor_seconds()
            time.sleep(REST_SECONDS)
            if self.processor_seconds() - before <= REST_SECONDS * REST_SHARE:
                return

    def end(self) -> None:
        """End the server early; its directory stays until the end of `running`."""
        _end(self.process, self.kind.grace)


@contextmanager
def running(kind: Kind) -> Iterator[Server]:
    """Start a server, wait until it answers, and end it after the body.

    Raises:
        StartFailed: The server did not start; the message has the last lines of its output.
    """
    port = free_ports(kind.ports)[0]
    endpoint = Endpoint("127.0.0.1", port, kind.http_path, kind.ws_path)
    with tempfile.TemporaryDirectory(prefix=f"bench-{kind.name}-") as name:
        scratch = Path(name)
        output = scratch / "output.log"
        environment = {**os.environ, **kind.environment(port, scratch)}
        kind.fill(environment)
        with output.open("wb") as log:
            process = subprocess.Popen(
                kind.command(port),
                cwd=kind.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            server = Server(kind, endpoint, process, environment)
            _wait_for(server, output)
            yield server
        finally:
            _end(process, kind.grace)


def _wait_for(server: Server, output: Path) -> None:
    deadline = time.perf_counter() + server.kind.patience
    while time.perf_counter() < deadline and server.process.poll() is None:
        with suppress(OSError):
            client = Client(Http(server.endpoint))
            client.call(server.kind.probe)
            client.close()
            return
        time.sleep(server.kind.poll_seconds)
    tail = output.read_text(errors="replace").splitlines()[-15:]
    raise StartFailed("\n".join([f"{server.kind.title} did not start", *tail]))


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """End the server's process group with SIGTERM, then with SIGKILL after the grace period."""
    for order in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, order)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
            return


def _processes_of(leader: int) -> Iterator[int]:
    """Yield the processes of a session, and those that started their own sessions from it."""
    return (pid for pid, _ in _family_of(leader))


def _family_of(leader: int) -> Iterator[tuple[int, int]]:
    """Yield the same, each with its parent."""
    parents, found = dict[int, int](), list[int]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # The program's name is in parentheses and may contain any characters.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                if int(fields[3]) == leader:
                    found.append(int(entry.name))
    seen = set(found)
    while found:
        process = found.pop()
        yield process, parents[process]
        children = {pid for pid, parent in parents.items() if parent == process} - seen
        seen |= children
        found += children


def _inherited(pid: int, parents: dict[int, int], role_of: Callable[[str], str | None]) -> str:
    """Return the role of a process, or that of the nearest ancestor among these that has one."""
    while pid in parents:
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if (role := role_of(command)) is not None:
                return role
        pid = parents[pid]
    return "other"


def processor_seconds_of(pid: int) -> float:
    """Return the processor time of one process, 0 if it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    return 0.0


def _proportional_set(pid: int, kind: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(kind):
                return int(line.split()[1]) * 1024
    return 0

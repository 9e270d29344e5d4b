"""The node as users run it: `manage.py runnode`; in production together with worker and beat."""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.client import RpcClient, RpcUnreachable
from tests.servers.ports import free_port
from tests.servers.postgresql import PostgresqlServer
from tests.servers.process import ServerError, ServerProcess
from tests.servers.redis import RedisServer
from tests.servers.tables import database_with_tables, give_tables

ROOT = Path(__file__).resolve().parents[2]

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Takes an SQL query and returns its rows."""

_CELERY = (sys.executable, "-m", "celery", "-A", "nodeproject.celery")
BESIDE: Mapping[str, Sequence[str]] = {
    "producer": (sys.executable, "manage.py", "runproducer"),
    "worker": (*_CELERY, "worker", "-Q", "chain,default", "--concurrency=1", "--loglevel=WARNING"),
    "beat": (*_CELERY, "beat", "--loglevel", "WARNING"),
    "network": (sys.executable, "manage.py", "runnetwork"),
}
"""The other processes of the production profile, besides the web server."""

START_SECONDS = 180.0
"""Limit of a start on a busy machine; benchmarks measure the usual duration."""
COMMAND_SECONDS = 300.0
"""Limit of a command that runs beside the node; some produce thousands of blocks."""
READ_SECONDS = 60.0
"""Limit of a lock on the embedded profile's database, held by its first user after a kill."""


class RunningNode(AbstractContextManager["RunningNode"]):
    """A node with its own data directory, on free ports. Starts with `start()` or `with`."""

    def __init__(
        self,
        directory: Path,
        *,
        postgresql: PostgresqlServer | None = None,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "manage.py", "runnode"),
        prepared: bool = True,
        beside: Collection[str] = tuple(BESIDE),
        is_warm: bool = True,
        serves: bool = True,
        redis_options: Sequence[str] = (),
    ) -> None:
        """Prepare a node.

        Args:
            directory: contains its data and the logs of its processes.
            postgresql: if given, the node runs in the production profile on a database of this server.
            env: settings (`NODE_…`) in addition to directory and ports, or with ports of the caller's choice.
            command: the command that starts it.
            prepared: whether its database has its tables before the first start.
            beside: the processes of the production profile besides the web server.
            is_warm: whether its processes are forked from one with imported packages, instead of started as users
                do.
            serves: whether it has a web server here; else those on other machines answer (`web_machines`).
            redis_options: further options of its Redis.
        """
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.port = int((env or {}).get("NODE_HTTP_PORT") or free_port())
        self._command = list(command)
        self._prepared = prepared and postgresql is None
        self._settings = {
            "NODE_DATA_DIR": str(directory / "data"),
            "NODE_HTTP_PORT": str(self.port),
            "NODE_STAKING_PORT": str(free_port()),
            **(env or {}),
        }
        self._redis: RedisServer | None = None
        self._production = postgresql is not None
        self._is_warm = is_warm
        self._serves = serves
        self._beside = [name for name in BESIDE if name in beside]
        self._initialised = False
        if postgresql is not None:
            self._redis = RedisServer(*redis_options)
            name = f"node_{self.port}"
            self._settings |= {
                "NODE_PROFILE": "production",
                "NODE_DATABASE_URL": database_with_tables(postgresql, name)
                if prepared
                else postgresql.create_database(name),
                "NODE_REDIS_URL": self._redis.url,
            }
        self._processes: list[ServerProcess] = []

    def set(self, **settings: str) -> None:
        """Change settings (`NODE_…`) for the next start."""
        self._settings |= settings

    @property
    def staking_port(self) -> int:
        """The port to which peers connect."""
        return int(self._settings["NODE_STAKING_PORT"])

    @property
    def pid(self) -> int:
        """The ID of the web server process; in the embedded profile it is the only process."""
        return self._processes[0].pid

    @property
    def redis(self) -> RedisServer:
        """The node's own Redis in the production profile."""
        assert self._redis is not None, "the embedded profile has none"
        return self._redis

    @property
    def started(self) -> bool:
        """Whether the node was started, and neither stopped nor killed since."""
        return bool(self._processes)

    @property
    def ended(self) -> list[Sequence[str]]:
        """The node's processes that have ended without being stopped."""
        return [process.command for process in self._processes if not process.running]

    @property
    def url(self) -> str:
        """The HTTP URL of the C-Chain."""
        return f"http://127.0.0.1:{self.port}/ext/bc/C/rpc"

    @property
    def ws_url(self) -> str:
        """The WebSocket URL of the C-Chain."""
        return f"ws://127.0.0.1:{self.port}/ext/bc/C/ws"

    def start(self, *, wait: bool = True) -> "RunningNode":
        """Start all processes; return when the node responds, or immediately if `wait` is false.

        Raises:
            ServerError: The node did not start; all its processes are stopped.
        """
        try:
            self._start(wait)
        except ServerError:
            self.kill()
            raise
        return self

    def start_until(self, point: str) -> None:
        """Start the node, which is killed at a point (`tests.servers.killed_at`)."""
        command = self._command
        self._command = [sys.executable, "-m", "tests.servers.killed_at", point, *command[2:]]
        try:
            self.start()
        finally:
            self._command = command

    def wait_until_answering(self) -> None:
        """Return when the node responds."""
        self._processes[0].wait_until(self._answers, START_SECONDS)

    def wait_for_words(self, words: str) -> None:
        """Return when the web server's output contains a text.

        Raises:
            ServerError: The text did not appear.
        """
        self._processes[0].wait_until(lambda: words in self.log(), START_SECONDS)

    def _start(self, wait: bool) -> None:  # noqa: FBT001  # passed on from `start`
        if self._production:
            self._initialise()
            self._processes = [self._run(name, BESIDE[name]) for name in self._beside]
        if self._prepared:
            give_tables(self.directory / "data")
        if not self._serves:
            return
        self._processes.insert(0, self._run("web", self._command))
        if wait:
            self.wait_until_answering()

    def _initialise(self) -> None:
        """Run `init_node` before the first start; later starts use its results."""
        if not self._initialised:
            self._run("init", [sys.executable, "manage.py", "init_node"]).finish(START_SECONDS)
            self._initialised = True

    def restart_process(self, name: str) -> None:
        """Kill (SIGKILL) and restart one of the processes besides the web server."""
        self.kill_process(name)
        self._processes[self._index(name)] = self._run(name, BESIDE[name])

    def kill_process(self, name: str) -> None:
        """Kill (SIGKILL) one of the processes besides the web server."""
        self._processes[self._index(name)].kill()

    def _index(self, name: str) -> int:
        return int(self._serves) + self._beside.index(name)

    def one_more(self, name: str) -> ServerProcess:
        """Start another instance of one of the processes besides the web server; the caller stops it."""
        return self._run(f"one-more-{name}", BESIDE[name])

    def stop(self) -> None:
        """Stop the node as an operator does (SIGTERM) and wait for its end."""
        for process in self._processes:
            process.ask_to_end()
        for process in self._processes:
            process.wait_for_end()
        self._processes = []

    def kill(self) -> None:
        """Kill all of the node's processes (SIGKILL)."""
        for process in self._processes:
            process.kill()
        self._processes = []

    def restart(self) -> None:
        """Stop and start again with the same data and ports."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Suspend all of the node's processes (SIGSTOP) until `thaw`."""
        for process in self._processes:
            process.signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the node's processes (SIGCONT), as after a pause of the machine."""
        for process in self._processes:
            process.signal_all(signal.SIGCONT)

    def set_clock_ahead(self, seconds: int) -> None:
        """Set the clock of a stopped node of the embedded profile ahead of the wall clock.

        The node itself cannot move its clock in a network of validators, so this writes the row in its
        database.
        """
        with closing(sqlite3.connect(self._sqlite, READ_SECONDS)) as sqlite, sqlite:
            sqlite.execute(
                'INSERT INTO chaindb_clock (id, "offset") VALUES (1, ?)'
                ' ON CONFLICT (id) DO UPDATE SET "offset" = excluded."offset"',
                (seconds,),
            )

    def close(self) -> None:
        """Stop everything that still runs for this node."""
        self.kill()
        if self._redis is not None:
            self._redis.stop()
            self._redis = None

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def client(self) -> RpcClient:
        """Return a client with its own connection; close it, or use it in a `with`."""
        return RpcClient(self.port)

    def rpc(self, method: str, *params: Any) -> Any:
        """Call a method over a new connection and return its result."""
        with self.client() as client:
            return client.call(method, *params)

    @property
    def settings(self) -> Mapping[str, str]:
        """Its settings (`NODE_…`)."""
        return self._settings

    @property
    def database_url(self) -> str:
        """The URL of the production profile's database."""
        return self._settings["NODE_DATABASE_URL"]

    @contextmanager
    def database(self) -> Iterator[Ask]:
        """Yield a function that runs SQL queries, all on the same database snapshot."""
        if self._production:
            with psycopg.connect(self.database_url) as postgresql:
                postgresql.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                yield lambda statement: postgresql.execute(statement.encode()).fetchall()
            return
        path = f"file:{self._sqlite}?mode=ro"
        with closing(sqlite3.connect(path, READ_SECONDS, uri=True, isolation_level=None)) as sqlite:
            sqlite.execute("BEGIN")
            yield lambda statement: sqlite.execute(statement).fetchall()

    def log(self, process: str = "web") -> str:
        """Return all output of one of the node's processes: web, worker, beat, network, init, manage-…."""
        return (self.directory / f"{process}.log").read_text(errors="replace")

    def manage(self, *command: str) -> str:
        """Run one of the node's commands (`manage.py …`) beside it and return its output.

        Raises:
            ServerDied: The command failed.
            ServerWillNotEnd: The command took too long.
        """
        name = f"manage-{command[0]}"
        (self.directory / f"{name}.log").unlink(missing_ok=True)
        self._run(name, [sys.executable, "manage.py", *command]).finish(COMMAND_SECONDS)
        return self.log(name)

    def manage_killed_at(self, point: str, *command: str) -> None:
        """Run a command beside the node that is killed at a point (`tests.servers.killed_at`)."""
        name = f"killed-{command[0]}"
        killed = self._run(name, [sys.executable, "-m", "tests.servers.killed_at", point, *command])
        assert killed.ending(COMMAND_SECONDS) == -signal.SIGKILL, self.log(name)

    @property
    def _sqlite(self) -> Path:
        return self.directory / "data" / "node.sqlite3"

    def _run(self, name: str, command: Sequence[str]) -> ServerProcess:
        # The node must not inherit the settings of the tests.
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("NODE_") and key != "DJANGO_SETTINGS_MODULE"
        }
        env = {**inherited, **self._settings, "PYTHONUNBUFFERED": "1"}
        log = self.directory / f"{name}.log"
        is_warm = self._is_warm and command[0] == sys.executable
        return ServerProcess(command, log, env=env, cwd=ROOT, is_warm=is_warm)

    def _answers(self) -> bool:
        try:
            self.rpc("eth_chainId")
        except RpcUnreachable:
            return False
        return True

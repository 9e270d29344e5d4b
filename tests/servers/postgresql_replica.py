"""A read replica of a test's PostgreSQL server, by streaming replication."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tests.servers.breakable import Breakable
from tests.servers.ports import free_port
from tests.servers.postgresql import PostgresqlServer, programs, unprivileged_user
from tests.servers.process import ServerProcess


class PostgresqlReplica(Breakable):
    """A running server that replays the log of another one; every local client may connect as `node`."""

    _end_by = signal.SIGINT

    def __init__(self, primary: PostgresqlServer) -> None:
        self._primary = primary
        self.directory = Path(tempfile.mkdtemp(prefix="node-pg-"))
        self.port = free_port()
        user = unprivileged_user()
        if user:
            account = pwd.getpwnam(user)
            os.chown(self.directory, account.pw_uid, account.pw_gid)
        rights = [f"--reuid={user}", f"--regid={user}", "--init-groups"]
        command = [
            str(programs() / "pg_basebackup"), "--pgdata", str(self.directory / "cluster"),
            "--dbname", primary.url("postgres"), "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
        ]  # fmt: skip
        subprocess.run(
            ["setpriv", *rights, *command] if user else command, check=True, cwd=self.directory
        )
        server = [
            str(programs() / "postgres"), "-D", str(self.directory / "cluster"), "-p", str(self.port),
            "--listen_addresses=127.0.0.1", "--unix_socket_directories=", "--max_connections=200",
            "--fsync=off", "--wal_receiver_status_interval=1",
        ]  # fmt: skip
        self._start = lambda: ServerProcess(server, self.directory / "log", user=user)
        self._process = self._start()
        self._process.wait_until(self.answers)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return self._primary.url(database).replace(f":{self._primary.port}/", f":{self.port}/")

    def pause(self) -> None:
        """Stop replaying the primary's log; it is still received."""
        self._execute("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        """Replay the log again."""
        self._execute("SELECT pg_wal_replay_resume()")

    def stop(self) -> None:
        """Stop the server and remove its files."""
        if self._process.running:
            self._process.stop(how=signal.SIGINT)
        shutil.rmtree(self.directory)

    def answers(self) -> bool:
        """Return whether the server takes connections."""
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[arg-type]  # a constant

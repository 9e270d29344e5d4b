"""A PostgreSQL server with its own cluster in a temporary directory."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psycopg
from psycopg import sql

from tests.servers.breakable import Breakable
from tests.servers.certificates import make_certificate
from tests.servers.ports import free_port
from tests.servers.process import ServerError, ServerProcess


class PostgresqlMissing(ServerError):
    """PostgreSQL's programs are not installed."""


PASSWORD = "only-for-the-server"
"""Part of the URLs. The server does not check it; the tests check that it is never shown."""


class PostgresqlServer(Breakable):
    """A running server; every local client may connect as `node`."""

    _end_by = signal.SIGINT

    def __init__(
        self, *, durable: bool = False, tls: bool = False, addresses: Sequence[str] = ()
    ) -> None:
        """Create a cluster and start the server.

        Args:
            durable: whether commits are flushed to disk; else they survive a kill of processes but not of the machine.
            tls: whether clients may use TLS, with `certificate` as the authority.
            addresses: further addresses to listen at, for clients in the network of 4 addresses around each.
        """
        self._addresses = addresses
        self.directory = Path(tempfile.mkdtemp(prefix="node-pg-"))
        self.port = free_port()
        self._user = unprivileged_user()
        self._programs = programs()
        if self._user:
            account = pwd.getpwnam(self._user)
            os.chown(self.directory, account.pw_uid, account.pw_gid)
        self._make_cluster()
        self.certificate = make_certificate(self.directory) if tls else None
        options = {
            "listen_addresses": ",".join(["127.0.0.1", *addresses]),
            "unix_socket_directories": "",
            "max_connections": "200",
        }
        if not durable:
            # The tests kill processes, never this machine. Some check query plans, which must not
            # depend on the time at which the statistics of a table were collected.
            options |= {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}
        if self.certificate is not None:
            if self._user:
                for file in self.certificate:
                    os.chown(file, account.pw_uid, account.pw_gid)
            options |= {
                "ssl": "on",
                "ssl_cert_file": str(self.certificate.certificate),
                "ssl_key_file": str(self.certificate.key),
            }
        command = [
            str(self._programs / "postgres"), "-D", str(self.directory / "cluster"),
            "-p", str(self.port), *(f"--{name}={value}" for name, value in options.items()),
        ]  # fmt: skip
        self._start = lambda: ServerProcess(command, self.directory / "log", user=self._user)
        self._process = self._start()
        self._process.wait_until(self._answers)

    def create_database(
        self, name: str, template: str = "template1", encoding: str = "UTF8"
    ) -> str:
        """Create a database, empty or as a copy of an unused one, and return its URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            made = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING {}")
            named = (sql.Identifier(name), sql.Identifier(template), sql.Literal(encoding))
            connection.execute(made.format(*named))
        return self.url(name)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgres://node:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        """Stop the server, even if clients are connected, and remove its files."""
        self._process.stop(how=signal.SIGINT)
        shutil.rmtree(self.directory)

    def _make_cluster(self) -> None:
        rights = [f"--reuid={self._user}", f"--regid={self._user}", "--init-groups"]
        command = [
            str(self._programs / "initdb"), "--pgdata", str(self.directory / "cluster"),
            "--username=node", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
        ]  # fmt: skip
        subprocess.run(
            ["setpriv", *rights, *command] if self._user else command,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.directory,
        )
        with (self.directory / "cluster" / "pg_hba.conf").open("a") as allowed:
            allowed.writelines(f"host all all {item}/30 trust\n" for item in self._addresses)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True


def programs() -> Path:
    """Return the directory of PostgreSQL's programs: Debian's newest version, else from the PATH.

    Raises:
        PostgresqlMissing: They are not installed.
    """
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    found = str(versions[-1]) if versions else shutil.which("initdb")
    if found is None:
        raise PostgresqlMissing("initdb is not there: `make setup-test` installs PostgreSQL")
    return Path(found).resolve().parent


def _version(program: Path) -> int:
    return int(program.parts[4])


def unprivileged_user() -> str | None:
    """Return the user for PostgreSQL if the tests run as root, which PostgreSQL rejects."""
    return "postgres" if os.geteuid() == 0 else None

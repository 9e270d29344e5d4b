"""`local_network`: several nodes of one local network on this machine, until Ctrl-C."""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typing_extensions import override

from nodeproject.initialise import password_file
from nodeproject.local_network import (
    FIRST_HTTP_PORT,
    LocalNode,
    environment,
    ignored,
    prepare,
    remarks,
    settings_of,
    validators,
)
from nodeproject.process import CannotStart, check_port, claim_directory
from nodeproject.settings.node import BASE_DIR

PATIENCE = 120.0
"""Seconds within which all nodes must be ready."""
WIDTH = 200
"""Columns of the table: URLs are copied, so they are not broken."""
GRACE = 30.0
"""Seconds that a node has to end."""
LOG, LAST_LOG = "node.log", "node.log.1"
"""In each node's directory: of this run, and of the one before."""


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no whole number") from error
    if count < 1:
        raise ArgumentTypeError("must be 1 or more")
    return count


class Command(BaseCommand):
    """Starts the nodes, shows where they are, and ends them together."""

    help = "Run several nodes of one local network on loopback ports until Ctrl-C."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--nodes", type=_count, default=5, help="how many (default 5)")
        parser.add_argument(
            "--first-port", type=int, default=FIRST_HTTP_PORT, help="the first node's HTTP port"
        )
        parser.add_argument(
            "--turns", action="store_true", help="all make blocks by turns, not the first alone"
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        directory = settings.NODE.directory.resolve() / "network"
        directory.mkdir(parents=True, exist_ok=True)
        try:
            with claim_directory(directory):
                self._run(directory, options)
        except CannotStart as error:
            raise CommandError(str(error)) from error

    def _run(self, directory: Path, options: dict[str, Any]) -> None:
        count, first_port = options["nodes"], options["first_port"]
        for port in range(first_port, first_port + 2 * count):
            check_port("127.0.0.1", port, "--first-port")
        nodes = prepare(directory, count, now=int(time.time()), first_port=first_port)
        envs = [
            settings_of(directory, nodes, place, turns=options["turns"] or settings.NODE.votes)
            for place in range(len(nodes))
        ]
        said = remarks(nodes, validators(directory))
        unused = ignored(os.environ, envs[0])
        if unused:
            said.append(f"Each node has its own, so these are ignored: {', '.join(unused)}.")
        for line in said:
            self.stdout.write(line)
        running: list[subprocess.Popen[bytes]] = []
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            for node, env in zip(nodes, envs, strict=True):
                running.append(_start(node.directory, env))
            self._watch(nodes, running)
        except KeyboardInterrupt:
            self.stderr.write("")
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # they are being ended already
            _stop(running)

    def _watch(
        self, nodes: Sequence[LocalNode], running: Sequence[subprocess.Popen[bytes]]
    ) -> None:
        """Wait until all are ready, show them, and wait on until one ends."""
        console = Console()
        with console.status("Starting the nodes"):
            until = time.monotonic() + PATIENCE
            while not self._check(nodes, running) or not all(map(_is_ready, nodes)):
                if time.monotonic() > until:
                    raise CommandError(f"not all nodes were ready within {PATIENCE:.0f} s")
                time.sleep(0.3)
        wide = Console(width=max(console.width, WIDTH))
        wide.print(_table(nodes))
        wide.print(escape(_login()))
        wide.print(
            f"Data is below {nodes[0].directory.parent}, with the log of this run ({LOG}) and the one "
            f"before ({LAST_LOG}). Ctrl-C ends them all."
        )
        while True:
            self._check(nodes, running)
            time.sleep(0.5)

    def _check(
        self, nodes: Sequence[LocalNode], running: Sequence[subprocess.Popen[bytes]]
    ) -> bool:
        """Say that all run.

        Raises:
            CommandError: One has ended.
        """
        for node, process in zip(nodes, running, strict=True):
            if process.poll() is not None:
                log = node.directory / LOG
                last = log.read_text(errors="replace").strip().rpartition("\n")[2]
                raise CommandError(f"a node has ended: {last} (see {log})")
        return True


def _start(directory: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a node in a session of its own: Ctrl-C reaches this command alone, which ends the node."""
    path = directory / LOG
    if path.exists():
        path.replace(directory / LAST_LOG)
    with path.open("wb") as log:
        return subprocess.Popen(  # noqa: S603  # our own command
            [*_ending_with_us(), sys.executable, "manage.py", "runnode"],
            cwd=BASE_DIR,
            env=environment(os.environ, env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _ending_with_us() -> list[str]:
    """Return what has the kernel end a node when this command is killed, where there is such a tool."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []


def _stop(running: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_ready(node: LocalNode) -> bool:
    """Say whether it answers, and is this very node, and has all blocks."""
    try:
        with urllib.request.urlopen(f"{node.url}/ext/health/readiness", timeout=10) as answer:  # noqa: S310  # our own
            return bool(answer.status == 200 and answer.headers["node-id"] == str(node.node_id))
    except (urllib.error.URLError, OSError):
        return False


def _login() -> str:
    """Return how to log in to the nodes: all have the caller's user name, each its own password."""
    return (
        f"Each node's admin knows the user {settings.NODE.admin_user}, whose password is in "
        f"nodeN/{password_file(settings.NODE).name}; funded accounts and their keys are in nodeN/{LOG}."
    )


def _table(nodes: Sequence[LocalNode]) -> Table:
    """Return where the nodes are; each has the paths that the README lists."""
    table = Table(title="Local network", box=box.SIMPLE)
    for column in ("Node", "C-Chain RPC", "P-Chain RPC", "Admin", "Peers", "Node ID"):
        table.add_column(column, no_wrap=True)
    for place, node in enumerate(nodes, 1):
        table.add_row(
            str(place),
            f"{node.url}/ext/bc/C/rpc",
            f"{node.url}/ext/bc/P",
            f"{node.url}/admin/",
            f"127.0.0.1:{node.staking_port}",
            str(node.node_id),
        )
    return table

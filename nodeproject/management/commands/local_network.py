"""`local_network`: several nodes of one local network on this machine, and their control while they run."""

import os
import signal
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from typing_extensions import override

from network_app.snowman.parameters import InvalidParameters, default_alpha, parameters_of
from nodeproject.management.terminal import console_for_tables
from nodeproject.processes.local_network import status
from nodeproject.processes.local_network.control import Control, ask
from nodeproject.processes.local_network.directories import (
    FIRST_HTTP_PORT,
    LocalNode,
    environment,
    ignored,
    prepare,
    remarks,
    settings_of,
    validators,
)
from nodeproject.processes.local_network.processes import (
    GRACE,
    LAST_LOG,
    LOG,
    NetworkNodeProcess,
    RequestRefused,
    State,
    stop_all,
)
from nodeproject.processes.local_network.running import (
    PATIENCE,
    LocalNetworkRun,
    NetworkFailed,
    address_table,
    status_table,
)
from nodeproject.processes.local_network.status import NodeStatus, Quorum
from nodeproject.startup.process import CannotStart, check_port, claim_directory
from primitives.product import as_process, as_typed, data_home

CONSENSUS = ("snowman", "sole")
"""Either the validators vote, which is the default here, or the first node produces all blocks."""


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from error
    if count < 1:
        raise ArgumentTypeError("must be at least 1")
    return count


class Command(BaseCommand):
    """Runs the network; with `status`, `stop`, `start` and `pause` it controls a running one.

    Unspecified: `start` starts a node that has ended, and resumes a paused one. Without NODE_DATA_DIR
    the network is below `data/local-network`, beside the data of a single node.
    """

    help = (
        "Run several nodes of one local network on loopback ports until Ctrl-C; in a second terminal "
        "show them, and stop, start or pause one."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--nodes", type=_count, default=5, help="how many (default 5)")
        parser.add_argument(
            "--first-port", type=int, default=FIRST_HTTP_PORT, help="the first node's HTTP port"
        )
        parser.add_argument(
            "--consensus",
            choices=CONSENSUS,
            help="whether the validators vote on blocks, or the first node produces "
            "them all (default: NODE_CONSENSUS, else snowman)",
        )
        actions = parser.add_subparsers(
            dest="action", metavar="status | stop N | start N | pause N"
        )
        actions.add_parser("status", help="show the nodes, and whether the network decides")
        for action, meaning in (
            ("stop", "stop a node cleanly"),
            ("start", "start a stopped node, or resume a paused one"),
            ("pause", "freeze a node (SIGSTOP): it stays connected but does not answer"),
        ):
            actions.add_parser(action, help=meaning).add_argument("node", type=int, metavar="N")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        parent = (
            settings.NODE.common.directory
            if settings.NODE.common.data_dir
            else data_home() / "local-network"
        )
        directory = parent.resolve() / "network"
        action = options.get("action")
        try:
            if action == "status":
                self._status(directory)
            elif action:
                self._change(directory, action, options["node"])
            else:
                directory.mkdir(parents=True, exist_ok=True)
                with claim_directory(directory):
                    self._run(directory, options)
        except (CannotStart, InvalidParameters, NetworkFailed, RequestRefused) as error:
            raise CommandError(str(error)) from error

    def _run(self, directory: Path, options: dict[str, Any]) -> None:
        count, first_port = options["nodes"], options["first_port"]
        for port in range(first_port, first_port + 2 * count):
            check_port("127.0.0.1", port, "--first-port")
        nodes = prepare(directory, count, now=int(time.time()), first_port=first_port)
        consensus = options["consensus"] or os.environ.get("NODE_CONSENSUS") or CONSENSUS[0]
        votes = consensus == "snowman"
        envs = [settings_of(directory, nodes, place, votes=votes) for place in range(len(nodes))]
        founders = validators(directory)
        quorum = _quorum(len(founders), "" if votes else str(nodes[0].node_id))
        said = remarks(nodes, founders, quorum)
        unused = ignored(os.environ, envs[0])
        if unused:
            said.append(f"Each node has its own, so these are ignored: {', '.join(unused)}.")
        for line in said:
            self.stdout.write(line)
        processes = [
            NetworkNodeProcess(
                f"node {place}",
                node.directory,
                as_process("runnode"),
                environment(os.environ, env),
            )
            for place, (node, env) in enumerate(zip(nodes, envs, strict=True), 1)
        ]
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, lambda *_: sys.exit(0))
        try:
            with Control(directory) as control:
                running = LocalNetworkRun(
                    nodes, processes, quorum, self._say, settings.NODE.rpc_headers
                )
                with Console().status("Starting the nodes"):
                    running.start(control)
                _show(nodes)
                running.watch(control)
        except KeyboardInterrupt:
            self.stderr.write("")
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # the nodes are being stopped already
            stop_all(processes)

    def _say(self, words: str) -> None:
        self.stdout.write(f"{time.strftime('%H:%M:%S')} {words}")
        self.stdout.flush()

    def _status(self, directory: Path) -> None:
        """Show the status of each node, and whether the network can decide."""
        reply = ask(directory, "status")
        nodes, quorum = reply["nodes"], Quorum(**reply["quorum"])
        with ThreadPoolExecutor(len(nodes)) as pool:
            answers = list(pool.map(_answers, nodes))
        stakes = next((dict(answer.stakes) for answer in answers if answer), None)
        known = stakes or {node["node_id"]: 1 for node in nodes}
        wide = console_for_tables()
        wide.print(status_table(nodes, answers, known))
        ready = {
            node["node_id"] for node, one in zip(nodes, answers, strict=True) if one and one.ready
        }
        wide.print(escape(status.in_words(quorum, known, ready)), soft_wrap=True)

    def _change(self, directory: Path, action: str, number: int) -> None:
        """Stop, start or pause a node, and wait until that is done."""
        node = ask(directory, action, number)["nodes"][number - 1]
        until = time.monotonic() + (2 * GRACE if action == "stop" else PATIENCE)
        while not _is_done(action, node):
            if node["state"] in {State.ENDED, State.STOPPED}:
                why = node["ending"] or "it was stopped meanwhile"
                raise CommandError(f"node {number} has ended: {why}")
            if time.monotonic() > until:
                raise CommandError(
                    f"node {number} did not reach the requested state in time: it is {node['state']}"
                )
            time.sleep(0.2)
            node = ask(directory, "status")["nodes"][number - 1]
        words = {"stop": "is stopped", "start": "runs and is ready", "pause": "is paused"}[action]
        self.stdout.write(f"node {number} {words}")


def _quorum(count: int, sole: str) -> Quorum:
    """Return the quorum of this many validators, by the settings that reach the nodes.

    Raises:
        InvalidParameters: The settings allow no decision.
    """
    found = parameters_of(settings.NODE.peers.snow, default_alpha(count, local=True))
    return Quorum(found.alpha_confidence, found.k, sole)


def _answers(node: Mapping[str, str]) -> NodeStatus | None:
    if node["state"] != State.RUNNING:
        return None
    return NodeStatus.of(node["url"], node["node_id"], settings.NODE.rpc_headers)


def _is_done(action: str, node: Mapping[str, str]) -> bool:
    if action == "start":
        return node["state"] == State.RUNNING and status.is_ready(node["url"], node["node_id"])
    return node["state"] == {"stop": State.STOPPED, "pause": State.PAUSED}[action]


def _show(nodes: Sequence[LocalNode]) -> None:
    """Show the addresses of the nodes."""
    wide = console_for_tables()
    wide.print(address_table(nodes))
    wide.print(escape(_login()))
    wide.print(
        f"Data is below {nodes[0].directory.parent}, with the log of this run ({LOG}) and the one "
        f"before ({LAST_LOG}). Ctrl-C ends them all."
    )
    where = (
        f"NODE_DATA_DIR={settings.NODE.common.data_dir} " if settings.NODE.common.data_dir else ""
    )
    wide.print(
        escape(
            f"In a second terminal `{where}{as_typed('local_network status')}` shows them, "
            "and `stop N`, `start N` or `pause N` instead of `status` let you watch failover."
        )
    )


def _login() -> str:
    """Return how to log in to the nodes: all have the caller's user name, each its own password."""
    return (
        f"Each node's admin knows the user {settings.NODE.admin_user}; its password is in "
        f"nodeN/{settings.NODE.password_path.name}; funded accounts and their keys are in nodeN/{LOG}."
    )

"""`runnode`: initialises missing data, starts workers and server, and prints all addresses."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from django.core.management.base import CommandError
from django.db import connections
from typing_extensions import override

from cchain_app.evm.select import is_native
from cchain_app.selectors import blocks
from cchain_app.services import genesis
from cchain_app.services.accounts import impersonate
from chaindb.checkpoints import Checkpointer
from nodeproject.apps import this_node
from nodeproject.cli import StartCommand
from nodeproject.management.banner import banner_of
from nodeproject.management.initialise import initialise_or_explain
from nodeproject.management.local_files import StateFiles, write_config
from nodeproject.management.terminal import print_listening
from nodeproject.node import Node
from nodeproject.processes.embedded import EmbeddedNetwork, EmbeddedWorkers
from nodeproject.processes.server import serve
from nodeproject.startup.process import CannotStart, Termination, check_port, claim_directory
from nodeproject.web.paths import address_file, base_url, reachable
from primitives.whole_files import write_whole

if TYPE_CHECKING:  # few nodes have such a socket
    from nodeproject.processes.ipc import IpcServer

SLOW_ENGINE = (
    "The reference engine runs: a thousand times slower than the native one (about 0.7 Mgas a "
    "second). Install a Rust toolchain (cargo), then `make native` builds the native engine."
)


class Companion(Protocol):
    """A thread that runs as long as the web server."""

    def start(self) -> None:
        """Start the thread."""

    def stop(self) -> None:
        """End the thread and wait for its end."""


class Command(StartCommand):
    """Runs the node until it is interrupted. Its flags are in the environment by now (`cli`)."""

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        settings = node.settings
        embedded = settings.common.profile == "embedded"
        try:
            with claim_directory(settings.common.directory) if embedded else nullcontext():
                check_port(
                    settings.http_host, settings.http_port, "NODE_HTTP_PORT", "NODE_HTTP_HOST"
                )
                if embedded and settings.peers.network:
                    check_port(
                        settings.peers.staking_host,
                        settings.peers.staking_port,
                        "NODE_STAKING_PORT",
                        "NODE_STAKING_HOST",
                    )
                if embedded:
                    node.processes.register("node")
                ipc = _ipc(node)
                initialise_or_explain(node, makes_identity=embedded)
                self._run(node, _companions(node) if embedded else [], ipc)
        except CannotStart as error:
            raise CommandError(str(error)) from error

    def _run(self, node: Node, companions: Sequence[Companion], ipc: "IpcServer | None") -> None:
        if node.evm_chain.engine.name != "revm":
            self.stderr.write(SLOW_ENGINE)
        for remark in genesis.remarks(node.evm_chain):
            self.stderr.write(remark)
        if exposed := exposure(node):
            self.stderr.write(exposed)
        state = StateFiles(node.evm_chain, node.settings)
        if unloaded := state.load():
            self.stderr.write(unloaded)
        if node.settings.cchain.auto_impersonate and node.evm_chain.has_development_methods:
            impersonate(node.evm_chain, None)
        if node.settings.config_out:
            write_config(node, Path(node.settings.config_out))
        banner = None if node.settings.quiet else banner_of(node)
        if banner is not None and node.settings.http_port:
            banner(base_url(node.settings))
            banner = None
        # The server raises the signal again after it has ended; then the companions are stopped.
        termination = Termination()
        if node.settings.common.profile == "embedded":
            _prepare(node)
        connections.close_all()
        try:
            with ExitStack() as running:
                running.callback(_unlist, node, ipc)
                state.start()
                running.callback(state.stop)
                listen = partial(
                    _listen,
                    node,
                    termination,
                    companions=companions,
                    running=running,
                    banner=banner,
                    ipc=ipc,
                )
                serve(listen)
        finally:
            if unwritten := state.dump():
                self.stderr.write(unwritten)


def _listen(
    node: Node,
    termination: Termination,
    host: str,
    port: int,
    *,
    companions: Sequence[Companion],
    running: ExitStack,
    banner: Callable[[str], None] | None,
    ipc: "IpcServer | None",
) -> None:
    """Write the node's address for its commands and print it, unless it is quiet or about to end; start its companions.

    The banner of a node whose port the system chooses is printed now that the port is known. Companions start beside the
    first answers, which need none of them.
    """
    termination.once_more()
    if banner is not None:
        banner(f"http://{reachable(host)}:{port}")
    with suppress(OSError):  # a node that cannot write a file still answers
        write_whole(address_file(node.settings), json.dumps([host, port]).encode())
    if ipc is not None:
        ipc.start(f"ws://{reachable(host)}:{port}/ext/bc/C/ws")
    if not node.settings.quiet:
        print_listening(host, port)
    for companion in companions:
        companion.start()
        running.callback(companion.stop)


def _unlist(node: Node, ipc: "IpcServer | None") -> None:
    """Remove the files by which others find the running node."""
    if ipc is not None:
        ipc.stop()
    address_file(node.settings).unlink(missing_ok=True)


def exposure(node: Node) -> str:
    """Return a warning if other machines can call development methods without a token; empty if not.

    Unspecified: Anvil and Hardhat say nothing with `--host 0.0.0.0`.
    """
    settings = node.settings
    if not node.evm_chain.has_development_methods or settings.rpc_tokens:
        return ""
    host = settings.http_host
    try:
        if ip_address(host.strip("[]")).is_loopback:
            return ""
    except ValueError:  # a name, or all addresses
        if host == "localhost":
            return ""
    return (
        f"Development methods are open to other machines, because HTTP listens on {host or '*'}: every client can change "
        "balances, code and time, and send transactions from the accounts. NODE_HTTP_HOST=127.0.0.1 closes them, "
        "NODE_RPC_TOKEN_FILE requires a token, NODE_PROFILE=production has no such methods."
    )


def _ipc(node: Node) -> "IpcServer | None":
    """Return the server of the socket that NODE_IPC names, if any. Raises CannotStart."""
    if not node.settings.ipc:
        return None
    from nodeproject.processes.ipc import IpcServer

    limit, headers = node.settings.cchain.ws.message_limit, node.settings.rpc_headers
    server = IpcServer(Path(node.settings.ipc), limit, headers)
    server.verify()
    return server


def _prepare(node: Node) -> None:
    """Prepare this process for answering requests and for building blocks.

    The head is read now, because reading it for the first request would need a thread, and other clients may keep
    all threads busy. The process also answers requests, so background indexing yields to them.
    """
    with suppress(blocks.NoGenesis):  # other nodes will provide it
        blocks.catch_up(node.evm_chain)
    if is_native(node.settings.cchain.engine):
        for runtime in tuple(node.evm_runtimes.values()):
            runtime.mine_on_arrival()
    interpreter = node.endpoints.interpreter
    node.evm_chain.indexing.beside(time.process_time, lambda: interpreter.needed_by > 0)


def _companions(node: Node) -> list[Companion]:
    """Return the threads that run beside the web server in the embedded profile's single process.

    A fork has no peer network: no node can follow it, because its state roots are not the real ones.
    """
    companions: list[Companion] = [EmbeddedWorkers()]
    if node.database.connection.vendor == "sqlite":
        companions.append(Checkpointer(node.database))
    if node.settings.peers.network and node.evm_chain.fork is None:
        companions.append(EmbeddedNetwork(lambda: node.network))
    return companions

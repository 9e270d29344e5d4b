"""`runnode`: initialise what is missing, start workers and server, and say where everything is."""

import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.banner import print_banner
from nodeproject.initialise import initialise_or_explain
from nodeproject.node import Node
from nodeproject.peers import EmbeddedNetwork
from nodeproject.process import CannotStart, check_port, claim_directory
from nodeproject.server import serve
from nodeproject.settings.node import NodeSettings
from nodeproject.workers import EmbeddedWorkers

SLOW_ENGINE = (
    "The reference engine runs: a thousand times slower than the native one (about 0.7 Mgas a "
    "second). Install a Rust toolchain (cargo), then `make native` builds the native engine."
)


class Companion(Protocol):
    """A thread that lives as long as the web server."""

    def start(self) -> None:
        """Start it."""

    def stop(self) -> None:
        """End it and wait for that."""


class Command(BaseCommand):
    """Runs the node until it is interrupted."""

    help = "Run the node: in the embedded profile with its workers, in production the web server."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        settings = node.settings
        embedded = settings.profile == "embedded"
        try:
            with claim_directory(settings.directory) if embedded else nullcontext():
                check_port(
                    settings.http_host, settings.http_port, "NODE_HTTP_PORT", "NODE_HTTP_HOST"
                )
                if embedded and settings.network:
                    check_port(
                        settings.staking_host,
                        settings.staking_port,
                        "NODE_STAKING_PORT",
                        "NODE_STAKING_HOST",
                    )
                initialise_or_explain(node)
                self._run(node, _companions(settings) if embedded else [])
        except CannotStart as error:
            raise CommandError(str(error)) from error

    def _run(self, node: Node, companions: Sequence[Companion]) -> None:
        if node.evm_chain.engine.name != "revm":
            self.stderr.write(SLOW_ENGINE)
        print_banner(node)
        # The server raises the signal again when it has ended: then the companions' turn has come.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        connections.close_all()
        for one in companions:
            one.start()
        try:
            serve()
        finally:
            for one in reversed(companions):
                one.stop()


def _companions(settings: NodeSettings) -> list[Companion]:
    """Return what runs beside the web server in the embedded profile's one process."""
    companions: list[Companion] = [EmbeddedWorkers()]
    if settings.network:
        companions.append(EmbeddedNetwork(this_node().network))
    return companions

"""`runnode`: initialise what is missing, start workers and server, and say where everything is."""

import signal
import sys
from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from cchain_app import runtime
from nodeproject.banner import print_banner
from nodeproject.initialise import initialise_or_explain
from nodeproject.process import CannotStart, check_port, claim_directory
from nodeproject.server import serve
from nodeproject.workers import EmbeddedWorkers

SLOW_ENGINE = (
    "The reference engine runs: a thousand times slower than the native one (about 0.7 Mgas a "
    "second). Install a Rust toolchain (cargo), then `make native` builds the native engine."
)


class Command(BaseCommand):
    """Runs the node until it is interrupted."""

    help = "Run the node: in the embedded profile with its workers, in production the web server."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = settings.NODE
        embedded = node.profile == "embedded"
        try:
            with claim_directory(node.directory) if embedded else nullcontext():
                check_port(node.http_host, node.http_port)
                initialise_or_explain()
                self._run(EmbeddedWorkers() if embedded else None)
        except CannotStart as error:
            raise CommandError(str(error)) from error

    def _run(self, workers: EmbeddedWorkers | None) -> None:
        if runtime.engine().name != "revm":
            self.stderr.write(SLOW_ENGINE)
        print_banner()
        # The server raises the signal again when it has ended: then the workers' turn has come.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        connections.close_all()
        if workers:
            workers.start()
        try:
            serve()
        finally:
            if workers:
                workers.stop()

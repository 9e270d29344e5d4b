"""`runnode`: initialise what is missing, start workers and server, and say where everything is."""

import gc
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from typing_extensions import override

from cchain_app import runtime
from cchain_app.services.genesis import GenesisMismatch
from nodeproject.banner import print_banner
from nodeproject.initialise import initialise
from nodeproject.server import serve
from nodeproject.workers import EmbeddedWorkers

SLOW_ENGINE = (
    "The reference engine runs: a thousand times slower than the native one (about 0.7 Mgas a "
    "second). Install a Rust toolchain (cargo), then `make native` builds the native engine."
)


SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy thread lets another one run. With Python's own 5 ms an answer would
wait for the block that its transaction has set off in the worker's thread."""


class Command(BaseCommand):
    """Runs the node until it is interrupted."""

    help = "Run the node: in the embedded profile with its workers, in production the web server."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            initialise()
        except GenesisMismatch as error:
            raise CommandError(str(error)) from error
        if runtime.engine().name != "revm":
            self.stderr.write(SLOW_ENGINE)
        _calm_garbage_collector()
        sys.setswitchinterval(SWITCH_INTERVAL)
        workers = EmbeddedWorkers() if settings.NODE.profile == "embedded" else None
        print_banner()
        if workers:
            workers.start()
        try:
            serve()
        finally:
            if workers:
                workers.stop()


def _calm_garbage_collector() -> None:
    """Keep what is loaded now out of the collector's sight, and let it run less often.

    Blocks of a thousand transactions make many objects that live for a moment; with the default
    thresholds a full collection over all modules falls into every second block.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)

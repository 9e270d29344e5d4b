"""`runproducer`: the process that builds all chains' blocks, for the production profile."""

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.processes.producer import producers
from nodeproject.startup import process
from nodeproject.startup.profile import CHECKS


class Command(BaseCommand):
    """Builds blocks until it is interrupted."""

    requires_system_checks = CHECKS
    help = "Produce the blocks of all chains; a process of the production profile."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        if node.settings.common.profile == "embedded":
            raise CommandError("In the embedded profile `runnode` produces blocks.")
        node.observation.observe("producer")
        node.begin_transaction_logs()
        connections.close_all()
        process.tune()
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        makers = producers(node, stopping)
        for maker in makers:
            maker.start()
        stopping.wait()
        for maker in makers:
            maker.join()
        node.end_transaction_logs()

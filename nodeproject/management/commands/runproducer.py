"""`runproducer`: the process that makes both chains' blocks, for the production profile."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from nodeproject import observation, process
from nodeproject.producer import producers


class Command(BaseCommand):
    """Makes blocks until it is interrupted."""

    help = "Make both chains' blocks: a process of the production profile."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.NODE.profile == "embedded":
            raise CommandError("In the embedded profile `runnode` makes blocks itself.")
        observation.observe_producer()
        connections.close_all()
        process.tune()
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        makers = producers(stopping)
        for maker in makers:
            maker.start()
        stopping.wait()
        for maker in makers:
            maker.join()

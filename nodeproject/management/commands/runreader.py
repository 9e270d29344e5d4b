"""`runreader`: a process that answers reads, started by the node's own process (`nodeproject.processes.readers`)."""

import os
import signal
import socket
import threading
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand
from django.db import connections
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.heads.shared_memory import HeadPage
from nodeproject.processes.readers.application import ReaderApplication, protocol_of
from nodeproject.processes.readers.handover import Handover
from nodeproject.processes.readers.head import ReaderHead
from nodeproject.processes.server import BesideServer, config_of
from nodeproject.startup import process

GRACE: Final = 8.0
"""Seconds after the writer's end within which running calls must end; uvicorn waits for less."""


class Command(BaseCommand):
    """Answers reads until the writer ends. Its arguments are inherited file descriptors."""

    requires_system_checks = ()
    help = "Answer reads beside the node's process: `runnode` starts it where NODE_WEB_WORKERS says so."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("line", type=int, help="the socket to the node's process")
        parser.add_argument("page", type=int, help="the page that says where the chain is")
        parser.add_argument("listening", type=int, nargs="+", help="the sockets to listen on")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        # Ctrl-C in a terminal is for the node, which then ends this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        node = this_node()
        node.processes.enrol("reader")
        chain = node.evm_chain
        _refuse_to_write()
        process.raise_descriptors()
        line = socket.socket(fileno=options["line"])
        head = ReaderHead(chain, HeadPage(options["page"]))
        chain.read_genesis()
        application = ReaderApplication(node)
        node.observation.observe_web(node.doors.workers)
        handover = Handover(line)
        config = config_of(application, protocol_of(node, head, handover))
        config.load_app()
        connections.close_all()
        process.tune()
        server = BesideServer(config)
        signal.signal(signal.SIGTERM, lambda *_: server.end())
        threading.Thread(target=_end_with, args=[line, server], name="line", daemon=True).start()
        server.run([socket.socket(fileno=option) for option in options["listening"]])
        handover.close()


def _refuse_to_write() -> None:
    """Make all database connections that are opened from now on read-only."""
    for connection in connections.all():
        connection.settings_dict["OPTIONS"]["init_command"] += ";PRAGMA query_only=ON"
        connection.close()


def _end_with(line: socket.socket, server: BesideServer) -> None:
    """End this process when the writer ends for any reason: the kernel then closes the writer's end of the socket."""
    try:
        line.recv(1)
    finally:
        server.end()
        threading.Event().wait(GRACE)
        os._exit(1)

"""`runnetwork`: the process that talks to other nodes, for the production profile."""

import asyncio
import signal
from typing import Any

import uvloop
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, OperationalError, connection
from typing_extensions import override

from network_app.addresses import MalformedAddress
from network_app.producer import MalformedProducer
from network_app.runtime import RunningNetwork
from network_app.snowman.parameters import InvalidParameters
from nodeproject.apps import this_node
from nodeproject.startup.profile import CHECKS
from platform_app.chain import NoPlatformGenesis


class Command(BaseCommand):
    """Connects to peers until it is interrupted."""

    requires_system_checks = CHECKS
    help = "Run the peer network; a process of the production profile."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        process = this_node()
        process.observation.observe("network")
        node = process.settings
        if node.common.profile == "embedded":
            raise CommandError("In the embedded profile `runnode` connects to peers.")
        network = _network()
        self.stderr.write(f"Peers connect to {node.peers.staking_host}:{node.peers.staking_port}")
        process.begin_transaction_logs()
        try:
            uvloop.run(_until_interrupted(network))
        except OSError as error:
            raise CommandError(
                f"cannot listen on {node.peers.staking_host}:{node.peers.staking_port}: {error.strerror}"
            ) from error
        finally:
            process.end_transaction_logs()


def _network() -> RunningNetwork:
    """Create the network, or raise an error that says why it cannot be created."""
    try:
        connection.ensure_connection()
    except OperationalError as error:
        words = " ".join(str(error).split())
        raise CommandError(f"The database cannot be reached: {words}") from None
    try:
        return RunningNetwork(this_node().network)
    except (InvalidParameters, MalformedAddress, MalformedProducer) as error:
        raise CommandError(str(error)) from error
    except (NoPlatformGenesis, DatabaseError, FileNotFoundError):
        raise CommandError("This node has no chain yet: run `init_node` first.") from None


async def _until_interrupted(network: RunningNetwork) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    await network.run(stopping)

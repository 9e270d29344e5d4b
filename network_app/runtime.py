"""The network of this node, put together from the settings, and its life from start to stop.

It lives on one event loop: of a thread in the embedded profile, of the process `runnetwork` in
production. What it reports is written by `services.records`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.conf import settings

from cchain_app import notifications as cchain_notifications
from cchain_app.services.genesis import genesis_text
from chaindb import clock, pointers
from chaindb.chains import Chain
from chaindb.connections import in_thread
from network_app import addresses, turns
from network_app.chains.wrapped import WrappedChain
from network_app.config import NetworkConfig
from network_app.directory import ValidatorDirectory
from network_app.peers.network import Network
from network_app.ports import PeerInfo
from network_app.services import records
from network_app.services.records import DatabaseRecords
from network_app.sync.engine import Beacons, Engine, GenesisBytes
from network_app.wire.p2p_pb2 import Message
from platform_app import notifications as platform_notifications
from platform_app.selectors import chain as platform_chain
from platform_app.services import uptime
from primitives.ids import ID, NodeID

HEARTBEAT = 1.0
"""Seconds between reports of the peers."""
LOOK = 1.0
"""Seconds between looks at the heads: pointers may be lost."""
DIRECTORY = 1.0
"""Seconds between looks at the validators."""

_log = logging.getLogger(__name__)


def network_config() -> NetworkConfig:
    """Return the limits and periods of this node's network."""
    return NetworkConfig(network_id=settings.NODE.network_id)


class RunningNetwork:
    """The connections, what happens on them, and the reports of it."""

    def __init__(self) -> None:
        config = network_config()
        self._directory = ValidatorDirectory()
        self._addresses = addresses.bootstrappers()
        advertised = addresses.advertised()
        own = turns.identity()
        self._chains = [
            WrappedChain(wrapper, makes_blocks=turns.is_producer())
            for wrapper in (turns.wrapper(Chain.P), turns.wrapper(Chain.C))
        ]
        self._handler = _Later()
        self._network = Network(
            own,
            config,
            self._handler,
            self._directory,
            listen=addresses.listening(),
            advertised=advertised,
            tracked=self._addresses,
        )
        self._records = DatabaseRecords(str(advertised))
        self._engine = Engine(
            self._network,
            self._chains,
            self._records,
            config,
            self._directory,
            beacons=self._beacons,
            run=in_thread,
            now=time.time,
            genesis=_genesis,
        )
        self._handler.engine = self._engine

    async def run(self, stopping: asyncio.Event) -> None:
        """Live until `stopping` is set."""
        await in_thread(_begin, self._records)
        await in_thread(self._directory.read)
        unbind = pointers.bind(asyncio.get_running_loop(), self._told)
        try:
            await self._network.start()
            tasks = [
                asyncio.create_task(self._engine.run()),
                asyncio.create_task(_repeat(self._report, HEARTBEAT)),
                asyncio.create_task(_repeat(self._read_directory, DIRECTORY)),
                asyncio.create_task(_repeat(self._look_at_heads, LOOK)),
            ]
            waiting = asyncio.create_task(stopping.wait())
            await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            await _end(waiting, *tasks)
        finally:
            unbind()
            await self._network.stop()
            await in_thread(records.end)

    def _beacons(self) -> Beacons:
        found = self._network.tracked_peers()
        return Beacons(frozenset(found), len(self._addresses))

    def _told(self, message: dict[str, Any]) -> None:
        """Take a pointer of this node's own chains."""
        match message["type"]:
            case platform_notifications.HEAD:
                self._engine.blocks_accepted(Chain.P, message["height"])
            case cchain_notifications.HEAD:
                self._engine.blocks_accepted(Chain.C, message["number"])
            case platform_notifications.ISSUED:
                self._engine.transactions_issued(Chain.P, _ids(message["tx_ids"]))
            case cchain_notifications.PENDING:
                self._engine.transactions_issued(Chain.C, _ids(message["hashes"]))

    async def _look_at_heads(self) -> None:
        """Find blocks whose pointer was lost, or that another process made (time travel)."""
        if self._network.connected():
            for alias in Chain:
                self._engine.blocks_accepted(alias)

    async def _report(self) -> None:
        connected = list(self._network.connected().values())
        await in_thread(
            self._records.peers,
            connected,
            self._network.totals(),
            self._engine.benched(),
            self._network.known_addresses(),
        )

    async def _read_directory(self) -> None:
        await in_thread(self._directory.read)


def _genesis() -> GenesisBytes:
    """Return what this network began with, for nodes that join it."""
    return GenesisBytes(platform_chain.genesis_bytes() or b"", genesis_text().encode())


def _begin(reports: DatabaseRecords) -> None:
    """Note that nobody has looked at peers until now."""
    reports.begin()
    uptime.begin(clock.now())


def _ids(keys: Sequence[bytes]) -> list[ID]:
    return [ID(key) for key in keys]


class _Later:
    """The handler of messages before there is one: connections and engine need each other."""

    engine: Engine

    def connected(self, peer: PeerInfo) -> None:
        self.engine.connected(peer)

    def disconnected(self, node_id: NodeID) -> None:
        self.engine.disconnected(node_id)

    async def handle(self, node_id: NodeID, message: Message) -> None:
        await self.engine.handle(node_id, message)


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Do something again and again. A database that is away does not end the network."""
    failing = False
    while True:
        try:
            await work()
            failing = False
        except Exception:  # whatever it is, the next time may be better
            if not failing:
                _log.exception("the network's reports fail")
            failing = True
        await asyncio.sleep(seconds)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait for them; one that failed by itself is the caller's failure."""
    failed = [one for one in tasks if one.done() and not one.cancelled() and one.exception()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in failed:
        task.result()

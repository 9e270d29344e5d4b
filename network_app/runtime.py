"""The network of this node, put together from the settings, and its life from start to stop.

It lives on one event loop: of a thread in the embedded profile, of the process `runnetwork` in
production. What it reports is written by `services.records`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.conf import settings

from cchain_app import notifications as cchain_notifications
from cchain_app.apps import evm_chain
from cchain_app.services.genesis import genesis_text
from chaindb import clock
from chaindb.chains import Chain, present
from chaindb.connections import in_thread, release
from network_app import addresses
from network_app.addresses import Address
from network_app.apps import node_network
from network_app.chains import voting
from network_app.chains.chain import NetworkChain
from network_app.config import UPGRADE_TIME, NetworkConfig
from network_app.consensus.reporter import ConsensusReporter
from network_app.directory import ValidatorDirectory
from network_app.peers.network import Network
from network_app.ports import PeerInfo
from network_app.services import records
from network_app.services.records import DatabaseRecords
from network_app.sync.gate import AT_ONCE
from network_app.sync.router import Beacons, ChainRouter, GenesisBytes
from network_app.wire.p2p_pb2 import Message
from platform_app import notifications as platform_notifications
from platform_app.apps import platform_chain
from platform_app.selectors import accepted
from platform_app.services import uptime
from primitives.ids import ID, NodeID

HEARTBEAT = 1.0
"""Seconds between reports of the peers."""
LONELY_HEARTBEAT = 5.0
"""The same where there was no peer and there is none: well below what counts as silence."""
LOOK = 1.0
"""Seconds between looks at the heads: pointers may be lost."""
DIRECTORY = 1.0
"""Seconds between looks at the validators."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


def network_config() -> NetworkConfig:
    """Return the limits and periods of this node's network."""
    network_id = settings.NODE.network_id
    return NetworkConfig(network_id=network_id, upgrade_time=UPGRADE_TIME)


class RunningNetwork:
    """The connections, what happens on them, and the reports of it.

    Raises:
        MalformedProducer: NODE_PRODUCER is no node ID.
        InvalidParameters: Where the validators vote, by the NODE_SNOW_… settings nothing can be decided.
    """

    def __init__(self) -> None:
        config = network_config()
        self._directory = ValidatorDirectory()
        self._addresses = addresses.bootstrappers()
        advertised = addresses.advertised()
        own = node_network().identity
        self._chains = node_network().chains
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
        self._reports = _Reports()
        self._serving = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="serving")
        self._bootstrappers = _Bootstrappers(self._addresses, own.node_id)
        if len(self._addresses) < len(settings.NODE.bootstrap):
            _log.warning("NODE_BOOTSTRAP names an address more than once: it counts once")
        self._records = DatabaseRecords(str(advertised), settings.NODE.kept_decisions)
        self._consensus = ConsensusReporter(self._records, in_thread)
        self._router = ChainRouter(
            self._network,
            self._chains,
            self._records,
            config,
            self._directory,
            beacons=self._beacons,
            run=in_thread,
            serve=self._serve,
            now=time.time,
            genesis=_genesis,
            take_part=self._consensus.watched(node_network().take_part()),
            producer=node_network().producer.node_id,
        )
        self._handler.router = self._router

    async def run(self, stopping: asyncio.Event) -> None:
        """Live until `stopping` is set."""
        await in_thread(_begin, self._records, self._chains)
        await in_thread(self._directory.read)
        pointers = node_network().pointers
        unbind = pointers.bind(asyncio.get_running_loop(), self._told, present())
        try:
            await self._network.start()
            tasks = [
                asyncio.create_task(self._router.run()),
                asyncio.create_task(_repeat(self._report, HEARTBEAT)),
                asyncio.create_task(_repeat(self._consensus.report, HEARTBEAT)),
                asyncio.create_task(_repeat(self._read_directory, DIRECTORY)),
                asyncio.create_task(_repeat(self._look_at_heads, LOOK)),
            ]
            waiting = asyncio.create_task(stopping.wait())
            await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            await _end(waiting, *tasks)
        finally:
            unbind()
            await self._network.stop()
            self._serving.shutdown(wait=False, cancel_futures=True)
            await in_thread(records.end)

    async def _serve(self, work: Callable[..., T], /, *args: object) -> T:
        """Do what a peer asks for in a thread of its own kind: no block waits for it."""

        def run() -> T:
            try:
                return work(*args)
            finally:
                release()

        return await asyncio.get_running_loop().run_in_executor(self._serving, run)

    def _beacons(self) -> Beacons:
        found = self._network.tracked_nodes()
        return self._bootstrappers.beacons(found, self._network.tracked_peers())

    def _told(self, message: dict[str, Any]) -> None:
        """Take a pointer of this node's own chains."""
        match message["type"]:
            case platform_notifications.HEAD:
                self._router.blocks_accepted(Chain.P, message["height"])
            case cchain_notifications.HEAD:
                self._router.blocks_accepted(Chain.C, message["number"])
            case platform_notifications.ISSUED:
                self._router.transactions_issued(Chain.P, _ids(message["tx_ids"]))
            case cchain_notifications.PENDING:
                self._router.transactions_issued(Chain.C, _ids(message["hashes"]))
            case voting.BLOCKS_WAITING:
                self._router.blocks_waiting(message["chain"])

    async def _look_at_heads(self) -> None:
        """Find blocks whose pointer was lost, or that another process made (time travel)."""
        if self._network.connected():
            for alias in present():
                self._router.blocks_accepted(alias)

    async def _report(self) -> None:
        connected, now = list(self._network.connected().values()), time.monotonic()
        if not self._reports.is_due(len(connected), now):
            return
        await in_thread(
            self._records.peers,
            connected,
            self._network.totals(),
            self._router.benched(),
            self._network.known_addresses(),
        )
        self._reports.done(len(connected), now)

    async def _read_directory(self) -> None:
        await in_thread(self._directory.read)


def _genesis() -> GenesisBytes:
    """Return what this network began with, for nodes that join it."""
    return GenesisBytes(
        accepted.genesis_bytes(platform_chain()) or b"",
        genesis_text(evm_chain()).encode(),
        node_network().producer.told_to_others,
    )


def _begin(reports: DatabaseRecords, chains: Sequence[NetworkChain[Any]]) -> None:
    """Note that nobody has looked at peers until now, and let the chains be ready for them."""
    evm_chain().read_genesis()
    for chain in chains:
        chain.begin()
    reports.begin()
    uptime.begin(platform_chain(), clock.now())


def _ids(keys: Sequence[bytes]) -> list[ID]:
    return [ID(key) for key in keys]


class _Reports:
    """When the peers are reported: each second where there are any, seldom where nobody comes."""

    def __init__(self) -> None:
        self._connected: int | None = None
        """At the last report; None before the first."""
        self._at = 0.0

    def is_due(self, connected: int, now: float) -> bool:
        """Say whether to report now."""
        alone = connected == 0 == self._connected
        return not alone or now - self._at >= LONELY_HEARTBEAT

    def done(self, connected: int, now: float) -> None:
        """Note a report."""
        self._connected, self._at = connected, now


class _Bootstrappers:
    """The nodes behind the addresses of NODE_BOOTSTRAP. Who is behind one is known once it answers."""

    def __init__(self, addresses: Sequence[Address], own: NodeID) -> None:
        self._addresses = addresses
        self._own = own
        self._warned: set[Address] = set()

    def beacons(
        self, found: Mapping[tuple[str, int], NodeID], connected: Collection[NodeID]
    ) -> Beacons:
        """Count them, and say in the log which of the addresses do not count."""
        first: dict[NodeID, Address] = {}
        for address in self._addresses:
            node_id = found.get(address)
            if node_id is None:
                continue
            if node_id == self._own:
                self._warn(address, "is this node itself: it is left out")
            elif node_id in first:
                self._warn(address, f"is the node at {first[node_id]}: it counts once")
            else:
                first[node_id] = address
        return Beacons.of(len(self._addresses), list(found.values()), connected, self._own)

    def _warn(self, address: Address, words: str) -> None:
        if address not in self._warned:
            self._warned.add(address)
            _log.warning("NODE_BOOTSTRAP names %s, which %s", address, words)


class _Later:
    """The handler of messages before there is one: connections and router need each other."""

    router: ChainRouter

    def connected(self, peer: PeerInfo) -> None:
        self.router.connected(peer)

    def disconnected(self, node_id: NodeID) -> None:
        self.router.disconnected(node_id)

    def handle(self, node_id: NodeID, message: Message) -> Awaitable[None]:
        return self.router.handle(node_id, message)


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

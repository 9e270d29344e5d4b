"""The network of this node, assembled from the settings, from its start to its stop.

It runs on one event loop: that of a thread in the embedded profile, that of the process `runnetwork` in production.
`services` stores its reports.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from cchain_app import notifications as cchain_notifications
from cchain_app.chain import EvmChain
from cchain_app.services.genesis import genesis_text
from chaindb import clock
from chaindb.chains import C_CHAIN, MISSING_VOTES, takes_part
from chaindb.connections import in_thread, release
from network_app import addresses, services
from network_app.addresses import NodeAddress
from network_app.chains import relay as relaying
from network_app.chains import voting
from network_app.chains.chain import NetworkChain
from network_app.chains.relay import SignatureRelay
from network_app.chains.signing import EvmSigner, PlatformSigner
from network_app.chains.statements import ReachedPeers
from network_app.chains.validators import ValidatorDirectory
from network_app.config import NetworkConfig
from network_app.consensus.reporter import ConsensusRecorder
from network_app.node import NodeNetwork
from network_app.peers.network import PeerNetwork
from network_app.ports import ATOMIC_GOSSIP, Signer
from network_app.services import DatabaseRecords
from network_app.sync.budget import AT_ONCE
from network_app.sync.router import Beacons, ChainRouter, GenesisBytes
from platform_app import notifications as platform_notifications
from platform_app.selectors import accepted, subnet_uptimes
from platform_app.services import uptime
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

HEARTBEAT = 1.0
"""Seconds between reports of the peers."""
LONELY_HEARTBEAT = 5.0
"""Seconds between reports while no peer is connected; well below the time after which reports count as missing."""
POLL_SECONDS = 1.0
"""Seconds between checks of the heads, because events may be lost."""
DIRECTORY_INTERVAL = 1.0
"""Seconds between reads of the validators."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class RunningNetwork:
    """The connections, the processing of their messages, and the reports.

    Args:
        node: The node's part in its network besides the connections.

    Raises:
        MalformedProducer: NODE_PRODUCER is not a node ID.
        InvalidParameters: The validators vote, and with the NODE_SNOW_… settings no block can be decided.
    """

    def __init__(self, node: NodeNetwork) -> None:
        self._node, common, settings = node, node.common, node.settings
        config = NetworkConfig(
            network_id=common.network_id,
            upgrade_time=node.upgrades.latest,
            dials_private=settings.dials_private(common.network_id),
        )
        self._directory = ValidatorDirectory(
            node.platform_chain,
            {*node.joined_subnets(), *(evm_chain.subnet_id for evm_chain in node.evm_chains)},
        )
        self._addresses = addresses.bootstrappers(common)
        advertised = addresses.advertised(settings)
        own = node.identity
        self._chains = tuple(node.primary_chains.values())
        """The chains that take part; chains of subnets are added."""
        self._failing: set[str] = set()
        """The chains of subnets that cannot take part, by name."""
        self._unbind: list[Callable[[], None]] = []
        self._network = PeerNetwork(
            own,
            config,
            self._directory,
            listen=addresses.listening(settings),
            advertised=advertised,
            tracked=self._addresses,
            subnets=node.subnets,
            joined=node.joined_subnets,
        )
        self._reports = _Reports()
        self._warned = False
        """Whether the warning about missing votes has been logged."""
        self._serving = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="serving")
        self._bootstrappers = _Bootstrappers(self._addresses, own.node_id)
        if len(self._addresses) < len(common.bootstrap):
            _log.warning("NODE_BOOTSTRAP names an address more than once: it counts once")
        self._db = node.platform_chain.db
        self._records = DatabaseRecords(self._db, str(advertised), settings.kept_decisions)
        self._consensus = ConsensusRecorder(self._records, in_thread)
        self._relays: tuple[SignatureRelay, ...] = ()
        """Asks peers for the node's other processes, if there are any."""
        platform_signer = PlatformSigner(node.platform_chain, own.bls_secret)
        self._signers: dict[str, Signer] = {node.platform_chain.name: platform_signer.sign}
        for evm_chain in node.evm_chains:
            self._signers[evm_chain.name] = self._signer_of(evm_chain).sign
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
            genesis=self._genesis,
            signers=self._signers,
            take_part=self._consensus.watched(node.take_part()),
            producer=node.producer.node_id,
            joined=node.joined_subnets,
        )

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set."""
        await in_thread(_begin, self._records, self._node)
        await in_thread(self._directory.read)
        aliases = [chain.alias for chain in self._chains]
        self._listen_to(aliases)
        try:
            await self._network.start(self._router)
            if self._node.common.profile != "embedded":
                self._relays = (SignatureRelay(self._db, self._router.requests),)
            reached = partial(self._reached, asyncio.get_running_loop())
            self._node.signers.peers = reached(self._node.platform_chain.name)
            self._node.message_signers.peers = reached
            tasks = [
                asyncio.create_task(self._router.run()),
                asyncio.create_task(_repeat(self._report, HEARTBEAT)),
                asyncio.create_task(_repeat(self._consensus.report, HEARTBEAT)),
                asyncio.create_task(_repeat(self._read_directory, DIRECTORY_INTERVAL)),
                asyncio.create_task(_repeat(self._check_heads, POLL_SECONDS)),
                asyncio.create_task(_repeat(self._find_chains, POLL_SECONDS)),
                *(asyncio.create_task(_repeat(relay.look, POLL_SECONDS)) for relay in self._relays),
            ]
            waiting = asyncio.create_task(stopping.wait())
            await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            await _end(waiting, *tasks)
        finally:
            self._node.signers.peers = self._node.message_signers.peers = None
            for unbind in self._unbind:
                unbind()
            for relay in self._relays:
                relay.stop()
            await self._network.stop()
            self._serving.shutdown(wait=False, cancel_futures=True)
            await in_thread(services.end, self._db)

    def _reached(self, loop: asyncio.AbstractEventLoop, name: str) -> ReachedPeers | None:
        """Return a chain's requests to peers; None if the chain has not joined the network yet."""
        requests = self._router.requests(name)
        return None if requests is None else ReachedPeers(loop, requests)

    def _listen_to(self, aliases: Collection[str]) -> None:
        loop = asyncio.get_running_loop()
        self._unbind.append(self._node.events.bind(loop, self._on_event, aliases))

    async def _find_chains(self) -> None:
        """Take part in the chains of subnets that the node runs since the last call."""
        node = self._node
        await in_thread(node.find_chains)
        self._chains = tuple(chain for chain in self._chains if chain.alias in node.chains)
        known = {chain.alias for chain in self._chains}
        for name, chain in node.chains.items():
            if name not in known:
                try:
                    await self._take_part_in(name, chain)
                except Exception:  # one chain's database does not stop the others
                    if name not in self._failing:
                        _log.exception("chain %s does not take part in the network", name)
                    self._failing.add(name)

    def _signer_of(self, chain: EvmChain) -> EvmSigner:
        """Return the signer of an EVM chain's messages."""
        node = self._node
        own, subnet_id = node.identity.bls_secret, chain.subnet_id
        if subnet_id == PRIMARY_NETWORK_ID:
            return EvmSigner(chain, own)

        def seconds_online(validation_id: ID) -> int | None:
            # The uptimes of other subnets are not tracked.
            if subnet_id not in node.joined_subnets():
                return None
            return subnet_uptimes.seconds_online_of(
                node.platform_chain, subnet_id, validation_id, clock.now()
            )

        return EvmSigner(chain, own, seconds_online)

    async def _take_part_in(self, name: str, chain: NetworkChain[Any]) -> None:
        subnet_id = self._node.subnet_of(name)
        self._directory.add(subnet_id)
        await in_thread(self._node.begin_chain, name)
        await in_thread(self._directory.read)
        evm = next(one for one in self._node.evm_chains if one.name == name)
        self._router.add(chain, subnet_id, self._signer_of(evm).sign)
        self._chains = (*self._chains, chain)
        self._listen_to([name])
        self._failing.discard(name)

    async def _serve(self, work: Callable[..., T], /, *args: object) -> T:
        """Handle a peer's request in the threads reserved for requests, so that blocks do not wait for it."""

        def run() -> T:
            try:
                return work(*args)
            finally:
                release()

        return await asyncio.get_running_loop().run_in_executor(self._serving, run)

    def _beacons(self) -> Beacons:
        found = self._network.tracked_nodes()
        return self._bootstrappers.beacons(found, self._network.tracked_peers())

    def _on_event(self, message: dict[str, Any]) -> None:
        """Handle an event of this node's own chains."""
        chain = message["chain"]
        match message["type"]:
            case platform_notifications.HEAD:
                self._router.blocks_accepted(chain, message["height"])
            case cchain_notifications.HEAD:
                self._router.blocks_accepted(chain, message["number"])
            case platform_notifications.ISSUED:
                self._router.transactions_issued(chain, _ids(message["tx_ids"]))
            case cchain_notifications.PENDING:
                self._router.transactions_issued(chain, _ids(message["hashes"]))
            case cchain_notifications.ATOMIC_PENDING:
                tx_ids = _ids(message["tx_ids"])
                self._router.transactions_issued(chain, tx_ids, handler=ATOMIC_GOSSIP)
            case voting.BLOCKS_WAITING:
                self._router.blocks_waiting(chain)
            case relaying.SIGNATURES_WANTED:
                for relay in self._relays:
                    relay.look_soon()

    async def _check_heads(self) -> None:
        """Find blocks whose event was lost, or that another process built (time travel)."""
        if self._network.connected():
            for chain in self._chains:
                self._router.blocks_accepted(chain.alias)

    async def _report(self) -> None:
        connected, now = list(self._network.connected().values()), time.monotonic()
        if not self._reports.is_due(len(connected), now):
            return
        await self._pardon()
        await in_thread(
            self._records.peers,
            connected,
            self._network.totals(),
            self._router.benched(),
            self._network.known_addresses(),
            self._network.dial_failures(),
        )
        self._reports.done(len(connected), now)

    async def _pardon(self) -> None:
        """Pardon the benched peers that an operator has selected."""
        benched = self._router.benched()
        for node_id in await in_thread(self._records.pardons, benched.keys()) if benched else ():
            _log.warning("%s was unbenched by an operator and gets queries again", node_id)
            self._router.pardon(node_id)

    def _genesis(self) -> GenesisBytes:
        """Return the network's genesis, for nodes that join it."""
        node = self._node
        return GenesisBytes(
            accepted.genesis_bytes(node.platform_chain) or b"",
            genesis_text(node.evm_chain).encode(),
            node.producer.announced_name,
        )

    async def _read_directory(self) -> None:
        await in_thread(self._directory.read)
        self._warn_of_missing_votes()

    def _warn_of_missing_votes(self) -> None:
        """Log once if this node's stake counts on a chain that it does not vote on."""
        settings = self._node.common
        if self._warned or not settings.votes or takes_part(C_CHAIN, settings.chains):
            return
        if self._network.node_id in self._directory.validators():
            self._warned = True
            _log.warning("%s", MISSING_VOTES)


def _begin(reports: DatabaseRecords, node: NodeNetwork) -> None:
    """Reset the records of peers and uptimes, and prepare the chains for requests."""
    for evm_chain in node.evm_chains:
        if evm_chain.subnet_id == PRIMARY_NETWORK_ID:
            evm_chain.read_genesis()
    for chain in node.primary_chains.values():
        chain.begin()
    reports.begin()
    uptime.begin(node.platform_chain, clock.now(), node.joined_subnets())


def _ids(keys: Sequence[bytes]) -> list[ID]:
    return [ID(key) for key in keys]


class _Reports:
    """Schedule of the peer reports: every second while peers are connected, less often otherwise."""

    def __init__(self) -> None:
        self._connected: int | None = None
        """Number of peers at the last report; None before the first."""
        self._at = 0.0

    def is_due(self, connected: int, now: float) -> bool:
        """Return whether a report is due."""
        alone = connected == 0 == self._connected
        return not alone or now - self._at >= LONELY_HEARTBEAT

    def done(self, connected: int, now: float) -> None:
        """Note a report."""
        self._connected, self._at = connected, now


class _Bootstrappers:
    """The nodes at the addresses of NODE_BOOTSTRAP. Their IDs are known after they have answered."""

    def __init__(self, addresses: Sequence[NodeAddress], own: NodeID) -> None:
        self._addresses = addresses
        self._own = own
        self._warned: set[NodeAddress] = set()

    def beacons(
        self, found: Mapping[tuple[str, int], NodeID], connected: Collection[NodeID]
    ) -> Beacons:
        """Return the connected bootstrappers; log duplicate addresses and this node's own address."""
        first: dict[NodeID, NodeAddress] = {}
        for address in self._addresses:
            node_id = found.get(address)
            if node_id is None:
                continue
            if node_id == self._own:
                self._warn(address, "is this node itself and is ignored")
            elif node_id in first:
                self._warn(address, f"is the node at {first[node_id]}: it counts once")
            else:
                first[node_id] = address
        return Beacons.of(len(self._addresses), list(found.values()), connected, self._own)

    def _warn(self, address: NodeAddress, words: str) -> None:
        if address not in self._warned:
            self._warned.add(address)
            _log.warning("NODE_BOOTSTRAP names %s, which %s", address, words)


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Repeat a task. A temporary failure of the database does not stop the network."""
    failing = False
    while True:
        try:
            await work()
            failing = False
        except Exception:  # the next attempt may succeed, whatever the reason
            if not failing:
                _log.exception("a periodic task of the network failed and will be repeated")
            failing = True
        await asyncio.sleep(seconds)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait for them; raise the exception of a task that failed before."""
    failed = [item for item in tasks if item.done() and not item.cancelled() and item.exception()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in failed:
        task.result()

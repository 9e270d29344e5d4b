"""One chain's life on the network: it reaches the frontier, follows it, and tells of what is new."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from network_app.config import NetworkConfig
from network_app.peers.bench import Bench
from network_app.ports import BlockPlace, Chain, Directory, PeerNetwork, Run
from network_app.sync.announcing import Announcer
from network_app.sync.beacons import Beacons
from network_app.sync.bootstrap import Bootstrap
from network_app.sync.budget import Budget
from network_app.sync.buffer import Buffer
from network_app.sync.calling import Caller
from network_app.sync.choosing import Choice
from network_app.sync.claims import Claims
from network_app.sync.fetching import Fetcher
from network_app.sync.following import Follower
from network_app.sync.frontier import Frontier
from network_app.sync.head import Head
from network_app.sync.lasting import until_done
from network_app.sync.messages import as_id
from network_app.sync.polling import Poller
from network_app.sync.progress import Progress
from network_app.sync.pulling import Pulling
from network_app.sync.requests import Requests
from network_app.sync.roll import Roll
from network_app.sync.serving import Query, Serving
from network_app.sync.transactions import Gossip
from network_app.sync.witnesses import Witnesses
from network_app.wire.p2p_pb2 import PushQuery
from primitives.ids import NodeID

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shared:
    """What the chains of a node have in common."""

    network: PeerNetwork
    choice: Choice
    bench: Bench
    config: NetworkConfig
    directory: Directory
    budget: Budget
    run: Run
    serve: Run
    beacons: Callable[[], Beacons]


class Line:
    """A chain and all that is done with it."""

    def __init__(self, chain: Chain, shared: Shared) -> None:
        network, choice, config = shared.network, shared.choice, shared.config
        self._shared = shared
        self.chain = chain
        self.head = Head(chain, shared.run)
        self.requests = Requests(
            network, shared.bench, config, alias=chain.alias, chain_id=chain.chain_id
        )
        self.serving = Serving(self.head, network, config, shared.budget, shared.serve)
        buffer = Buffer()
        fetcher = Fetcher(self.head, self.requests, choice, config)
        witnesses = Witnesses(self.head, self.requests, choice, config, shared.beacons)
        roll = Roll()
        self.progress = Progress(self.head, buffer, roll)
        self._bootstrap = Bootstrap(
            self.head,
            Frontier(self.requests, choice, config, shared.beacons, witnesses),
            fetcher,
            choice,
            config,
            claims=Claims(self.head, self.requests, choice, config),
            progress=self.progress,
            witnesses=witnesses,
        )
        self.follower = Follower(self.head, buffer, fetcher, choice, config, witnesses=witnesses)
        self.announcer = Announcer(self.head, self.requests, choice, config)
        self.gossip = Gossip(self.head, network, choice, config)
        self.pulling = Pulling(
            self.head,
            self.gossip,
            self.requests,
            choice,
            config,
            directory=shared.directory,
            own=network.node_id,
            serve=shared.serve,
        )
        self._poller = Poller(self.head, self.follower, self.requests, choice, config)
        self._caller = Caller(self.head, self.follower, self.requests, choice, roll)
        self.follower.on_arrival.append(self._poller.hurry)
        self.head.on_advance.append(self.follower.wake)
        self.settled = asyncio.Event()
        """Set once the chain has reached the frontier, or stands before what it cannot pass."""
        self.head.obstacle.on_change.append(self.settled.set)

    def query(self, node_id: NodeID, query: Query) -> Awaitable[None] | None:
        """Answer a query and take in what it tells; what is returned is to be awaited."""
        self.announcer.takes_part(node_id)
        voting = self.serving.answer_query(node_id, query)
        if isinstance(query, PushQuery):
            self.follower.offer(query.container, node_id)
        elif (block_id := as_id(query.container_id)) is not None:
            # The asker wants to know of the height above its last block.
            self.follower.seek(BlockPlace(query.requested_height - 1, block_id), node_id)
        return voting

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""
        self.announcer.connected(node_id)
        self.gossip.connected(node_id)
        self._poller.hurry()

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer is gone."""
        self.requests.disconnected(node_id)
        self.announcer.disconnected(node_id)
        self.gossip.disconnected(node_id)

    async def run(self) -> None:
        """Reach the frontier for the first time, then follow until cancelled.

        Without bootstrappers this is the frontier.
        """
        await until_done(self._start, f"{self.chain.alias}-Chain start")
        await self._live()

    async def _live(self) -> None:
        work: list[Callable[[], Awaitable[None]]] = [
            self.follower.run,
            self._poller.run,
            self._caller.run,
            self.announcer.run,
            self.gossip.push,
            self.gossip.take_in,
            self.pulling.run,
            self._return_when_behind,
        ]
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(until_done(one, f"{self.chain.alias}-Chain"))

    async def _start(self) -> None:
        await self.head.refresh()
        self.progress.begin()
        if self._shared.beacons().configured:
            await self._bootstrap.run()
        self._follow()
        self.settled.set()

    async def _return_when_behind(self) -> None:
        """Bootstrap anew whenever too much is missing, but not all the time."""
        while True:
            if self.head.following:  # else it failed on the way
                await self.follower.behind.wait()
            self.follower.behind.clear()
            if self._bootstrap.has_beacons:
                await self._bootstrap.run()
            self._follow()
            await asyncio.sleep(self._shared.config.sync_repeat)

    def _follow(self) -> None:
        """Take part in queries, if the chain was on its way until now."""
        if self.head.following:
            return
        self.announcer.begin()
        self.head.following = True
        self._poller.hurry()
        self.gossip.look_again()
        _log.info("%s-Chain: follows from height %d", self.chain.alias, self.head.place.height)

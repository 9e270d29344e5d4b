"""One chain's life on the network, whoever decides on its blocks: it reaches the frontier, and serves peers.

What it does from there on is `voting`'s, or `producing`'s in the one node that makes all blocks.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from network_app.config import NetworkConfig
from network_app.peers.bench import Bench
from network_app.ports import AcceptedChain, Directory, PeerNetwork, RunInThread
from network_app.sync.bootstrap import Bootstrap
from network_app.sync.budget import Budget
from network_app.sync.choosing import Choice
from network_app.sync.fetching import Fetcher
from network_app.sync.frontier import Frontier
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.lasting import until_done
from network_app.sync.progress import Progress
from network_app.sync.pulling import Pulling
from network_app.sync.requests import Requests
from network_app.sync.serving import Query, Question, Serving
from network_app.sync.transactions import Gossip
from network_app.sync.witnesses import Beacons, Witnesses
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
    run: RunInThread
    serve: RunInThread
    beacons: Callable[[], Beacons]
    producer: NodeID | None
    """Who makes all blocks; None where the validators vote."""


class ChainHandler(ABC):
    """A chain and all that is done with it.

    Args:
        chain: The chain.
        shared: What it has in common with the others.
    """

    def __init__(self, chain: AcceptedChain, shared: Shared) -> None:
        network, choice, config = shared.network, shared.choice, shared.config
        self._shared = shared
        self.chain = chain
        self.last_accepted = LastAccepted(chain, shared.run)
        self.requests = Requests(
            network, shared.bench, config, alias=chain.alias, chain_id=chain.chain_id
        )
        self.serving = Serving(self.last_accepted, network, config, shared.budget, shared.serve)
        self._fetcher = Fetcher(self.last_accepted, self.requests, choice, config)
        self._witnesses = Witnesses(
            self.last_accepted,
            self.requests,
            choice,
            config,
            shared.beacons,
            producer=shared.producer,
        )
        self.progress = Progress(self.last_accepted)
        self._bootstrap = Bootstrap(
            self.last_accepted,
            Frontier(self.requests, choice, config, shared.beacons, self._witnesses),
            self._fetcher,
            choice,
            config,
            progress=self.progress,
            witnesses=self._witnesses,
        )
        self.gossip = Gossip(self.last_accepted, network, choice, config)
        self.pulling = Pulling(
            self.last_accepted,
            self.gossip,
            self.requests,
            choice,
            config,
            directory=shared.directory,
            own=network.node_id,
            serve=shared.serve,
        )
        self.settled = asyncio.Event()
        """Set once the chain has reached the frontier, or stands before what it cannot pass."""
        self.last_accepted.obstacle.on_change.append(self.settled.set)

    # --- told by the node

    @abstractmethod
    def blocks_accepted(self, height: int | None) -> None:
        """Note that this node has accepted blocks up to a height; None: look up to which."""

    @abstractmethod
    def blocks_waiting(self) -> None:
        """Note that there may be something to put into a block."""

    # --- told by the connections

    @abstractmethod
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        """Answer a query and take in what it tells; what is returned is to be awaited, unless it is `DONE`."""

    async def answer(self, node_id: NodeID, question: Question) -> None:
        """Answer a question about accepted blocks."""
        await self.serving.answer(node_id, question)

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""
        self.gossip.connected(node_id)

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer is gone."""
        self.requests.disconnected(node_id)
        self.gossip.disconnected(node_id)

    # --- its life

    async def run(self) -> None:
        """Reach the frontier for the first time, then take part until cancelled.

        Without bootstrappers this is the frontier.
        """
        await until_done(self._start, f"{self.chain.alias}-Chain start")
        async with asyncio.TaskGroup() as tasks:
            for one in (*self._work(), self.gossip.push, self.gossip.take_in, self.pulling.run):
                tasks.create_task(until_done(one, f"{self.chain.alias}-Chain"))

    @abstractmethod
    def _work(self) -> list[Callable[[], Awaitable[None]]]:
        """Return what is done, until cancelled, once the frontier is reached."""

    async def _start(self) -> None:
        await self.last_accepted.refresh()
        self.progress.begin()
        if self._shared.beacons().configured:
            await self._bootstrap.run()
        self._follow()
        self.settled.set()

    def _follow(self) -> None:
        """Take part, if the chain was on its way until now."""
        if self.last_accepted.following:
            return
        self.last_accepted.following = True
        self.gossip.look_again()
        _log.info(
            "%s-Chain: follows from height %d", self.chain.alias, self.last_accepted.place.height
        )

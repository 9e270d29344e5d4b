"""Runs one chain on the network: bootstraps it to the frontier, and serves peers.

After bootstrapping, `voting` takes over, or `producing` in the block producer.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from network_app.config import NetworkConfig
from network_app.peers.bench import Bench
from network_app.ports import AcceptedChain, Directory, Network, RunInThread
from network_app.sync.bootstrap import Bootstrap
from network_app.sync.budget import AnswerBudget
from network_app.sync.choosing import PeerSelection
from network_app.sync.fetching import Fetcher
from network_app.sync.frontier import Frontier
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.messages import TRANSACTION_GOSSIP
from network_app.sync.progress import BootstrapProgress
from network_app.sync.pulling import Pulling
from network_app.sync.requests import Requests
from network_app.sync.serving import Query, Question, Serving
from network_app.sync.transactions import Gossip
from network_app.sync.witnesses import Beacons, Witnesses
from primitives.ids import NodeID
from primitives.networks import title

RETRY = 1.0
"""Seconds after which work that failed unexpectedly is restarted."""

_log = logging.getLogger(__name__)


async def until_done(work: Callable[[], Awaitable[None]], name: str) -> None:
    """Run `work` to completion; restart it after unexpected failures, for example of the database."""
    while True:
        try:
            await work()
        except Exception:
            _log.exception("%s: failed and restarts", name)
        else:
            return
        await asyncio.sleep(RETRY)


def _together() -> bool:
    """Return True: there is no other chain to wait for."""
    return True


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Objects that all chains of a node share."""

    network: Network
    choice: PeerSelection
    bench: Bench
    config: NetworkConfig
    directory: Directory
    budget: AnswerBudget
    run: RunInThread
    serve: RunInThread
    beacons: Callable[[], Beacons]
    producer: NodeID | None
    """The block producer; None if the validators vote."""
    all_follow: Callable[[], bool] = _together
    """Returns whether all chains of the node have reached their frontiers."""


class ChainHandler(ABC):
    """A chain with its bootstrapping, serving and gossip.

    Args:
        chain: The chain.
        shared: Objects shared with the other chains.
    """

    def __init__(self, chain: AcceptedChain, shared: SharedParts) -> None:
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
        self.progress = BootstrapProgress(self.last_accepted)
        self._bootstrap = Bootstrap(
            self.last_accepted,
            Frontier(self.requests, choice, config, shared.beacons, self._witnesses),
            self._fetcher,
            choice,
            config,
            progress=self.progress,
            witnesses=self._witnesses,
        )
        sources = {TRANSACTION_GOSSIP: chain, **chain.more_transactions}
        self.gossips: Mapping[int, Gossip] = {
            handler: Gossip(
                self.last_accepted, network, choice, config, source=source, handler=handler
            )
            for handler, source in sources.items()
        }
        """The gossip of each pool, by the number of its handler."""
        self.gossip = self.gossips[TRANSACTION_GOSSIP]
        """The gossip of the chain's usual transactions."""
        self.pulls: Mapping[int, Pulling] = {
            handler: Pulling(
                self.last_accepted,
                self.gossips[handler],
                self.requests,
                choice,
                config,
                directory=shared.directory,
                own=network.node_id,
                serve=shared.serve,
                source=source,
                handler=handler,
            )
            for handler, source in sources.items()
        }
        """The pulls of each pool, by the number of its handler."""
        self.settled = asyncio.Event()
        """Set once the chain has reached the frontier, or a block that it cannot pass."""
        self.last_accepted.obstacle.on_change.append(self.settled.set)

    # --- called by the node

    @abstractmethod
    def blocks_accepted(self, height: int | None) -> None:
        """Note that this node has accepted blocks up to a height; None: the height must be looked up."""

    @abstractmethod
    def blocks_waiting(self) -> None:
        """Note that there may be something to put into a block."""

    # --- called by the connections

    @abstractmethod
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        """Answer a query and process the block it names; await the result unless it is `DONE`."""

    async def answer(self, node_id: NodeID, question: Question) -> None:
        """Answer a request about accepted blocks."""
        await self.serving.answer(node_id, question)

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""
        for gossip in self.gossips.values():
            gossip.connected(node_id)

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer has disconnected."""
        self.requests.disconnected(node_id)
        for gossip in self.gossips.values():
            gossip.disconnected(node_id)

    # --- running

    async def run(self) -> None:
        """Bootstrap to the frontier, then take part until cancelled.

        Without bootstrappers, the last accepted block is the frontier.
        """
        await until_done(self._start, f"{title(self.chain.alias)} start")
        async with asyncio.TaskGroup() as tasks:
            of_pools = [
                task
                for handler, gossip in self.gossips.items()
                for task in (gossip.push, gossip.take_in, self.pulls[handler].run)
            ]
            for value in (*self._work(), *of_pools):
                tasks.create_task(until_done(value, title(self.chain.alias)))

    @abstractmethod
    def _work(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the tasks that run until cancelled, once the frontier is reached."""

    async def _start(self) -> None:
        await self.last_accepted.refresh()
        self.progress.begin()
        if self._shared.beacons().configured:
            await self._bootstrap.run()
        self._follow()
        self.settled.set()

    def _follow(self) -> None:
        """Take part, if the chain was bootstrapping until now."""
        if self.last_accepted.following:
            return
        self.last_accepted.following = True
        for gossip in self.gossips.values():
            gossip.look_again()
        # A node without bootstrappers follows no other node.
        level = logging.INFO if self._shared.beacons().configured else logging.DEBUG
        _log.log(
            level,
            "%s: follows from height %d",
            title(self.chain.alias),
            self.last_accepted.place.height,
        )

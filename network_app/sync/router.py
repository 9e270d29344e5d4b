"""Routes messages from peers to the chains, and starts the chains one after another."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from typing_extensions import override

from network_app.config import NetworkConfig
from network_app.peers.bench import Bench
from network_app.peers.members import NetworkMembers
from network_app.peers.throttle import LogLimit
from network_app.ports import (
    DONE,
    AcceptedChain,
    Directory,
    MessageHandler,
    Network,
    NetworkReports,
    PeerInfo,
    RunInThread,
    Signer,
)
from network_app.sync import pulling
from network_app.sync.budget import AnswerBudget, PeerSlots
from network_app.sync.choosing import PeerSelection
from network_app.sync.handler import ChainHandler, SharedParts, until_done
from network_app.sync.messages import (
    ANSWERS,
    TRANSACTION_GOSSIP,
    split_handler,
    transactions_in,
)
from network_app.sync.producing import ProducingHandler
from network_app.sync.progress import ProgressRecorder
from network_app.sync.pulling import GenesisBytes, GenesisTeller
from network_app.sync.requests import Requests
from network_app.sync.serving import QUESTIONS
from network_app.sync.subnets import SubnetDirectory, beacons_of_subnet
from network_app.sync.voting import TakePart, VotingHandler
from network_app.sync.witnesses import Beacons
from network_app.wire.errors import UnreadableContent
from network_app.wire.p2p_pb2 import (
    AppGossip,
    AppRequest,
    Message,
    PullQuery,
    PushQuery,
)
from network_app.wire.sdk_pb2 import PushGossip
from primitives.ids import ID, P_CHAIN_ID, NodeID

__all__ = ["Beacons", "ChainRouter", "GenesisBytes"]

_log = logging.getLogger(__name__)


class ChainRouter(MessageHandler):
    """All chains of this node on the network.

    Args:
        network: The connections; their handler is this router.
        chains: The chains of the Primary Network in start order; each starts when the one before has reached the frontier, or
            cannot reach it.
        records: Storage of the progress.
        config: Limits and intervals.
        directory: The current validators.
        beacons: Returns the bootstrappers and which of them are connected.
        run: Runs a blocking call in a thread.
        serve: The same for requests of peers, in threads that nothing else waits for.
        now: Returns Unix seconds.
        genesis: Reads the genesis for peers that request it. Blocking; None: do not serve it.
        signers: Answer requests for the signatures of messages, by the chain's name.
        take_part: Creates this node's part in the consensus of a chain; None: this node is the producer.
        producer: The block producer; None if the validators vote.
        joined: Returns the subnets to whose validators this node connects.
    """

    def __init__(
        self,
        network: Network,
        chains: Sequence[AcceptedChain],
        records: NetworkReports,
        config: NetworkConfig,
        directory: Directory,
        *,
        beacons: Callable[[], Beacons],
        run: RunInThread,
        serve: RunInThread,
        now: Callable[[], float],
        genesis: Callable[[], GenesisBytes] | None = None,
        signers: Mapping[str, Signer] = MappingProxyType({}),
        take_part: TakePart | None = None,
        producer: NodeID | None = None,
        joined: Callable[[], Collection[ID]] = tuple,
    ) -> None:
        self._config = config
        self._take_part = take_part
        self._beacons = beacons
        self._log_limit = LogLimit()
        self._genesis = None if genesis is None else GenesisTeller(genesis, serve)
        self._signers, self._serve = dict(signers), serve
        self._bench = Bench(config)
        self._gate = PeerSlots()
        members = NetworkMembers(directory, joined)
        self.choice = PeerSelection(network, directory, self._bench)
        self._shared = shared = SharedParts(
            network=network,
            choice=self.choice,
            bench=self._bench,
            config=config,
            directory=directory,
            budget=AnswerBudget(
                config,
                self._gate,
                lambda peer: peer in members or peer in beacons().connected,
            ),
            run=run,
            serve=serve,
            beacons=beacons,
            producer=producer,
            all_follow=lambda: all(line.last_accepted.following for line in self._first),
        )
        self._first = [self._line(chain, shared) for chain in chains]
        """The chains of the Primary Network, in start order."""
        self._lines = {bytes(line.chain.chain_id): line for line in self._first}
        self._by_alias = {line.chain.alias: line for line in self._lines.values()}
        self._later: list[ChainHandler] = []
        """The chains of subnets that were added before all others had started."""
        self._tasks: asyncio.TaskGroup | None = None
        """Runs the chains of subnets, once all others have started."""
        self._reporter = ProgressRecorder(
            [line.progress for line in self._lines.values()], records, run, now
        )

    def add(self, chain: AcceptedChain, subnet_id: ID, signer: Signer | None = None) -> None:
        """Take part in a further chain, which a subnet validates.

        It starts when the chains of the Primary Network have started, and no other chain waits for it.

        Args:
            chain: The chain.
            subnet_id: The subnet; the directory has its validators.
            signer: Answers requests for the signatures of its messages.
        """
        if signer is not None:
            self._signers[chain.alias] = signer
        shared = self._shared
        directory = SubnetDirectory(shared.directory, subnet_id)

        def beacons() -> Beacons:
            return beacons_of_subnet(
                self._beacons(),
                subnet_id,
                validators=directory.validators(),
                connected=shared.network.connected(),
                own=shared.network.node_id,
                producer=shared.producer,
            )

        choice = PeerSelection(shared.network, directory, self._bench, aside=self.choice.aside)
        line = self._line(
            chain, replace(shared, choice=choice, directory=directory, beacons=beacons)
        )
        self._lines[bytes(chain.chain_id)] = self._by_alias[chain.alias] = line
        self._reporter.add(line.progress)
        for node_id in shared.network.connected():
            line.connected(node_id)
        if self._tasks is None:
            self._later.append(line)
        else:
            self._tasks.create_task(line.run())

    def _line(self, chain: AcceptedChain, shared: SharedParts) -> ChainHandler:
        if self._take_part is None:
            return ProducingHandler(chain, shared)
        return VotingHandler(chain, shared, self._take_part)

    @property
    def _in_order(self) -> list[ChainHandler]:
        return list(self._lines.values())

    def line(self, alias: str) -> Any:
        """Return the handler of a chain by its name; the caller knows its class."""
        return self._by_alias[alias]

    def requests(self, alias: str) -> Requests | None:
        """Return the requests of a chain by its name; None if the chain has not joined the network yet."""
        line = self._by_alias.get(alias)
        return None if line is None else line.requests

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(until_done(self._reporter.run, "reports"))
            for line in self._first:
                tasks.create_task(line.run())
                await line.settled.wait()
            self._tasks = tasks
            for line in self._later:
                tasks.create_task(line.run())

    # --- called by the node itself, on the event loop

    def blocks_accepted(self, alias: str, height: int | None = None) -> None:
        """Note that this node has accepted blocks up to a height; None: the height must be looked up."""
        self._by_alias[alias].blocks_accepted(height)

    def blocks_waiting(self, alias: str) -> None:
        """Note that there may be something to put into a block."""
        self._by_alias[alias].blocks_waiting()

    def transactions_issued(
        self,
        alias: str,
        tx_ids: Collection[ID] | None = None,
        *,
        handler: int = TRANSACTION_GOSSIP,
    ) -> None:
        """Note that this node has issued transactions.

        Args:
            alias: The chain.
            tx_ids: The transactions; None: they must be looked up.
            handler: The number of the gossip handler of their pool.
        """
        self._by_alias[alias].gossips[handler].issued(tx_ids)

    def benched(self) -> Mapping[NodeID, Collection[str]]:
        """Return the chains about which peers are currently not asked, by peer.

        These peers do not answer, or gave invalid answers.
        """
        found: dict[NodeID, set[str]] = {}
        for node_id, aliases in self._bench.benched(time.monotonic()).items():
            found.setdefault(node_id, set()).update(aliases)
        for node_id, alias in self.choice.aside.now():
            found.setdefault(node_id, set()).add(alias)
        return {node_id: sorted(aliases) for node_id, aliases in found.items()}

    def pardon(self, node_id: NodeID) -> None:
        """Clear a peer's bench entries and faults, so that it is asked again."""
        self._bench.forget(node_id)
        self.choice.aside.forget(node_id)

    # --- called by the connections

    @override
    def connected(self, peer: PeerInfo) -> None:
        self._compare_upgrades(peer)
        for line in self._in_order:
            line.connected(peer.node_id)

    def _compare_upgrades(self, peer: PeerInfo) -> None:
        """Warn of a bootstrapper with another upgrade schedule; like the reference, stay connected."""
        ours = self._config.upgrade_time
        if peer.upgrade_time == ours or peer.node_id not in self._beacons().connected:
            return
        if self._log_limit.allows(peer.node_id):
            _log.warning(
                "bootstrapper %s has its latest upgrade at %d, this node at %d (Unix seconds): compare the genesis "
                "and the version of both nodes",
                peer.node_id,
                peer.upgrade_time,
                ours,
            )

    @override
    def disconnected(self, node_id: NodeID) -> None:
        for line in self._in_order:
            line.disconnected(node_id)

    @override
    def handle(self, node_id: NodeID, message: Message) -> Awaitable[None]:
        """Process a message for a chain; messages for unknown chains are ignored.

        Answers and queries are processed or queued immediately, in the order in which they arrived.
        """
        kind = message.WhichOneof("message")
        content = None if kind is None else getattr(message, kind)
        line = self._lines.get(getattr(content, "chain_id", b""))
        if line is None:
            return DONE
        if isinstance(content, ANSWERS):
            line.requests.answered(node_id, content)
        elif isinstance(content, (PushQuery, PullQuery)):
            return line.query(node_id, content)
        elif isinstance(content, QUESTIONS):
            return line.answer(node_id, content)
        elif isinstance(content, AppRequest):
            return self._answer_application(line, node_id, content)
        elif isinstance(content, AppGossip):
            _take_gossip(line, node_id, content)
        return DONE

    async def _answer_application(
        self, line: ChainHandler, node_id: NodeID, request: AppRequest
    ) -> None:
        genesis = self._genesis if line.chain.chain_id == P_CHAIN_ID else None
        signer = self._signers.get(line.chain.alias)
        await line.serving.answer_in_turn(
            node_id,
            request,
            lambda: pulling.answer(
                line.pulls,
                node_id,
                request.app_bytes,
                genesis=genesis,
                signer=signer,
                serve=self._serve,
            ),
        )


def _take_gossip(line: ChainHandler, node_id: NodeID, gossip: AppGossip) -> None:
    handler, payload = split_handler(gossip.app_bytes) or (None, b"")
    gossip_of_pool = None if handler is None else line.gossips.get(handler)
    if gossip_of_pool is None:
        return
    try:
        pushed = transactions_in(payload, PushGossip)
    except UnreadableContent:
        return
    gossip_of_pool.add(pushed, node_id)

"""Drives one chain's engine: passes it all events around it, one at a time (snowman.md 8 to 10).

The engine takes part once the chain has reached the network's frontier, and as long as `run` is running.
An unexpected failure, above all of a commit, ends the engine and drops its processing blocks. Another
engine then starts at the last stored block, as after a restart of the process.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from chainvm.port import Block
from network_app.config import NetworkConfig
from network_app.consensus.building import BuildScheduler
from network_app.consensus.figures import Figures
from network_app.consensus.producers import ProducerHead
from network_app.consensus.questions import EngineEvent, MessageQueue, Question, Questions
from network_app.consensus.report import ConsensusReport, ProducerRewind
from network_app.consensus.sender import PeerSender, PendingBlocksLimit, Work
from network_app.consensus.validators import CurrentValidators
from network_app.consensus.vm import ThreadedVM, VotedChain
from network_app.ports import DONE, Network
from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.parameters import SnowParameters
from network_app.sync.budget import AnswerBudget, Turn
from network_app.sync.handler import until_done
from network_app.sync.messages import ANSWERS
from network_app.sync.requests import NANOSECONDS, Requests
from network_app.sync.serving import LONGEST_DEADLINE
from network_app.wire.p2p_pb2 import Get, Message, PullQuery, PushQuery
from primitives.ids import ID, NodeID
from primitives.networks import title

LOOK = 1.0
"""Seconds between checks of the validators and of whether a block can be built, because time has passed
or because a notification was lost."""

B = TypeVar("B", bound=Block)

_log = logging.getLogger(__name__)


class Runner(Generic[B]):
    """One chain's part in consensus.

    Args:
        chain: The chain.
        network: The connections.
        requests: The open requests of this chain, shared with its other users.
        validators: The validators that are polled.
        budget: Limits the requests of peers that are not validators.
        config: Intervals.
        parameters: Sample size and thresholds of the polls.
        clock: Returns seconds, monotonic.
    """

    def __init__(
        self,
        chain: VotedChain[B],
        network: Network,
        requests: Requests,
        validators: CurrentValidators,
        *,
        budget: AnswerBudget,
        config: NetworkConfig,
        parameters: SnowParameters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain = chain
        self._network = network
        self._requests = requests
        self._validators = validators
        self._budget = budget
        self._config = config
        self._parameters = parameters
        self._clock = clock
        self._figures: Figures[B] = Figures(chain.alias, clock, chain.now)
        self._vm: ThreadedVM[B] = ThreadedVM(chain, self._figures)
        self._queue = MessageQueue()
        self._building = BuildScheduler(self._vm, self._wake_builder, parameters)
        self._engine: SnowmanEngine[B] | None = None
        self._ticked = self._woken = False
        self._obstacle: str | None = None
        self._followed = ProducerHead()
        self._contradiction: ProducerRewind | None = None
        self.lock = self._vm.lock
        """Held during each step: while holding it, a reader of the chain sees committed state."""
        self.on_accepted = self._vm.on_accepted
        """Called for each accepted block, in order, after its commit."""
        self.on_refused = self._vm.on_refused
        """Called for each block that breaks a rule of the chain, with the error."""
        self.behind = asyncio.Event()
        """Set when so many blocks are missing that bootstrapping is faster."""
        self._pending_limit = PendingBlocksLimit(validators.is_validator, self.behind.set)
        heeded = validators.is_validator if chain.follows else lambda _: True
        self._questions = Questions(self._vm, network, self._pending_limit, chain.chain_id, heeded)

    # --- called by the node and its connections, on the event loop

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""
        self._validators.connected(node_id)

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer has disconnected; the requests sent to it fail."""
        self._validators.disconnected(node_id)
        self._requests.disconnected(node_id)

    def blocks_waiting(self) -> None:
        """Note that the chain may have something to put into a block."""
        self._building.wanted()

    def handle(self, node_id: NodeID, message: Message) -> Awaitable[None]:
        """Process a message of this chain; messages that are not for the engine are ignored.

        Messages of a validator are processed in the order in which they arrived. Requests are not answered
        while the chain bootstraps. Peers that are not validators share the budget.
        """
        kind = message.WhichOneof("message")
        content = None if kind is None else getattr(message, kind)
        if getattr(content, "chain_id", None) != bytes(self._chain.chain_id):
            return DONE
        if isinstance(content, ANSWERS):
            self._requests.answered(node_id, content)
        elif isinstance(content, (PushQuery, PullQuery, Get)):
            return self.answer(node_id, content)
        return DONE

    def answer(self, node_id: NodeID, question: Question) -> Awaitable[None]:
        """Answer a request about this chain and process the block it carries; see `handle`."""
        if self._engine is None:
            return DONE
        seconds = question.deadline / NANOSECONDS or LONGEST_DEADLINE
        until = self._clock() + min(seconds, LONGEST_DEADLINE)
        if self._validators.is_validator(node_id):
            return self._in_turn(node_id, question, Turn(), until)
        return self._within_budget(node_id, question, until)

    async def _within_budget(self, node_id: NodeID, question: Question, until: float) -> None:
        async with self._budget.turn(node_id, until) as turn:
            if turn is not None and self._engine is not None:
                await self._in_turn(node_id, question, turn, until)

    async def run(self) -> None:
        """Take part in consensus until cancelled. Call it when the chain has reached the frontier."""
        await until_done(self._live, f"{title(self._chain.alias)} consensus")

    def processing(self) -> list[float]:
        """Return the number of seconds each block has been processing."""
        return [block.seconds for block in self._figures.processing()]

    def last_accepted(self) -> ID | None:
        """Return the last accepted block, even if it is not stored before its option; None: not running."""
        last = None if self._engine is None else self._vm.last
        return None if last is None else last.block_id

    def line(self, block_id: ID) -> tuple[list[bytes], ID]:
        """Return a processing block and its ancestors, newest first, and the parent of the oldest one."""
        return ([], block_id) if self._engine is None else self._vm.line(block_id)

    def report(self) -> ConsensusReport:
        """Return the state of the chain's consensus."""
        engine, figures = self._engine, self._figures
        return ConsensusReport(
            alias=self._chain.alias,
            parameters=self._parameters,
            is_running=engine is not None,
            last_accepted=None if engine is None else engine.tree.last_accepted,
            last_height=0 if engine is None else engine.tree.last_height,
            preference=None if engine is None else engine.tree.preference,
            max_verified_height=figures.max_verified_height,
            processing=figures.processing(),
            decided=figures.decisions(),
            tables=figures.tables(len(self._queue)),
            stake=self._validators.stake(),
            totals=figures.totals(),
            polls=figures.polls(),
            equivocations=figures.equivocations.latest(),
            contradiction=self._contradiction,
        )

    # --- one engine from start to failure

    async def _live(self) -> None:
        """Run an engine from the last accepted block on, until a failure."""
        sender = PeerSender(
            self._network,
            self._requests,
            self._validators,
            self._pending_limit,
            enqueue=self._enqueue,
            chain_id=self._chain.chain_id,
        )
        async with self.lock:
            last = await self._vm.begin()
        engine = SnowmanEngine(
            self._vm,
            sender,
            self._validators,
            self._parameters,
            last,
            counts=self._figures.counts,
        )
        self._figures.begin(engine)
        self._engine = engine
        _log.info("%s: takes part from height %d", title(self._chain.alias), last.height)
        self._enqueue(self._network.node_id, SnowmanEngine.start)
        self._building.wanted()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._work_off(engine))
                tasks.create_task(self._repeat(self._tick, self._config.poll_interval))
                tasks.create_task(self._repeat(self._look, LOOK))
        finally:
            sender.close()
            self._engine = None
            self._figures.end()
            self._building.stop()
            self._queue.clear()
            self._ticked = self._woken = False

    async def _work_off(self, engine: SnowmanEngine[B]) -> None:
        while True:
            arrival = await self._queue.take()
            try:
                if arrival.until is None or self._clock() < arrival.until:
                    async with self.lock:
                        await arrival.work(engine)
                    self._figures.stepped()
                    self._building.stepped(engine)
            finally:
                arrival.settle()

    async def _repeat(self, work: Callable[[], None], seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            work()

    def _tick(self) -> None:
        """Queue a request for the peers' last accepted blocks, unless one is already queued."""
        if not self._ticked:
            self._ticked = True
            self._enqueue(self._network.node_id, self._gossip)

    async def _gossip(self, engine: SnowmanEngine[Any]) -> None:
        self._ticked = False
        await engine.gossip()

    def _look(self) -> None:
        """Check the current validators, and whether a block can be built by now."""
        engine = self._engine
        assert engine is not None
        engine.validators_changed()
        self._building.wanted()
        if self._chain.follows:
            self._contradiction = self._followed.look(engine.accepted_frontiers, engine.tree)
        obstacle = self.report().obstacle
        if obstacle != self._obstacle:
            self._obstacle = obstacle
            words = obstacle or "hears enough of the stake again"
            _log.log(
                logging.WARNING if obstacle else logging.INFO,
                "%s: %s",
                title(self._chain.alias),
                words,
            )

    def _wake_builder(self) -> None:
        if self._engine is not None and not self._woken and not self._chain.follows:
            self._woken = True
            self._enqueue(self._network.node_id, self._build)

    async def _build(self, engine: SnowmanEngine[Any]) -> None:
        self._woken = False
        await self._building.look(engine)

    def _enqueue(self, sender: NodeID, work: Work) -> None:
        self._queue.add(sender, EngineEvent(work))

    def _in_turn(
        self, node_id: NodeID, question: Question, turn: Turn, until: float
    ) -> asyncio.Future[None]:
        """Queue a request; the future completes when it is processed or its deadline has passed."""
        done = asyncio.get_running_loop().create_future()
        work = self._questions.work_for(node_id, question, turn)
        self._queue.add(node_id, EngineEvent(work, until, done))
        return done

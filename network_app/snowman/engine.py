"""Snowman's engine for one chain: issues blocks, polls validators, answers queries (snowman.md 8).

Its public methods are called for each event, one at a time; each returns when all consequences of the event
are complete. Messages are sent through a `Sender`, blocks are verified by a VM. The engine has no clock and
no I/O: its caller keeps time and reports requests that were not answered.
"""

from collections.abc import Awaitable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from chainvm.port import Block
from network_app.snowman.counts import BlockOrigin, Counts, Fetch, IssueSource
from network_app.snowman.parameters import SnowParameters
from network_app.snowman.polls import PollSet, Votes
from network_app.snowman.ports import Chits, EngineVM, Sender, Validators
from network_app.snowman.topological import Topological, VoteDecision
from network_app.snowman.waiting_blocks import Jobs, Ready, UnverifiedBlocks
from primitives.ids import ID, NodeID

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class _Issue(Generic[B]):
    """A block that waits for its parent."""

    block: B
    push: bool
    origin: BlockOrigin


@dataclass(frozen=True, slots=True)
class _Vote:
    """An answer that waits for the blocks that it names."""

    node_id: NodeID
    request_id: int
    choices: tuple[ID, ...]


Step: TypeAlias = Generator[Any, Any, None]
"""A part of the engine's work: it yields other parts and awaitables.

A thousand blocks that wait for the first of them therefore do not need a thousand nested calls.
"""


class SnowmanEngine(Generic[B]):
    """Votes on one chain's blocks.

    Args:
        vm: The chain.
        sender: Sends messages.
        validators: The validators that are polled.
        parameters: Sample size and thresholds of the polls.
        last_accepted: The last accepted block.
        counts: The counters to update; None: new counters.
    """

    def __init__(
        self,
        vm: EngineVM[B],
        sender: Sender,
        validators: Validators,
        parameters: SnowParameters,
        last_accepted: B,
        *,
        counts: Counts | None = None,
    ) -> None:
        self._vm = vm
        self._sender = sender
        self._validators = validators
        self._parameters = parameters
        self._first = last_accepted
        self.counts = Counts() if counts is None else counts
        self.tree = Topological(parameters, last_accepted.block_id, last_accepted.height)
        self.polls = PollSet(parameters, self.tree.parent_of)
        self.unverified: UnverifiedBlocks[B] = UnverifiedBlocks()
        self.pending: dict[ID, B] = {}
        """Blocks that wait for their parents to be issued."""
        self.pending_builds = 0
        self._requests: dict[tuple[NodeID, int], ID] = {}
        """IDs of the requested blocks, by node and request ID."""
        self._requested: dict[ID, tuple[NodeID, int]] = {}
        self._sources: dict[ID, IssueSource] = {}
        """Source of each requested block."""
        self._accepted_frontiers: dict[NodeID, tuple[ID, int]] = {}
        self._jobs: Jobs[_Issue[B] | _Vote] = Jobs()
        self._request_id = 0

    @property
    def requested(self) -> Collection[ID]:
        """The IDs of the requested blocks."""
        return self._requested.keys()

    @property
    def accepted_frontiers(self) -> Mapping[NodeID, tuple[ID, int]]:
        """Last accepted block and height of each validator, as it last reported them."""
        return self._accepted_frontiers

    @property
    def blockers(self) -> int:
        """The number of blocks that pending blocks and votes wait for."""
        return len(self._jobs)

    # --- events

    async def start(self) -> None:
        """Start; issue the options of the last accepted block if it is a proposal."""
        options = await self._vm.options(self._first)
        for option in options:
            await _run(self._deliver(option, BlockOrigin(None, IssueSource.BUILT), push=False))
        if not options:
            await self._vm.set_preference(self.tree.preference)
        await _run(self._build())

    async def answer(self, node_id: NodeID, request_id: int, requested_height: int) -> None:
        """Answer a query without processing the block that it names."""
        self._sender.send_chits(node_id, request_id, await self.chits_at(requested_height))

    async def push_query(
        self, node_id: NodeID, request_id: int, raw: bytes, requested_height: int
    ) -> None:
        """Answer a query that contains the bytes of a block, and issue the block."""
        await self.answer(node_id, request_id, requested_height)
        block = await self._vm.parse(raw)
        if block is not None:
            if not self._is_to_issue(block):
                self.counts.useless_push_query_bytes += len(raw)
            origin = BlockOrigin(node_id, IssueSource.PUSH_GOSSIP)
            await _run(self._issue_from(node_id, block, origin), self._build())

    async def pull_query(
        self, node_id: NodeID, request_id: int, block_id: ID, requested_height: int
    ) -> None:
        """Answer a query that contains the ID of a block, and issue the block."""
        await self.answer(node_id, request_id, requested_height)
        if not self._is_settled(block_id):
            origin = BlockOrigin(node_id, IssueSource.PUSH_GOSSIP)
            await _run(self._issue_by_id(node_id, block_id, origin), self._build())
        elif self.pending_builds:
            await _run(self._build())

    async def put(self, node_id: NodeID, request_id: int, raw: bytes) -> None:
        """Process a received block, even if it is no longer requested or never was."""
        block = await self._vm.parse(raw)
        expected = self._requests.get((node_id, request_id))
        if block is None or (expected is not None and expected != block.block_id):
            await self.get_failed(node_id, request_id)
            return
        if not self._is_to_issue(block):
            self.counts.useless_put_bytes += len(raw)
        origin = BlockOrigin(node_id, self._sources.get(block.block_id, IssueSource.UNKNOWN))
        await _run(self._issue_from(node_id, block, origin), self._build())

    async def get_failed(self, node_id: NodeID, request_id: int) -> None:
        """Note that a request for a block has failed."""
        block_id = self._requests.pop((node_id, request_id), None)
        if block_id is not None:
            del self._requested[block_id]
            self._sources.pop(block_id)
            await _run(self._abandon(block_id), self._build())

    async def chits(self, node_id: NodeID, request_id: int, chits: Chits) -> None:
        """Process the answer to a query; its vote counts when the blocks that it names are issued."""
        if self._validators.is_validator(node_id):
            self._accepted_frontiers[node_id] = chits.accepted_id, chits.accepted_height
        choices = dict.fromkeys((chits.preferred_id, chits.preferred_id_at_height))
        vote = _Vote(node_id, request_id, tuple(choices))
        if not all(map(self._is_settled, choices)):
            origin = BlockOrigin(node_id, IssueSource.PULL_GOSSIP)
            issuing = [self._issue_by_id(node_id, choice, origin) for choice in choices]
            await _run(*issuing, self._schedule_vote(vote), self._build())
            return
        # The fast path for nearly all answers: there is nothing to issue, and the vote can count now.
        results = self._count(vote)
        if results or self.pending_builds:
            await _run(self._record(results), self._build())

    async def query_failed(self, node_id: NodeID, request_id: int) -> None:
        """Note that a query failed; the last known accepted block of the node counts as its vote."""
        known = self._accepted_frontiers.get(node_id)
        if known is not None:
            block_id, height = known
            await self.chits(node_id, request_id, Chits(block_id, block_id, block_id, height))
            return
        await _run(self._vote(_Vote(node_id, request_id, ())), self._build())

    async def want_block(self) -> None:
        """Note that the chain has something to put into a block."""
        self.pending_builds += 1
        await _run(self._build())

    async def gossip(self) -> None:
        """Poll again while blocks are processing; otherwise query one validator for new blocks."""
        if len(self.tree):
            self._repoll()
            return
        node_id = self._validators.random_connected()
        if node_id is not None:
            request_id = self._next_request_id()
            self._sender.send_pull_query(
                [node_id], request_id, self.tree.preference, self.tree.last_height + 1
            )

    def validators_changed(self) -> None:
        """Forget the accepted frontiers of nodes that are no longer validators."""
        for node_id in list(self._accepted_frontiers):
            if not self._validators.is_validator(node_id):
                del self._accepted_frontiers[node_id]

    async def chits_at(self, requested_height: int) -> Chits:
        """Return this node's preferred and last accepted blocks."""
        tree = self.tree
        at_height = tree.last_accepted
        if requested_height < tree.last_height:
            accepted = await self._vm.get_block_id_at_height(requested_height)
            if accepted is None:
                self.counts.missing_accepted += 1
            at_height = accepted or tree.last_accepted
        elif requested_height > tree.last_height:
            at_height = tree.preferred_at(requested_height) or tree.preference
        return Chits(tree.preference, at_height, tree.last_accepted, tree.last_height)

    # --- issuing

    async def _known(self, block_id: ID) -> B | None:
        """Return a block that is pending, unverified, processing or accepted; None if unknown."""
        found = self.pending.get(block_id) or self.unverified.get(block_id)
        return found or await self._vm.get_block(block_id)

    def _is_to_issue(self, block: B) -> bool:
        block_id = block.block_id
        return not (
            self.tree.is_decided(block.parent_id, block.height)
            or block_id in self.pending
            or self.tree.is_processing(block_id)
        )

    def _is_settled(self, block_id: ID) -> bool:
        """Return whether a block is issued or last accepted, and nothing waits for it."""
        return (
            (self.tree.is_processing(block_id) or block_id == self.tree.last_accepted)
            and block_id not in self.pending
            and block_id not in self._requested
            and not self._jobs.waits_for(block_id)
        )

    def _issue_by_id(self, node_id: NodeID, block_id: ID, origin: BlockOrigin) -> Step:
        block = yield self._known(block_id)
        if block is None:
            self._request(node_id, block_id, origin.source)
        else:
            yield self._issue_from(node_id, block, origin)

    def _issue_from(self, node_id: NodeID, block: B, origin: BlockOrigin) -> Step:
        """Issue a block and its ancestors; request a missing ancestor from the node that named the block."""
        block_id = block.block_id
        while self._is_to_issue(block):
            yield self._issue(block, origin, push=False)
            block_id = block.parent_id
            found: B | None = yield self._known(block_id)
            if found is None:
                self._request(node_id, block_id, origin.source)
                return
            block = found
        self._cancel_request(block_id)
        if block_id not in self.pending:
            yield self._abandon(block_id)

    def _issue_built(self, block: B) -> Step:
        """Issue a block that was built here, and its ancestors; request nothing from peers."""
        found: B | None = block
        block_id, origin = block.block_id, BlockOrigin(None, IssueSource.BUILT)
        while found is not None and self._is_to_issue(found):
            yield self._issue(found, origin, push=True)
            block_id = found.parent_id
            found = yield self._known(block_id)
        is_decided = found is not None and self.tree.is_decided(found.parent_id, found.height)
        if is_decided or self.tree.is_processing(block_id) or block_id in self._requested:
            return
        yield self._abandon(block_id)

    def _issue(self, block: B, origin: BlockOrigin, *, push: bool) -> Step:
        self.pending[block.block_id] = block
        self._cancel_request(block.block_id)
        parent_id = block.parent_id
        waits = not self._can_follow(parent_id)
        ready = self._jobs.add(_Issue(block, push, origin), [parent_id] if waits else [])
        if ready is not None:
            yield self._deliver(block, origin, push=push)

    def _can_follow(self, parent_id: ID) -> bool:
        return parent_id == self.tree.last_accepted or self.tree.is_processing(parent_id)

    def _deliver(self, block: B, origin: BlockOrigin, *, push: bool) -> Step:
        """Verify a block whose parent is issued, make it processing, and poll."""
        block_id = block.block_id
        self.pending.pop(block_id, None)
        if not self._can_follow(block.parent_id) or self.tree.is_processing(block_id):
            yield self._abandon(block_id)
            return
        is_added = yield self._add(block, origin)
        if not is_added:
            yield self._abandon(block_id)
            return
        options: Sequence[B] = yield self._vm.options(block)
        added: list[bool] = yield self._add_all(options, origin)
        yield self._vm.set_preference(self.tree.preference)
        self._query_preferred(block, push=push)
        yield self._fulfil(block_id)
        for option, is_added in zip(options, added, strict=True):
            if is_added:
                self._query_preferred(option, push=push)
            self.pending.pop(option.block_id, None)
            yield self._fulfil(option.block_id) if is_added else self._abandon(option.block_id)
            self._cancel_request(option.block_id)
        if len(self.tree):
            self._repoll()

    async def _add(self, block: B, origin: BlockOrigin) -> bool:
        """Verify a block and add it to the tree; remember an invalid block for votes that name it."""
        if not await self._vm.verify(block):
            self._remember_unverified(block)
            return False
        self.counts.issued[origin.source] += 1
        self.counts.issuer_stake += self._validators.weight(origin.node_id)
        self.unverified.remove(block.block_id)
        self.tree.add(block.block_id, block.parent_id, block.height)
        return True

    async def _add_all(self, blocks: Sequence[B], origin: BlockOrigin) -> list[bool]:
        return [await self._add(block, origin) for block in blocks]

    def _remember_unverified(self, block: B) -> None:
        parent_id = block.parent_id
        if self.tree.is_processing(block.block_id):
            return
        if parent_id in self.unverified or self.tree.is_processing(parent_id):
            self.unverified.add(block)

    # --- jobs

    def _fulfil(self, block_id: ID) -> Step:
        yield self._run_ready(self._jobs.fulfil(block_id))

    def _abandon(self, block_id: ID) -> Step:
        yield self._run_ready(self._jobs.abandon(block_id))

    def _run_ready(self, ready: Sequence[Ready[_Issue[B] | _Vote]]) -> Step:
        for item in ready:
            job = item.job
            if isinstance(job, _Vote):
                yield self._vote(job)
            elif item.abandoned:
                self.pending.pop(job.block.block_id, None)
                self._remember_unverified(job.block)
                yield self._abandon(job.block.block_id)
            else:
                yield self._deliver(job.block, job.origin, push=job.push)

    # --- voting

    def _schedule_vote(self, vote: _Vote) -> Step:
        waits_for = [
            choice for choice in vote.choices if choice in self.pending or choice in self._requested
        ]
        if self._jobs.add(vote, waits_for) is not None:
            yield self._vote(vote)

    def _vote(self, vote: _Vote) -> Step:
        yield self._record(self._count(vote))

    def _count(self, vote: _Vote) -> list[Votes]:
        """Count a vote for the first of its choices that leads to a processing block.

        Returns:
            The votes of the polls that finish with this vote, oldest first.
        """
        for index, choice in enumerate(vote.choices):
            block_id = self._processing_ancestor(choice)
            if block_id is not None:
                self.counts.votes += 1
                self.counts.vote_index += index
                return self.polls.vote(vote.request_id, vote.node_id, block_id)
        return self.polls.drop(vote.request_id, vote.node_id)

    def _record(self, results: Sequence[Votes]) -> Step:
        """Apply the votes of finished polls, execute the resulting decisions, and poll again."""
        if not results:
            return
        decisions: list[VoteDecision] = []
        for votes in results:
            decisions += self.tree.record_poll(votes)
        if decisions:
            yield self._vm.decide(decisions)
            self._forget_decided(decisions)
        yield self._vm.set_preference(self.tree.preference)
        if len(self.tree):
            self._repoll()

    def _forget_decided(self, decisions: Iterable[VoteDecision]) -> None:
        for decision in decisions:
            self.unverified.remove_descendants(decision.parent)
            for rejected in decision.rejected:
                self.unverified.remove_descendants(rejected)
                self.unverified.remove(rejected)

    def _processing_ancestor(self, block_id: ID) -> ID | None:
        """Return the nearest processing block that a vote counts for, or None if none is known here."""
        found, named = self.unverified.verified_ancestor(block_id), block_id
        while not self.tree.is_processing(found):
            block = self.unverified.get(found)
            if block is None or self.tree.is_decided(block.parent_id, block.height):
                is_unknown = block is None and found != self.tree.last_accepted
                self.counts.ancestor_fetches[Fetch.FAILED if is_unknown else Fetch.DROPPED] += 1
                return None
            found = block.parent_id
        self.counts.ancestor_fetches[Fetch.UNNEEDED if found == named else Fetch.SUCCEEDED] += 1
        return found

    def _query_preferred(self, block: B, *, push: bool) -> None:
        if self.tree.is_preferred(block.block_id):
            self._query(block.block_id, block.raw if push else None)

    def _repoll(self) -> None:
        """Open polls for the preferred block up to the number of concurrent polls."""
        for _ in range(len(self.polls), self._parameters.concurrent_repolls):
            self._query(self.tree.preference, None)

    def _query(self, block_id: ID, raw: bytes | None) -> None:
        """Open a poll and query a sample of the validators, unless too little stake is connected."""
        if self._validators.connected_share() < self._parameters.min_connected_to_poll:
            return
        sampled = self._validators.sample(self._parameters.k)
        if sampled is None:
            return
        request_id = self._next_request_id()
        self.polls.add(request_id, sampled)
        height = self.tree.last_height + 1
        if raw is None:
            self._sender.send_pull_query(list(sampled), request_id, block_id, height)
        else:
            self._sender.send_push_query(list(sampled), request_id, raw, height)

    # --- building and fetching

    def _build(self) -> Step:
        """Build the blocks that the chain has requested, while few blocks are processing."""
        while self.pending_builds and len(self.tree) < self._parameters.optimal_processing:
            self.pending_builds -= 1
            block = yield self._vm.build()
            if block is None:
                return
            yield self._issue_built(block)

    def _request(self, node_id: NodeID, block_id: ID, source: IssueSource) -> None:
        if block_id in self._requested:
            return
        key = node_id, self._next_request_id()
        self._requests[key] = block_id
        self._requested[block_id] = key
        self._sources[block_id] = source
        self._sender.send_get(*key, block_id)

    def _cancel_request(self, block_id: ID) -> None:
        key = self._requested.pop(block_id, None)
        if key is not None:
            del self._requests[key]
            self._sources.pop(block_id)

    def _next_request_id(self) -> int:
        self._request_id += 1
        return self._request_id


async def _run(*steps: Step) -> None:
    """Run steps one after the other, with everything they yield."""
    running = list(reversed(steps))
    value: Any = None
    while running:
        try:
            yielded: Step | Awaitable[Any] = running[-1].send(value)
        except StopIteration:
            running.pop()
            value = None
            continue
        if isinstance(yielded, Generator):
            running.append(yielded)
            value = None
        else:
            value = await yielded

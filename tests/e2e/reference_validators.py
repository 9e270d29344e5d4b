"""Validators that behave like the reference implementation: they query, answer, vote and propose on the P-Chain.

They read only a block's position in the chain and trust the rest of it. They check the node's messages against
p2p.md 3, 7, 9 and snowman.md 8, and collect violations in `wrong`.
"""

import asyncio
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from network_app.config import NetworkConfig
from network_app.peers.network import PeerNetwork
from network_app.ports import PeerInfo, ValidatorInfo
from network_app.proposervm.block import OuterOptionBlock, parse
from network_app.proposervm.building import BlockSigner, build_child
from network_app.proposervm.verification import (
    InnerContext,
    follow,
    of_genesis,
)
from network_app.proposervm.windower import proposer_at, slot_of
from network_app.sync.messages import NOT_REGISTERED, enclose
from network_app.wire import p2p_pb2 as p2p
from platform_app.blocks.block import build_standard, genesis_block, parse_block
from platform_app.genesis.building import build_genesis
from platform_app.genesis.config import parse_genesis_config
from platform_app.genesis.genesis import parse_genesis
from platform_app.txs.base import Tx
from primitives.ids import ID, P_CHAIN_ID, NodeID
from primitives.node_identity import NodeIdentity
from primitives.upgrades import OWN_NETWORK
from tests.builders.peers import LOOPBACK, NETWORK_ID, Validators
from tests.e2e.reference_voting import ALPHA, K, Voting

SECOND = 1_000_000_000
TIMEOUT = 2.0
"""Seconds after which an answer is considered missing; the least that the reference implementation waits."""
OPEN = 4
"""Number of concurrent polls while a block is processing."""
TICK = 0.1
PATIENCE = 60.0
"""Seconds until a test gives up waiting for an answer."""
UPGRADES = OWN_NETWORK


@dataclass
class Beginning:
    """The genesis data that all nodes of a network share."""

    genesis_id: ID
    raw: bytes
    time: int
    """Unix seconds."""
    weights: Mapping[NodeID, int]

    @classmethod
    def of(cls, path: Path) -> "Beginning":
        """Return the data of a genesis file."""
        raw = build_genesis(parse_genesis_config(json.loads(path.read_text())))
        genesis, block = parse_genesis(raw), genesis_block(raw)
        weights = {
            tx.unsigned.validator.node_id: tx.unsigned.validator.weight  # type: ignore[attr-defined]
            for tx in genesis.validators
        }
        return cls(block.block_id, block.raw, genesis.timestamp, weights)


@dataclass
class Poll:
    """The sampled nodes that have not answered, with how often each was drawn, and the votes so far."""

    outstanding: Counter[NodeID]
    votes: Counter[ID] = field(default_factory=Counter)


class ReferenceValidator:
    """A validator; a `ports.MessageHandler` on the event loop of `ReferenceValidators`."""

    def __init__(
        self, begun: Beginning, identity: NodeIdentity, directory: Validators, random: Random
    ) -> None:
        self.node_id = identity.node_id
        self.voting = Voting(begun.genesis_id, begun.raw)
        self.wrong: list[str] = []
        """Messages from others that the reference implementation never sends."""
        self.heard: dict[NodeID, Counter[str]] = {}
        """Number of received messages of each kind, by sender."""
        self.voted_for: dict[NodeID, set[ID]] = {}
        """Preferred blocks in the chits of other nodes."""
        self.asked_for: dict[NodeID, list[ID]] = {}
        """Blocks that other nodes have requested."""
        self._identity = identity
        self._begun = begun
        self._directory = directory
        self._random = random
        self._numbers = itertools.count(1)
        self._asked: set[tuple[NodeID, int]] = set()
        self._block_requests: set[tuple[NodeID, int]] = set()
        """Unanswered requests for blocks. They do not expire: the answer of a slow node may come after `TIMEOUT`."""
        self._polls: dict[int, Poll] = {}
        self._awaited: dict[int, asyncio.Future[Any]] = {}
        self._missing: dict[ID, list[bytes]] = {}
        """Blocks that wait for their parent, by the parent's ID."""
        self._facts = {begun.genesis_id: of_genesis(begun.genesis_id, begun.time)}
        self.network: PeerNetwork

    async def start(self, others: Sequence[tuple[str, int]]) -> tuple[str, int]:
        """Listen, and connect to the others; return the listening address."""
        self.network = PeerNetwork(
            self._identity,
            NetworkConfig(network_id=NETWORK_ID),
            self._directory,
            listen=(LOOPBACK, 0),
            advertised=(LOOPBACK, 0),
            tracked=others,
        )
        await self.network.start(self)
        return LOOPBACK, self.network.port

    async def live(self) -> None:
        """Poll while a block is processing; otherwise query one random validator ten times a second."""
        while True:
            await asyncio.sleep(TICK)
            if not self.voting.is_idle:
                self._poll()
                continue
            there = [weight for weight in self._begun.weights if weight in self.network.connected()]
            if there:
                query = p2p.PullQuery(container_id=bytes(self.voting.preference))
                self._ask([self._random.choice(there)], query)

    async def propose(self, tx: Tx) -> ID:
        """Wait for this validator's slot, and propose a block with a transaction; return the block's ID."""
        while True:
            parent, now = self._facts[self.voting.preference], int(time.time())
            height, slot = parent.height + 1, slot_of(now, parent.time)
            if proposer_at(P_CHAIN_ID, height, slot, self._begun.weights) == self.node_id:
                break
            await asyncio.sleep(TICK)
        inner = build_standard(parent_id=parent.inner_id, height=height, time=now, txs=[tx])
        block = build_child(
            parent,
            inner.raw,
            time=now,
            p_chain_height=parent.p_chain_height or 0,
            signature=BlockSigner(
                P_CHAIN_ID, self._identity.certificate_der, self._identity.tls_key
            ),
            upgrades=UPGRADES,
        )
        self._learn(block.raw)
        self._poll(block.raw)
        return block.outer_id

    async def question(self, node_id: NodeID, request: Any) -> Any:
        """Send a request to a node; return the answer."""
        answered = asyncio.get_running_loop().create_future()
        self._awaited[self._ask([node_id], request)] = answered
        return await asyncio.wait_for(answered, PATIENCE)

    # --- ports.MessageHandler

    def connected(self, peer: PeerInfo) -> None:
        self.heard.setdefault(peer.node_id, Counter())

    def disconnected(self, node_id: NodeID) -> None:
        for number in list(self._polls):
            self._settle(node_id, number, None)

    async def handle(self, node_id: NodeID, message: p2p.Message) -> None:
        kind = message.WhichOneof("message") or ""
        content: Any = getattr(message, kind)
        if content.chain_id != bytes(P_CHAIN_ID):
            return
        self.heard.setdefault(node_id, Counter())[kind] += 1
        if hasattr(content, "deadline") and not 2 * SECOND <= content.deadline <= 10 * SECOND:
            self.wrong.append(f"{kind} with a deadline of {content.deadline}")
        awaited = None
        if not hasattr(content, "deadline"):
            awaited = self._awaited.pop(getattr(content, "request_id", 0), None)
        if awaited is not None:
            awaited.set_result(content)
            return
        answer = getattr(self, f"_on_{kind}", None)
        if answer is not None:
            answer(node_id, content)

    def _on_pull_query(self, node_id: NodeID, query: p2p.PullQuery) -> None:
        self._vote(node_id, query)
        if ID(query.container_id) not in self.voting.blocks:
            self._ask([node_id], p2p.Get(container_id=query.container_id))

    def _on_push_query(self, node_id: NodeID, query: p2p.PushQuery) -> None:
        self._vote(node_id, query)
        self._take(node_id, query.container)

    def _on_chits(self, node_id: NodeID, chits: p2p.Chits) -> None:
        ids = (chits.preferred_id, chits.preferred_id_at_height, chits.accepted_id)
        if {len(identifier) for identifier in ids} != {32}:
            self.wrong.append(f"chits without an ID: {chits}")
            return
        if (node_id, chits.request_id) not in self._asked:
            return  # too late or not requested
        ours = self.voting.accepted[chits.accepted_height : chits.accepted_height + 1]
        if ours not in ([], [ID(chits.accepted_id)]):
            self.wrong.append(f"another block accepted at {chits.accepted_height}")
        preferred = ID(chits.preferred_id)
        self.voted_for.setdefault(node_id, set()).add(preferred)
        if preferred not in self.voting.blocks:
            self._ask([node_id], p2p.Get(container_id=chits.preferred_id))
        self._settle(node_id, chits.request_id, preferred)

    def _on_put(self, node_id: NodeID, put: p2p.Put) -> None:
        if (node_id, put.request_id) not in self._block_requests:
            self.wrong.append("a block that nobody asked for")
        self._block_requests.discard((node_id, put.request_id))
        self._take(node_id, put.container)

    def _on_get(self, node_id: NodeID, get: p2p.Get) -> None:
        block_id = ID(get.container_id)
        self.asked_for.setdefault(node_id, []).append(block_id)
        held = self.voting.blocks.get(block_id)
        if held is not None:
            self._answer(node_id, get, p2p.Put(container=held.raw))

    def _on_get_accepted_frontier(self, node_id: NodeID, get: p2p.GetAcceptedFrontier) -> None:
        self._answer(node_id, get, p2p.AcceptedFrontier(container_id=bytes(self.voting.last)))

    def _on_get_accepted(self, node_id: NodeID, get: p2p.GetAccepted) -> None:
        ours = [
            container_id
            for container_id in get.container_ids
            if ID(container_id) in self.voting.accepted
        ]
        self._answer(node_id, get, p2p.Accepted(container_ids=ours))

    def _on_get_ancestors(self, node_id: NodeID, get: p2p.GetAncestors) -> None:
        raws, at = [], ID(get.container_id)
        while (held := self.voting.blocks.get(at)) is not None:
            raws.append(held.raw)
            at = held.parent
        self._answer(node_id, get, p2p.Ancestors(containers=raws))

    def _on_app_request(self, node_id: NodeID, request: p2p.AppRequest) -> None:
        error = p2p.AppError(error_code=NOT_REGISTERED, error_message="handler not registered")
        self._answer(node_id, request, error)

    # --- blocks and votes

    def _vote(self, node_id: NodeID, query: p2p.PullQuery | p2p.PushQuery) -> None:
        voting = self.voting
        chits = p2p.Chits(
            preferred_id=bytes(voting.preference),
            preferred_id_at_height=bytes(voting.preferred_at(query.requested_height)),
            accepted_id=bytes(voting.last),
            accepted_height=len(voting.accepted) - 1,
        )
        self._answer(node_id, query, chits)

    def _take(self, node_id: NodeID, raw: bytes) -> None:
        """Add a block from a peer, and request its parent from that peer if it is missing."""
        missing = self._learn(raw)
        if missing is not None:
            self._ask([node_id], p2p.Get(container_id=bytes(missing)))

    def _learn(self, raw: bytes) -> ID | None:
        """Add a block; return the ID of its parent if that is missing."""
        outer = parse(raw)
        parent = self._facts.get(outer.parent_id)
        if parent is None:
            self._missing.setdefault(outer.parent_id, []).append(raw)
            return outer.parent_id
        self.voting.add(outer.outer_id, outer.parent_id, raw)
        inner = parse_block(outer.inner)
        assert not isinstance(outer, OuterOptionBlock), "nothing is proposed in this network"
        facts = InnerContext(inner.block_id, inner.parent_id, inner.height)
        self._facts[outer.outer_id] = follow(parent, outer, facts)
        for child in self._missing.pop(outer.outer_id, []):
            self._learn(child)
        return None

    def _poll(self, pushed: bytes | None = None) -> None:
        """Start polls until enough are open; start none if too little stake is connected."""
        query: p2p.PushQuery | p2p.PullQuery
        weights, there = self._begun.weights, {self.node_id, *self.network.connected()}
        connected = sum(weight for one, weight in weights.items() if one in there)
        if connected * K < sum(weights.values()) * ALPHA:
            return
        for _ in range(max(OPEN - len(self._polls), int(pushed is not None))):
            if pushed is None:
                query = p2p.PullQuery(container_id=bytes(self.voting.preference))
            else:
                query, pushed = p2p.PushQuery(container=pushed), None
            nodes = [*self._begun.weights]
            drawn = Counter(self._random.choices(nodes, [*self._begun.weights.values()], k=K))
            poll = Poll(Counter(drawn))
            number = self._ask([item for item in drawn if item != self.node_id], query, poll)
            self._settle(self.node_id, number, self.voting.preference)
            for node_id in drawn.keys() - self.network.connected().keys():
                self._settle(node_id, number, None)

    def _settle(self, node_id: NodeID, number: int, vote: ID | None) -> None:
        """Record a node's vote, or its absence; after the last vote of a poll evaluate the poll."""
        self._asked.discard((node_id, number))
        poll = self._polls.get(number)
        if poll is None:
            return
        times = poll.outstanding.pop(node_id, 0)
        if vote is not None and times:
            poll.votes[vote] += times
        if not poll.outstanding:
            del self._polls[number]
            self.voting.record(poll.votes)
            if not self.voting.is_idle:
                asyncio.get_running_loop().call_soon(self._poll)

    # --- the wire

    def _ask(
        self,
        nodes: Sequence[NodeID],
        request: Any,
        poll: Poll | None = None,
    ) -> int:
        number = next(self._numbers)
        if poll is not None:
            self._polls[number] = poll
        request.chain_id, request.request_id = bytes(P_CHAIN_ID), number
        request.deadline = int(TIMEOUT * SECOND)
        if isinstance(request, p2p.PullQuery | p2p.PushQuery) and not request.requested_height:
            request.requested_height = len(self.voting.accepted)
        for node_id in nodes:
            if self.network.send(node_id, enclose(request)):
                self._asked.add((node_id, number))
                if isinstance(request, p2p.Get):
                    self._block_requests.add((node_id, number))
                loop = asyncio.get_running_loop()
                loop.call_later(TIMEOUT, self._settle, node_id, number, None)
        return number

    def _answer(self, node_id: NodeID, request: Any, answer: Any) -> None:
        answer.chain_id, answer.request_id = request.chain_id, request.request_id
        self.network.send(node_id, enclose(answer))


class ReferenceValidators:
    """Several reference validators, all connected to each other, on one event loop in a thread.

    Args:
        begun: Genesis data of the network.
        own: Identity of the node under test, which validates with them.
        identities: Identities of the reference validators.
    """

    def __init__(
        self, begun: Beginning, own: NodeIdentity, identities: Sequence[NodeIdentity]
    ) -> None:
        directory = Validators({
            identity.node_id: ValidatorInfo(begun.weights[identity.node_id], identity.bls_public_key)
            for identity in (own, *identities)
        })  # fmt: skip
        self.all = [
            ReferenceValidator(begun, one, directory, Random(number))
            for number, one in enumerate(identities)
        ]
        self.addresses: list[tuple[str, int]] = []
        """The addresses that they listen on."""
        self._loop = asyncio.new_event_loop()

    @property
    def wrong(self) -> list[str]:
        """Messages that one of them received and that the reference implementation never sends."""
        return [words for item in self.all for words in item.wrong]

    @property
    def heights(self) -> set[int]:
        """The distinct heights of their last accepted blocks."""
        return {len(item.voting.accepted) - 1 for item in self.all}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the validators while the body runs."""
        ready, stopping = threading.Event(), asyncio.Event()

        async def live() -> None:
            for entry in self.all:
                self.addresses.append(await entry.start(self.addresses))
            tasks = [asyncio.create_task(item.live()) for item in self.all]
            ready.set()
            await asyncio.wait(
                [*tasks, asyncio.create_task(stopping.wait())], return_when=asyncio.FIRST_COMPLETED
            )
            for task in tasks:
                task.cancel()
            for other in self.all:
                await other.network.stop()
            for failed in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(failed, Exception):
                    self.all[0].wrong.append(repr(failed))

        thread = threading.Thread(target=self._loop.run_until_complete, args=(live(),))
        thread.start()
        assert ready.wait(60)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(stopping.set)
            thread.join(60)
            self._loop.close()

    def propose(self, which: int, tx: Tx) -> ID:
        """Let one of them propose a block with a transaction in its next slot; return the block's ID."""
        work = self.all[which].propose(tx)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)

    def question(self, which: int, node_id: NodeID, request: Any) -> Any:
        """Let one of them send a request to a node; return the answer."""
        work = self.all[which].question(node_id, request)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * PATIENCE)

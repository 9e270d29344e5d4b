"""A peer with the recorded C-Chain of five avalanchego nodes (tests/vectors/coreth), of whose messages each is checked.

It bootstraps the node under test up to a height and then behaves as a node that is not a validator. Its P-Chain and its X-Chain
have only the genesis of the reference implementation's local network.
"""

import asyncio
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from network_app.config import NetworkConfig
from network_app.peers.network import PeerNetwork
from network_app.ports import PeerInfo
from network_app.proposervm.block import parse
from network_app.sync.messages import enclose, split_handler, with_handler
from network_app.wire import p2p_pb2 as p2p
from network_app.wire.sdk_pb2 import PushGossip
from platform_app.blocks.block import genesis_block
from platform_app.genesis.building import build_genesis, reference_local_network
from platform_app.genesis.genesis import parse_genesis
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, P_CHAIN_ID, NodeID
from tests.builders.nodes import node
from tests.builders.peers import LOOPBACK, NETWORK_ID, PATIENCE, Validators
from tests.conformance.coreth_vectors import data, document
from xchain_app.genesis import genesis as x_chain

DEADLINE = 10_000_000_000
"""Nanoseconds."""
_FIELDS = {
    field.message_type.name: field.name
    for field in p2p.Message.DESCRIPTOR.fields
    if field.message_type
}
"""The field of `Message` that contains each type, also those that the node never sends."""


class RecordedChain:
    """Blocks of one chain up to a height, which are accepted.

    Args:
        genesis: The ID of block 0, which is bare.
        raws: The outer blocks from height 1 on, also those that are not accepted.
        last: The height of the last accepted block.
    """

    def __init__(self, genesis: ID, raws: list[bytes], last: int) -> None:
        self.raws = raws
        self.ids = [genesis, *(parse(raw).outer_id for raw in raws)]
        self.last = last

    def answer(self, kind: str, content: Any) -> Any:
        """Return the answer to a request about accepted blocks; None for other requests."""
        accepted = [bytes(block_id) for block_id in self.ids[: self.last + 1]]
        match kind:
            case "get_accepted_frontier":
                return p2p.AcceptedFrontier(container_id=accepted[-1])
            case "get_accepted":
                known = [one for one in content.container_ids if one in accepted]
                return p2p.Accepted(container_ids=known)
            case "get_ancestors" if content.container_id in accepted[1:]:
                height = accepted.index(content.container_id)
                return p2p.Ancestors(containers=self.raws[:height][::-1])
            case "get" if content.container_id in accepted[1:]:
                return p2p.Put(container=self.raws[accepted.index(content.container_id) - 1])
            case "pull_query" | "push_query":
                at = min(content.requested_height, self.last)
                return p2p.Chits(
                    preferred_id=accepted[-1],
                    accepted_id=accepted[-1],
                    preferred_id_at_height=accepted[at],
                    accepted_height=self.last,
                )
        return None


class RecordedPeer:
    """The peer; a `ports.MessageHandler` on an event loop in its own thread.

    Args:
        last: The height up to which the recorded blocks of the C-Chain are accepted.
    """

    def __init__(self, last: int) -> None:
        raw = build_genesis(reference_local_network(int(time.time())))
        genesis = parse_genesis(raw)
        (created,) = (tx for tx in genesis.chains if tx.tx_id == genesis.x_chain_id)
        assert isinstance(created.unsigned, CreateChainTx)
        x_genesis = x_chain.parse_genesis(created.unsigned.genesis_data, genesis.x_chain_id)
        first, *recorded = document("local_chain")["blocks"]
        outer = [data(block["outerBlock"]) for block in recorded]
        self.c_chain = RecordedChain(ID(data(first["hash"])), outer, last)
        self.c_chain_id = genesis.c_chain_id
        self._chains = {
            bytes(P_CHAIN_ID): RecordedChain(genesis_block(raw).block_id, [], 0),
            bytes(genesis.x_chain_id): RecordedChain(x_genesis.block.block_id, [], 0),
            bytes(genesis.c_chain_id): self.c_chain,
        }
        self.pushed: dict[int, list[bytes]] = defaultdict(list)
        """The transactions of the C-Chain that the node has pushed, by the number of their handler."""
        self.even_requests = 0
        """Number of the node's application requests with an even ID, which the reference's C-Chain does not answer."""
        self._node: NodeID | None = None
        self._identity = node(78).identity
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._loop = asyncio.new_event_loop()
        self._network: PeerNetwork

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run the peer, and yield the address that it listens on."""
        ready, stopping = threading.Event(), asyncio.Event()

        async def live() -> None:
            self._network = PeerNetwork(
                self._identity,
                NetworkConfig(network_id=NETWORK_ID),
                Validators(),
                listen=(LOOPBACK, 0),
                advertised=(LOOPBACK, 0),
                tracked=(),
            )
            await self._network.start(self)
            ready.set()
            await stopping.wait()
            await self._network.stop()

        thread = threading.Thread(target=self._loop.run_until_complete, args=(live(),))
        thread.start()
        assert ready.wait(60)
        try:
            yield f"{LOOPBACK}:{self._network.port}"
        finally:
            self._loop.call_soon_threadsafe(stopping.set)
            thread.join(60)
            self._loop.close()

    # --- called by tests

    def ask(self, request: Any) -> Any:
        """Send the node a request about the C-Chain, and return its answer."""
        return asyncio.run_coroutine_threadsafe(self._ask(request), self._loop).result(PATIENCE)

    def call(self, handler: int, payload: bytes) -> Any:
        """Send the node an application request about the C-Chain, and return its answer."""
        return self.ask(p2p.AppRequest(app_bytes=with_handler(handler, payload)))

    def tell(self, handler: int, *raws: bytes) -> None:
        """Push transactions of the C-Chain to the node."""
        payload = PushGossip(gossip=raws).SerializeToString()
        gossip = p2p.AppGossip(
            chain_id=bytes(self.c_chain_id), app_bytes=with_handler(handler, payload)
        )
        self._loop.call_soon_threadsafe(self._send, gossip)

    # --- ports.MessageHandler

    def connected(self, peer: PeerInfo) -> None:
        self._node = peer.node_id

    def disconnected(self, node_id: NodeID) -> None:
        """Nothing: the node connects again."""

    async def handle(self, node_id: NodeID, message: p2p.Message) -> None:
        kind = message.WhichOneof("message") or ""
        content: Any = getattr(message, kind)
        if kind == "app_gossip":
            self._take(content)
            return
        if not hasattr(content, "deadline"):
            waiting = self._open.pop(content.request_id, None)
            if waiting is not None:
                waiting.set_result(content)
            return
        if kind == "app_request":
            self.even_requests += content.request_id % 2 == 0
        chain = self._chains.get(content.chain_id)
        answer = None if chain is None else chain.answer(kind, content)
        if answer is not None:
            answer.chain_id, answer.request_id = content.chain_id, content.request_id
            self._network.send(node_id, enclose(answer))

    def _take(self, gossip: p2p.AppGossip) -> None:
        found = split_handler(gossip.app_bytes)
        if found is not None and gossip.chain_id == bytes(self.c_chain_id):
            handler, payload = found
            self.pushed[handler] += PushGossip.FromString(payload).gossip

    async def _ask(self, request: Any) -> Any:
        number = 2 * next(self._numbers) - isinstance(request, p2p.AppRequest)
        request.chain_id, request.request_id = bytes(self.c_chain_id), number
        request.deadline = DEADLINE
        self._open[number] = answered = asyncio.get_running_loop().create_future()
        self._send(request)
        return await answered

    def _send(self, content: Any) -> None:
        assert self._node is not None, "the node has connected"
        message = p2p.Message(**{_FIELDS[type(content).DESCRIPTOR.name]: content})
        self._network.send(self._node, message)

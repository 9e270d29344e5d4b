"""A peer that behaves towards the node like a node of the reference implementation's local network.

It has the same P-Chain, whose messages it relays to and from a node that builds it, and a C-Chain with another
genesis and a block format that the node does not read. It does not support this project's own extensions of
the protocol.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from network_app.config import NetworkConfig
from network_app.peers.network import PeerNetwork
from network_app.ports import PeerInfo
from network_app.proposervm.block import build_unsigned
from network_app.sync.messages import NOT_REGISTERED, enclose
from network_app.wire.p2p_pb2 import (
    Accepted,
    AcceptedFrontier,
    Ancestors,
    AppError,
    Chits,
    Message,
    Put,
)
from primitives.hashing import sha256
from primitives.ids import ID, P_CHAIN_ID, NodeID
from primitives.node_identity import NodeIdentity
from tests.builders.nodes import node
from tests.builders.peers import LOOPBACK, NETWORK_ID, Validators

TIME = 1_700_000_000


def foreign_chain(length: int) -> list[tuple[ID, bytes]]:
    """Return blocks of a C-Chain that the node does not read: outer blocks with arbitrary content."""
    parent = ID(sha256(b"another genesis"))
    chain = [(parent, b"another genesis")]
    for height in range(1, length + 1):
        block = build_unsigned(parent, TIME + height, 0, None, b"\xf9\x02" + sha256(parent))
        parent = block.outer_id
        chain.append((parent, block.raw))
    return chain


class ReferencePeer:
    """The peer; it runs on an event loop in its own thread.

    Args:
        maker: Address of the node that builds the P-Chain.
    """

    def __init__(self, maker: tuple[str, int], identity: NodeIdentity) -> None:
        self.node_id = identity.node_id
        self.disconnected_from: list[NodeID] = []
        self.asked_about_c = 0
        self._maker: NodeID | None = None
        self._c_chain = foreign_chain(5)
        self._config = NetworkConfig(network_id=NETWORK_ID)
        self._identity = identity
        self._address = maker
        self.network: PeerNetwork
        self._loop = asyncio.new_event_loop()

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run the peer in a thread, and yield the address that it listens on."""
        ready, stopping = threading.Event(), asyncio.Event()

        async def live() -> None:
            self.network = PeerNetwork(
                self._identity,
                self._config,
                Validators(),
                listen=(LOOPBACK, 0),
                advertised=(LOOPBACK, 0),
                tracked=[self._address],
            )
            await self.network.start(self)
            ready.set()
            await stopping.wait()
            await self.network.stop()

        thread = threading.Thread(target=self._loop.run_until_complete, args=(live(),))
        thread.start()
        assert ready.wait(60)
        try:
            yield f"{LOOPBACK}:{self.network.port}"
        finally:
            self._loop.call_soon_threadsafe(stopping.set)
            thread.join(60)
            self._loop.close()

    # --- ports.MessageHandler

    def connected(self, peer: PeerInfo) -> None:
        if self.network.tracked_nodes().get(self._address) == peer.node_id:
            self._maker = peer.node_id

    def disconnected(self, node_id: NodeID) -> None:
        self.disconnected_from.append(node_id)

    async def handle(self, node_id: NodeID, message: Message) -> None:
        kind = message.WhichOneof("message")
        assert kind is not None
        content = getattr(message, kind)
        if content.chain_id == bytes(P_CHAIN_ID):
            self._pass_on(node_id, kind, message)
        elif node_id != self._maker:
            self._answer(node_id, kind, content)

    def _pass_on(self, sender: NodeID, kind: str, message: Message) -> None:
        if kind == "app_request":
            request = message.app_request
            error = AppError(error_code=NOT_REGISTERED, error_message="handler not registered")
            error.chain_id, error.request_id = request.chain_id, request.request_id
            self.network.send(sender, enclose(error))
            return
        if sender != self._maker and self._maker is not None:
            self.network.send(self._maker, message)
            return
        for other in self.network.connected():
            if other != self._maker:
                self.network.send(other, message)

    def _answer(self, node_id: NodeID, kind: str, content: object) -> None:
        """Answer a request about the C-Chain like a node with a different C-Chain."""
        ids = [block_id for block_id, _ in self._c_chain]
        last = bytes(ids[-1])
        answer: AcceptedFrontier | Accepted | Ancestors | Put | Chits
        match kind:
            case "get_accepted_frontier":
                answer = AcceptedFrontier(container_id=last)
            case "get_accepted":
                known = [
                    container_id for container_id in content.container_ids if container_id in ids
                ]  # type: ignore[attr-defined]
                answer = Accepted(container_ids=known)
            case "get_ancestors" | "get":
                wanted = content.container_id  # type: ignore[attr-defined]
                found = [raw for one, raw in self._c_chain if bytes(one) == wanted]
                if kind == "get" and not found:
                    return
                answer = Put(container=found[0]) if kind == "get" else Ancestors(containers=found)
            case "pull_query" | "push_query":
                answer = Chits(
                    preferred_id=last,
                    accepted_id=last,
                    preferred_id_at_height=last,
                    accepted_height=len(ids) - 1,
                )
            case _:
                return
        self.asked_about_c += 1
        answer.chain_id = content.chain_id  # type: ignore[attr-defined]
        answer.request_id = content.request_id  # type: ignore[attr-defined]
        self.network.send(node_id, enclose(answer))


def reference_peer(maker: tuple[str, int]) -> ReferencePeer:
    """Return a peer with its own identity."""
    return ReferencePeer(maker, node(77).identity)

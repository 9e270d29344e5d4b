"""The current connections: one for each node, with a limit on unknown peers (p2p.md 1).

`listener` and `dialer` open connections.
"""

from collections.abc import Iterator, Mapping

from typing_extensions import override

from network_app.config import NetworkConfig
from network_app.peers.errors import (
    NotWanted,
    PeerReason,
)
from network_app.peers.listener import LOOPBACK
from network_app.peers.peer import Peer
from network_app.ports import PeerInfo
from primitives.ids import NodeID

UNFINISHED_SHARE = 10
"""Factor by which an unknown peer's idle time counts more while its handshake is unfinished."""


class ConnectedPeers(Mapping[NodeID, PeerInfo]):
    """Peers connected at one time; the details of a peer are read when they are accessed."""

    def __init__(self, peers: dict[NodeID, Peer]) -> None:
        self._peers = peers

    @override
    def __getitem__(self, node_id: NodeID) -> PeerInfo:
        return self._peers[node_id].info()

    @override
    def __iter__(self) -> Iterator[NodeID]:
        return iter(self._peers)

    @override
    def __len__(self) -> int:
        return len(self._peers)

    @override
    def __contains__(self, node_id: object) -> bool:
        return node_id in self._peers


class Roster:
    """Connections with a completed TLS handshake, by node."""

    def __init__(self, node_id: NodeID, config: NetworkConfig) -> None:
        self._node_id = node_id
        self._config = config
        self._peers: dict[NodeID, Peer] = {}
        self._finished: dict[NodeID, Peer] = {}

    def __iter__(self) -> Iterator[Peer]:
        return iter(list(self._peers.values()))

    def __len__(self) -> int:
        return len(self._peers)

    def get(self, node_id: NodeID) -> Peer | None:
        """Return a node's connection if its handshake is finished."""
        return self._finished.get(node_id)

    def talking(self) -> list[Peer]:
        """Return the connections whose handshake is finished."""
        return list(self._finished.values())

    def connected(self) -> ConnectedPeers:
        """Return the peers whose handshake is finished."""
        return ConnectedPeers(self._finished.copy())

    def admit(self, peer: Peer) -> None:
        """Register a new connection.

        Raises:
            NotWanted: The node dialled itself or is already connected, or there are too many.
        """
        if peer.node_id == self._node_id:
            raise NotWanted(PeerReason.SELF_CONNECTION)
        earlier = self._peers.get(peer.node_id)
        if earlier is not None:
            self._choose(earlier, peer)
        elif peer.is_stranger:
            self._find_place(peer)
        self._peers[peer.node_id] = peer

    def finished(self, peer: Peer) -> None:
        """Note that a connection's handshake is finished."""
        self._finished[peer.node_id] = peer

    def leave(self, peer: Peer) -> None:
        """Remove a connection and free its place."""
        if self._peers.get(peer.node_id) is peer:
            del self._peers[peer.node_id]
        if self._finished.get(peer.node_id) is peer:
            del self._finished[peer.node_id]
        peer.gone.set()

    async def absent(self, node_id: NodeID) -> bool:
        """Wait until there is no connection to a node; return whether there was one."""
        present = False
        while (peer := self._peers.get(node_id)) is not None:
            present = True
            await peer.gone.wait()
        return present

    def _choose(self, earlier: Peer, later: Peer) -> None:
        """Keep one of two connections to a node: the first, unless both nodes dialled simultaneously.

        In that case both sides keep the connection dialled by the node with the smaller ID. If each kept
        its first connection, both might be closed.
        """
        if earlier.is_finished or self._dialler(later) >= self._dialler(earlier):
            raise NotWanted(PeerReason.ALREADY_CONNECTED)
        earlier.close(NotWanted(PeerReason.ALREADY_CONNECTED))

    def _dialler(self, peer: Peer) -> NodeID:
        return self._node_id if peer.outbound else peer.node_id

    def _find_place(self, newcomer: Peer) -> None:
        """Enforce the limits on unknown peers, in total and per network; an idle one may be closed."""
        strangers = [peer for peer in self._peers.values() if peer.is_stranger]
        beside = sum(peer.prefix == newcomer.prefix for peer in strangers)
        if newcomer.prefix != LOOPBACK and beside >= self._config.inbound_per_prefix:
            raise NotWanted(PeerReason.TOO_MANY_INBOUND, limit=self._config.inbound_per_prefix)
        if len(strangers) < self._config.max_inbound:
            return
        idle = max(strangers, key=self._idleness, default=None)
        if idle is None or self._idleness(idle) < self._config.idle_time:
            raise NotWanted(PeerReason.TOO_MANY_INBOUND, limit=self._config.max_inbound)
        idle.close(NotWanted(PeerReason.MADE_ROOM))
        self.leave(idle)

    @staticmethod
    def _idleness(peer: Peer) -> float:
        """Return for how many seconds an unknown peer has been idle, weighted."""
        return peer.idle if peer.is_finished else peer.idle * UNFINISHED_SHARE

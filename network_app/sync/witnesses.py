"""Asks peers for the blocks they have accepted, to find other genesis blocks and blocks rejected here.

The request is the GetAccepted of bootstrapping (p2p.md 9). It includes the genesis block, so a peer whose
answer lacks it has another genesis.

`Beacons` are the bootstrappers, with the numbers that have to be connected, or to agree (p2p.md 9).
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Self

from network_app.config import NetworkConfig
from network_app.ports import Gathering
from network_app.sync.choosing import PeerSelection
from network_app.sync.errors import InvalidFetchedBlock, PeerGenesisMismatch
from network_app.sync.last_accepted import LastAccepted, RejectedBlock, Support
from network_app.sync.messages import as_id
from network_app.sync.requests import Requests, ask_each
from network_app.wire.p2p_pb2 import Accepted, GetAccepted
from primitives.ids import EMPTY_ID, ID, NodeID


def needed_of(configured: int) -> int:
    """Return the number of bootstrappers that have to be connected: three quarters."""
    return (3 * configured + 3) // 4


class Beacons(NamedTuple):
    """The bootstrappers, which have equal weights."""

    connected: frozenset[NodeID]
    configured: int
    """Number of bootstrappers; 0: no bootstrapping."""

    @classmethod
    def of(
        cls, addresses: int, found: Sequence[NodeID], connected: Collection[NodeID], own: NodeID
    ) -> Self:
        """Count the bootstrappers behind the configured addresses; `found` are those already identified.

        Each node counts once, even if it has several addresses, and this node does not count. An address
        whose node is not known yet counts as one node.
        """
        others = frozenset(found) - {own}
        return cls(others.intersection(connected), addresses - len(found) + len(others))

    @property
    def lacking(self) -> Gathering | None:
        """The missing connections before bootstrapping can start; None if three quarters are connected."""
        needed = needed_of(self.configured)
        if len(self.connected) >= needed:
            return None
        return Gathering(len(self.connected), needed, self.configured)

    @property
    def majority(self) -> int:
        """Number of bootstrappers that have to agree."""
        return self.configured // 2 + 1


class Witnesses:
    """Reports of peers about one chain's blocks.

    Args:
        last_accepted: The chain.
        requests: The open requests.
        choice: The connected peers.
        config: Intervals.
        beacons: Returns the bootstrappers.
        producer: The block producer; None if the validators vote.
    """

    def __init__(
        self,
        last_accepted: LastAccepted,
        requests: Requests,
        choice: PeerSelection,
        config: NetworkConfig,
        beacons: Callable[[], Beacons],
        *,
        producer: NodeID | None = None,
    ) -> None:
        self._last_accepted = last_accepted
        self._requests = requests
        self._choice = choice
        self._config = config
        self._beacons = beacons
        self._producer = producer
        self._genesis: ID | None = None
        self._foreign: set[NodeID] = set()

    async def accepted_of(self, node_id: NodeID, asked: Sequence[ID]) -> Collection[ID]:
        """Return the blocks among `asked` that a peer has accepted; none if it has another genesis."""
        genesis = await self._own_genesis()
        request = GetAccepted(container_ids=[bytes(value) for value in (genesis, *asked)])
        answer = await self._requests.ask(node_id, request, Accepted)
        if answer is None:
            return ()
        named = {as_id(container_id) for container_id in answer.container_ids}
        if genesis not in named:
            self._foreign.add(node_id)
            reason = f"follows {self._differs({node_id}).difference}"
            self._choice.set_aside(node_id, self._alias, reason)
            return ()
        self._foreign.discard(node_id)
        return [block_id for block_id in asked if block_id in named]

    def foreign(self, among: Collection[NodeID]) -> set[NodeID]:
        """Return the given peers that last reported another genesis."""
        self._foreign &= set(self._choice.connected())
        return self._foreign.intersection(among)

    def other_genesis(self, among: Collection[NodeID]) -> PeerGenesisMismatch | None:
        """Return the error for the given peers with another genesis, or None."""
        found = self.foreign(among)
        return self._differs(found) if found else None

    async def judge(self, refused: InvalidFetchedBlock) -> bool:
        """Return whether most of the network has accepted a block that is rejected here.

        If so, its sender is not at fault: the block becomes the chain's obstacle, and is tried again after a
        while. A block with a wrong signature is never accepted by any node. If a block with the same ID is
        accepted here, its acceptance by other nodes proves nothing about the rejected bytes.
        """
        if refused.spoiled:
            return False
        support = self._most(await self._who_accepted(refused.block_id))
        if support is None:
            return False
        if refused.height is not None and refused.height <= self._last_accepted.place.height:
            return True  # it has been accepted in the meantime
        (here,) = await self._last_accepted.run(
            self._last_accepted.chain.height_of, [refused.block_id]
        )
        if here is not None:
            return False
        verdict = RejectedBlock(refused.block_id, refused.height, refused.reason, support)
        self._last_accepted.obstacle.stands(
            verdict.words(self._alias), self._last_accepted.place.height, self._config.refused_again
        )
        return True

    @property
    def _alias(self) -> str:
        return self._last_accepted.chain.alias

    @property
    def _producers(self) -> frozenset[NodeID]:
        return frozenset() if self._producer is None else frozenset({self._producer})

    async def _own_genesis(self) -> ID:
        if self._genesis is None:
            (found,) = await self._last_accepted.run(self._last_accepted.chain.accepted_at, [0])
            self._genesis = found or EMPTY_ID
        return self._genesis

    def _differs(self, nodes: Collection[NodeID]) -> PeerGenesisMismatch:
        return PeerGenesisMismatch(self._alias, sorted(nodes), self._genesis or EMPTY_ID)

    async def _who_accepted(self, block_id: ID) -> set[NodeID]:
        known = {*self._choice.weights(), *self._producers, *self._beacons().connected}
        asked = sorted(known.intersection(self._choice.connected()))

        async def has(node_id: NodeID) -> bool:
            return block_id in await self.accepted_of(node_id, [block_id])

        answers = await ask_each(has, asked)
        return {node_id for node_id, accepted in zip(asked, answers, strict=True) if accepted}

    def _most(self, accepted: Collection[NodeID]) -> Support | None:
        """Return the first group of which most nodes have accepted the block, or None.

        The groups are the validators by their stake, the block producer, and the bootstrappers.
        """
        weights = self._choice.weights()
        producers, beacons = self._producers, self._beacons()
        stake = sum(weights[item] for item in accepted if item in weights)
        groups = (
            Support(
                "validators",
                len(weights.keys() & accepted),
                len(weights),
                stake / max(1, sum(weights.values())),
            ),
            Support("producers", len(producers.intersection(accepted)), len(producers)),
            Support(
                "bootstrappers", len(beacons.connected.intersection(accepted)), beacons.configured
            ),
        )
        return next((group for group in groups if group.is_most), None)

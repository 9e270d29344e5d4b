"""Asks peers what they have accepted: who follows another genesis, and who took a block that is refused here.

The question is the GetAccepted of bootstrapping (p2p.md 9). Genesis is on everybody's chain, so whoever
answers without it follows another one.

The bootstrappers, how many of them have to be connected, or to agree (p2p.md 9), are `Beacons`.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Self

from network_app.config import NetworkConfig
from network_app.ports import Gathering
from network_app.sync.choosing import Choice
from network_app.sync.errors import BlockRefused, OtherGenesis
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.messages import as_id
from network_app.sync.obstacles import Refused, Support
from network_app.sync.requests import Requests, ask_each
from network_app.wire.p2p_pb2 import Accepted, GetAccepted
from primitives.ids import EMPTY_ID, ID, NodeID


def needed_of(configured: int) -> int:
    """Return how many of so many bootstrappers have to be connected: three quarters."""
    return (3 * configured + 3) // 4


class Beacons(NamedTuple):
    """The bootstrappers, which weigh the same."""

    connected: frozenset[NodeID]
    configured: int
    """How many there are; 0: nothing to bootstrap from."""

    @classmethod
    def of(
        cls, addresses: int, found: Sequence[NodeID], connected: Collection[NodeID], own: NodeID
    ) -> Self:
        """Count the nodes behind so many addresses; at some of them it is known who was found.

        Each node counts once, by however many addresses it is named, and this one not at all. An
        address at which nobody was met yet counts for a node.
        """
        others = frozenset(found) - {own}
        return cls(others.intersection(connected), addresses - len(found) + len(others))

    @property
    def lacking(self) -> Gathering | None:
        """What keeps bootstrapping from beginning; None when three quarters are connected."""
        needed = needed_of(self.configured)
        if len(self.connected) >= needed:
            return None
        return Gathering(len(self.connected), needed, self.configured)

    @property
    def majority(self) -> int:
        """How many have to agree."""
        return self.configured // 2 + 1


class Witnesses:
    """What peers say of one chain's blocks.

    Args:
        last_accepted: The chain.
        requests: The open questions.
        choice: Who is there.
        config: Periods.
        beacons: Returns the bootstrappers.
        producer: Who makes all blocks; None where the validators vote.
    """

    def __init__(
        self,
        last_accepted: LastAccepted,
        requests: Requests,
        choice: Choice,
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
        """Return which of some blocks a peer has accepted; none if it follows another genesis."""
        genesis = await self._own_genesis()
        request = GetAccepted(container_ids=[bytes(one) for one in (genesis, *asked)])
        answer = await self._requests.ask(node_id, request, Accepted)
        if answer is None:
            return ()
        named = {as_id(one) for one in answer.container_ids}
        if genesis not in named:
            self._foreign.add(node_id)
            reason = f"follows {self._differs({node_id}).difference}"
            self._choice.set_aside(node_id, self._alias, reason)
            return ()
        self._foreign.discard(node_id)
        return [block_id for block_id in asked if block_id in named]

    def foreign(self, among: Collection[NodeID]) -> set[NodeID]:
        """Return those of some peers that said last that they follow another genesis."""
        self._foreign &= set(self._choice.connected())
        return self._foreign.intersection(among)

    def other_genesis(self, among: Collection[NodeID]) -> OtherGenesis | None:
        """Return what is to be said of those of some peers that follow another genesis."""
        found = self.foreign(among)
        return self._differs(found) if found else None

    async def judge(self, refused: BlockRefused) -> bool:
        """Say whether most of the network has accepted a block that is refused here.

        Then it is not the fault of who sent it: the chain stands before that block, says so, and tries
        again after a while. A spoiled signature is never accepted by anybody. And where a block of the
        same ID is accepted here, that others have it too says nothing for the bytes that are refused.
        """
        if refused.spoiled:
            return False
        support = self._most(await self._who_accepted(refused.block_id))
        if support is None:
            return False
        if refused.height is not None and refused.height <= self._last_accepted.place.height:
            return True  # it was accepted meanwhile
        (here,) = await self._last_accepted.run(
            self._last_accepted.chain.height_of, [refused.block_id]
        )
        if here is not None:
            return False
        verdict = Refused(refused.block_id, refused.height, refused.reason, support)
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

    def _differs(self, nodes: Collection[NodeID]) -> OtherGenesis:
        return OtherGenesis(self._alias, sorted(nodes), self._genesis or EMPTY_ID)

    async def _who_accepted(self, block_id: ID) -> set[NodeID]:
        known = {*self._choice.weights(), *self._producers, *self._beacons().connected}
        asked = sorted(known.intersection(self._choice.connected()))

        async def has(node_id: NodeID) -> bool:
            return block_id in await self.accepted_of(node_id, [block_id])

        told = await ask_each(has, asked)
        return {node_id for node_id, accepted in zip(asked, told, strict=True) if accepted}

    def _most(self, accepted: Collection[NodeID]) -> Support | None:
        """Return those who speak for the network, if most of them have accepted.

        Validators by their stake, whoever makes all blocks, and those that this node was told to begin with.
        """
        weights = self._choice.weights()
        producers, beacons = self._producers, self._beacons()
        stake = sum(weights[one] for one in accepted if one in weights)
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
        return next((one for one in groups if one.is_most), None)

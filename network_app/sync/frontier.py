"""What the network has accepted, as the nodes say that one trusts to begin with (p2p.md 9, its steps 1 and 2)."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import BlockPlace
from network_app.sync.beacons import Beacons
from network_app.sync.choosing import Choice
from network_app.sync.errors import NoAgreement
from network_app.sync.messages import as_id
from network_app.sync.requests import Requests, ask_each
from network_app.sync.witnesses import Witnesses
from network_app.wire.p2p_pb2 import (
    AcceptedFrontier,
    Chits,
    GetAcceptedFrontier,
    PullQuery,
)
from primitives.ids import ID, NodeID


class Agreed(NamedTuple):
    """A block that more than half of the beacons have accepted."""

    block_id: ID
    supporters: frozenset[NodeID]


class Claim(NamedTuple):
    """A block that single peers say they have accepted."""

    block_id: ID
    supporters: frozenset[NodeID]
    height: int | None = None
    """That they say it has, when they do."""


class Found(NamedTuple):
    """What beacons say of the frontier."""

    agreed: list[Agreed]
    tips: list[Claim]
    """Last accepted blocks of some, which fewer than enough have accepted."""


def agreed(votes: Mapping[NodeID, Collection[ID]], majority: int) -> list[Agreed]:
    """Return the blocks that enough nodes name, those that most name first. Pure."""
    counted = Counter(block_id for named in votes.values() for block_id in set(named))
    return [
        Agreed(block_id, frozenset(node for node, named in votes.items() if block_id in named))
        for block_id, count in counted.most_common()
        if count >= majority
    ]


class Frontier:
    """Asks the beacons of one chain.

    Unspecified: the reference takes the validators by stake for the beacons of other chains than the
    P-Chain; here the bootstrappers are asked about both.
    """

    def __init__(
        self,
        requests: Requests,
        choice: Choice,
        config: NetworkConfig,
        beacons: Callable[[], Beacons],
        witnesses: Witnesses,
    ) -> None:
        self._requests = requests
        self._choice = choice
        self._config = config
        self._beacons = beacons
        self._witnesses = witnesses

    def beacons(self) -> Beacons:
        """Return the bootstrappers, or when none are configured the validators that are connected.

        Validators are asked only, and not trusted: what they have accepted is a claim.
        """
        known = self._beacons()
        if known.configured:
            return known
        validators = frozenset(self._choice.validators())
        return Beacons(validators, len(validators))

    async def ask(self) -> Found:
        """Return the blocks at the frontier that the bootstrappers agree on, and the others.

        Without bootstrappers nothing is agreed on, whoever is connected just now.

        Raises:
            NoAgreement: The bootstrappers agree on none.
            OtherGenesis: They agree on none since some follow another chain.
        """
        beacons, are_trusted = self.beacons(), self._beacons().configured > 0
        sample = self._choice.sample(beacons.connected, self._config.frontier_sample)
        tips = dict(zip(sample, await ask_each(self._frontier_of, sample), strict=True))
        union = sorted({tip for tip in tips.values() if tip is not None})
        if not union and are_trusted:
            raise NoAgreement(len(sample))

        async def accepted_by(node_id: NodeID) -> tuple[NodeID, Collection[ID]]:
            return node_id, await self._witnesses.accepted_of(node_id, union)

        votes = dict(await ask_each(accepted_by, sorted(beacons.connected)))
        found = agreed(votes, beacons.majority) if are_trusted else []
        if not found and are_trusted:
            other_genesis = self._witnesses.other_genesis(beacons.connected)
            raise other_genesis or NoAgreement(len(beacons.connected))
        foreign = self._witnesses.foreign(beacons.connected)
        common = {one.block_id for one in found}
        claims = [
            Claim(
                block_id,
                frozenset(
                    one
                    for one in votes.keys() - foreign
                    if block_id in votes[one] or tips.get(one) == block_id
                ),
            )
            for block_id in union
            if block_id not in common
        ]
        return Found(found, [one for one in claims if one.supporters])

    async def accepted_at(
        self, height: int, place: BlockPlace, among: Collection[NodeID] | None = None
    ) -> Agreed | None:
        """Return the block at a height that the beacons agree on, or None.

        Chits tell it, which are the answer to a query about our last block. With `among` these
        peers are asked, and what most of them name is enough.
        """
        beacons = self.beacons()
        asked = beacons.connected if among is None else among
        sample = self._choice.sample(asked, self._config.frontier_sample)

        async def named_by(node_id: NodeID) -> tuple[NodeID, list[ID]]:
            query = PullQuery(container_id=bytes(place.block_id), requested_height=height)
            chits = await self._requests.ask(node_id, query, Chits)
            named = None if chits is None else as_id(chits.preferred_id_at_height)
            return node_id, [] if named is None else [named]

        votes = dict(await ask_each(named_by, sample))
        enough = min(beacons.majority, len(sample) // 2 + 1) if among is None else 1
        found = agreed(votes, enough)
        return found[0] if found else None

    async def _frontier_of(self, node_id: NodeID) -> ID | None:
        answer = await self._requests.ask(node_id, GetAcceptedFrontier(), AcceptedFrontier)
        return None if answer is None else as_id(answer.container_id)

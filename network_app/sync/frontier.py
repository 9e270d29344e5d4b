"""The network's accepted frontier, according to the bootstrappers (p2p.md 9, its steps 1 and 2).

`witnesses` determines the bootstrappers and how many of them have to agree.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import BlockRef
from network_app.sync.choosing import PeerSelection
from network_app.sync.errors import NoAgreement
from network_app.sync.messages import as_id
from network_app.sync.requests import Requests, ask_each
from network_app.sync.witnesses import Beacons, Witnesses
from network_app.wire.p2p_pb2 import (
    AcceptedFrontier,
    Chits,
    GetAcceptedFrontier,
    PullQuery,
)
from primitives.ids import ID, NodeID


class FrontierResult(NamedTuple):
    """A block that more than half of the beacons have accepted."""

    block_id: ID
    supporters: frozenset[NodeID]


def agreed(votes: Mapping[NodeID, Collection[ID]], majority: int) -> list[FrontierResult]:
    """Return the blocks named by at least `majority` nodes, those with most supporters first. Pure."""
    counted = Counter(block_id for named in votes.values() for block_id in set(named))
    return [
        FrontierResult(
            block_id, frozenset(node for node, named in votes.items() if block_id in named)
        )
        for block_id, count in counted.most_common()
        if count >= majority
    ]


class Frontier:
    """Asks the beacons about one chain.

    Unspecified: the reference uses the validators by stake as the beacons of all chains but the P-Chain.
    Here the bootstrappers are the beacons of all chains.
    """

    def __init__(
        self,
        requests: Requests,
        choice: PeerSelection,
        config: NetworkConfig,
        beacons: Callable[[], Beacons],
        witnesses: Witnesses,
    ) -> None:
        self._requests = requests
        self._choice = choice
        self._config = config
        self.beacons = beacons
        """Returns the bootstrappers."""
        self._witnesses = witnesses

    async def ask(self, *, of_connected: bool = False) -> list[FrontierResult]:
        """Return the blocks at the frontier that the bootstrappers agree on.

        Args:
            of_connected: Require more than half of the connected bootstrappers; otherwise of all.

        Raises:
            NoAgreement: The bootstrappers agree on no block.
            OtherGenesis: They agree on no block, and some have another genesis.
        """
        beacons = self.beacons()
        if of_connected:
            beacons = beacons._replace(configured=len(beacons.connected))
        sample = self._choice.sample(beacons.connected, self._config.frontier_sample)
        tips = await ask_each(self._frontier_of, sample)
        union = sorted({tip for tip in tips if tip is not None})
        if not union:
            raise NoAgreement(len(sample))

        async def accepted_by(node_id: NodeID) -> tuple[NodeID, Collection[ID]]:
            return node_id, await self._witnesses.accepted_of(node_id, union)

        votes = dict(await ask_each(accepted_by, sorted(beacons.connected)))
        found = agreed(votes, beacons.majority)
        if not found:
            other_genesis = self._witnesses.other_genesis(beacons.connected)
            raise other_genesis or NoAgreement(len(beacons.connected))
        return found

    async def accepted_at(self, height: int, place: BlockRef) -> FrontierResult | None:
        """Return the block at a height that the beacons agree on, or None.

        It is taken from the chits that answer a query about our last accepted block.
        """
        beacons = self.beacons()
        sample = self._choice.sample(beacons.connected, self._config.frontier_sample)

        async def named_by(node_id: NodeID) -> tuple[NodeID, list[ID]]:
            query = PullQuery(container_id=bytes(place.block_id), requested_height=height)
            chits = await self._requests.ask(node_id, query, Chits)
            named = None if chits is None else as_id(chits.preferred_id_at_height)
            return node_id, [] if named is None else [named]

        votes = dict(await ask_each(named_by, sample))
        found = agreed(votes, min(beacons.majority, len(sample) // 2 + 1))
        return found[0] if found else None

    async def _frontier_of(self, node_id: NodeID) -> ID | None:
        answer = await self._requests.ask(node_id, GetAcceptedFrontier(), AcceptedFrontier)
        return None if answer is None else as_id(answer.container_id)

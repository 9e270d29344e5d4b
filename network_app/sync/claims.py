"""What single peers say that they have accepted, and which of them are still believed."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import BlockPlace
from network_app.sync.choosing import Choice
from network_app.sync.frontier import Claim
from network_app.sync.head import Head
from network_app.sync.messages import as_id
from network_app.sync.requests import Requests, ask_each
from network_app.wire.p2p_pb2 import Chits, PullQuery
from primitives.ids import EMPTY_ID, NodeID

MOST_FAILURES = 3
"""Failed attempts to fetch what a peer claims, after which its claims are ignored for a while."""
IGNORED = 30.0
"""Seconds for which they are; twice as long with each further failure."""
MOST_DOUBLINGS = 5


class Failures(NamedTuple):
    """How often what a peer claimed could not be fetched, and until when it is ignored for that."""

    times: int
    until: float


class Credit:
    """Who claimed what could not be fetched. Pure.

    Unspecified: a peer that is ignored may try once more after a while, so that an honest one that
    could not serve for some time is heard again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[NodeID, Failures] = {}

    def believes(self, node_id: NodeID) -> bool:
        """Say whether a peer's claims are followed."""
        failures = self._failures.get(node_id)
        return failures is None or self._clock() >= failures.until

    def failed(self, nodes: Iterable[NodeID]) -> None:
        """Note an attempt that came to nothing."""
        for node_id in nodes:
            before = self._failures.get(node_id)
            times = 1 if before is None else before.times + 1
            seconds = 0.0
            if times >= MOST_FAILURES:
                doublings = min(times - MOST_FAILURES, MOST_DOUBLINGS)
                seconds = IGNORED * float(1 << doublings)
            self._failures[node_id] = Failures(times, self._clock() + seconds)

    def kept(self, nodes: Iterable[NodeID]) -> None:
        """Note that what peers claimed was there, and right."""
        for node_id in nodes:
            self._failures.pop(node_id, None)


class Claims:
    """The claims of one chain's beacons and validators.

    Unspecified: the reference follows nothing but what more than half of the beacons have accepted.
    Where most of them are empty themselves that is genesis, for ever. Here nobody votes on blocks:
    each is verified, its producer's signature included, and executed before it is accepted. So it
    is safe to fetch what a single peer claims; one that lies costs a few attempts.
    """

    def __init__(
        self, head: Head, requests: Requests, choice: Choice, config: NetworkConfig
    ) -> None:
        self._head = head
        self._requests = requests
        self._choice = choice
        self._config = config
        self.credit = Credit()

    async def heard(self, tips: Collection[Claim], beacons: Collection[NodeID]) -> list[Claim]:
        """Return the claims to follow, those first that most peers and then most stake stand behind.

        They are the unknown ones among `tips`, and what beacons and validators have accepted
        more than `behind_by` above our last block; the latter have heights.
        """
        far = await self._far(beacons)
        heights = await self._head.run(self._head.chain.height_of, [one.block_id for one in tips])
        far_ids = {one.block_id for one in far}
        near = [
            Claim(tip.block_id, frozenset(filter(self.credit.believes, tip.supporters)))
            for tip, height in zip(tips, heights, strict=True)
            if height is None and tip.block_id not in far_ids
        ]
        return sorted((one for one in (*far, *near) if one.supporters), key=self._rank)

    def _rank(self, claim: Claim) -> tuple[int, int]:
        return -len(claim.supporters), -self._choice.stake(claim.supporters)

    async def _far(self, beacons: Collection[NodeID]) -> list[Claim]:
        most = self._config.frontier_sample
        asked = {
            *self._choice.sample(beacons, most),
            *self._choice.sample(self._choice.validators(), most),
        }
        told = await ask_each(self._accepted_by, sorted(filter(self.credit.believes, asked)))
        supporters: dict[BlockPlace, set[NodeID]] = defaultdict(set)
        for node_id, place in told:
            if place.height > self._head.place.height + self._config.behind_by:
                supporters[place].add(node_id)
        return [
            Claim(place.block_id, frozenset(nodes), place.height)
            for place, nodes in supporters.items()
        ]

    async def _accepted_by(self, node_id: NodeID) -> tuple[NodeID, BlockPlace]:
        place = self._head.place
        query = PullQuery(container_id=bytes(place.block_id), requested_height=place.height + 1)
        # A peer that bootstraps does not answer, which is not its fault.
        chits = await self._requests.ask(node_id, query, Chits, counts=False)
        if chits is None:
            return node_id, BlockPlace(0, EMPTY_ID)
        return node_id, BlockPlace(chits.accepted_height, as_id(chits.accepted_id) or EMPTY_ID)

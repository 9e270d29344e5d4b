"""A chain of the block producer: pushes new blocks to peers as queries (p2p.md 10.2), and answers peers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from typing_extensions import override

from network_app.config import NetworkConfig
from network_app.ports import DONE, AcceptedChain, BlockRef
from network_app.sync.choosing import PeerSelection
from network_app.sync.handler import ChainHandler, SharedParts
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.messages import Answer
from network_app.sync.requests import Requests
from network_app.sync.serving import Query
from network_app.wire.p2p_pb2 import Chits, PushQuery
from primitives.ids import NodeID

MAX_PEERS = 32
"""Number of peers that get pushes: validators first, then others. Other peers send queries themselves."""
WINDOW = 32
"""Number of unanswered pushes to a peer after which it gets none until it answers.

Unspecified: a peer that does not keep up, or that bootstraps and answers no queries, is better served by
requesting the blocks that it misses."""


@dataclass(slots=True)
class Window:
    """Counts unanswered pushes to a peer. After an unanswered push it allows one at a time. Pure."""

    unanswered: int = 0
    deaf: bool = False

    @property
    def is_open(self) -> bool:
        """Whether another push may be sent."""
        return self.unanswered < (1 if self.deaf else WINDOW)


class Announcer:
    """Pushes one chain's new blocks to peers."""

    def __init__(
        self,
        last_accepted: LastAccepted,
        requests: Requests,
        choice: PeerSelection,
        config: NetworkConfig,
    ) -> None:
        self._last_accepted = last_accepted
        self._requests = requests
        self._choice = choice
        self._config = config
        self._announced = asyncio.Event()
        self._announced_height: int | None = None
        """The greatest height announced since the last push; None if one had no height."""
        self._windows: dict[NodeID, Window] = {}
        self._pushed = 0
        """Height up to which blocks are pushed, or need not be."""

    def begin(self) -> None:
        """Push only blocks that are built from now on."""
        self._pushed = self._last_accepted.place.height

    def blocks_accepted(self, height: int | None) -> None:
        """Note that this node has accepted blocks, whether built here or not."""
        if not self._choice.connected():
            self._last_accepted.grow_stale()  # peers that connect later send queries
            return
        if height is None or self._announced_height is None:
            self._announced_height = None
        else:
            self._announced_height = max(self._announced_height, height)
        self._announced.set()

    def connected(self, node_id: NodeID) -> None:
        """Note a new peer."""
        self._windows[node_id] = Window()
        if self._last_accepted.stale:
            self._announced.set()

    def disconnected(self, node_id: NodeID) -> None:
        """Forget a peer."""
        self._windows.pop(node_id, None)

    def takes_part(self, node_id: NodeID) -> None:
        """Note that a peer queries us: it takes part, so it also answers queries."""
        window = self._windows.get(node_id)
        if window is not None:
            window.deaf = False

    async def run(self) -> None:
        """Push until cancelled."""
        self._announced_height = None
        self._announced.set()  # handle blocks that an earlier, failed run did not push
        while True:
            await self._announced.wait()
            self._announced.clear()
            if self._last_accepted.stale:
                # Built while no peer was connected: new peers request these blocks as needed.
                await self._last_accepted.refresh()
                self.begin()
            announced: int | None = self._announced_height
            self._announced_height = 0
            if announced is None or announced > self._pushed:
                await self._push_new()

    async def _push_new(self) -> None:
        chain, run = self._last_accepted.chain, self._last_accepted.run
        while self._choice.connected():
            made = await run(chain.accepted_since, self._pushed, self._config.execute_batch)
            if not made:
                return
            for place, raw in made:
                self._push(place, raw)
            places = [place for place, _ in made]
            self._last_accepted.advanced(places)
            self._pushed = places[-1].height
        self._last_accepted.grow_stale()

    def _push(self, place: BlockRef, raw: bytes) -> None:
        validators = self._choice.validators()
        others = [item for item in self._choice.connected() if item not in validators]
        windows = {
            node_id: self._windows.setdefault(node_id, Window())
            for node_id in [*validators, *others][:MAX_PEERS]
        }
        answered = {
            node_id: partial(self._answered, window)
            for node_id, window in windows.items()
            if window.is_open
        }
        if answered:
            query = PushQuery(container=raw, requested_height=place.height + 1)
            for node_id in self._requests.post_to_all(answered, query, Chits):
                windows[node_id].unanswered += 1

    @staticmethod
    def _answered(window: Window, answer: Answer | None) -> None:
        window.unanswered -= 1
        window.deaf = answer is None


class ProducingHandler(ChainHandler):
    """A chain that this node decides: only its vote counts for the others (`chainvm.consensus`)."""

    def __init__(self, chain: AcceptedChain, shared: SharedParts) -> None:
        super().__init__(chain, shared)
        self._announcer = Announcer(self.last_accepted, self.requests, shared.choice, shared.config)

    @override
    def blocks_accepted(self, height: int | None) -> None:
        self._announcer.blocks_accepted(height)

    @override
    def blocks_waiting(self) -> None:
        """Do nothing: block producers start without this notice."""

    @override
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        """Answer with accepted blocks; blocks of other nodes are never accepted."""
        self._announcer.takes_part(node_id)
        return self.serving.answer_query(node_id, query) or DONE

    @override
    def connected(self, node_id: NodeID) -> None:
        self._announcer.connected(node_id)
        super().connected(node_id)

    @override
    def disconnected(self, node_id: NodeID) -> None:
        self._announcer.disconnected(node_id)
        super().disconnected(node_id)

    @override
    def _work(self) -> list[Callable[[], Awaitable[None]]]:
        return [self._announcer.run]

    @override
    def _follow(self) -> None:
        if not self.last_accepted.following:
            self._announcer.begin()
            super()._follow()

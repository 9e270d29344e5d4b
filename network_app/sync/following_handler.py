"""A chain where whoever makes blocks decides on them: it follows those, and tells of what is made here."""

import asyncio
from collections.abc import Awaitable, Callable

from typing_extensions import override

from network_app.ports import BlockPlace, Chain
from network_app.sync.announcing import Announcer
from network_app.sync.calling import Caller
from network_app.sync.following import Follower
from network_app.sync.handler import ChainHandler, Shared
from network_app.sync.messages import as_id
from network_app.sync.polling import Poller
from network_app.sync.serving import Query
from network_app.wire.p2p_pb2 import PushQuery
from primitives.ids import NodeID


class FollowingHandler(ChainHandler):
    """A chain that follows its makers of blocks."""

    def __init__(self, chain: Chain, shared: Shared) -> None:
        super().__init__(chain, shared, believes_claims=True)
        head, choice, config = self.head, shared.choice, shared.config
        self.follower = Follower(
            head, self._buffer, self._fetcher, choice, config, witnesses=self._witnesses
        )
        self.announcer = Announcer(head, self.requests, choice, config)
        self._poller = Poller(head, self.follower, self.requests, choice, config)
        self._caller = Caller(head, self.follower, self.requests, choice, self._roll)
        self.follower.on_arrival.append(self._poller.hurry)
        head.on_advance.append(self.follower.wake)

    @override
    def blocks_accepted(self, height: int | None) -> None:
        self.announcer.blocks_accepted(height)

    @override
    def blocks_waiting(self) -> None:
        """Do nothing: makers of blocks make them by themselves."""

    @override
    def look_again(self) -> None:
        self.follower.wake()

    @override
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None] | None:
        self.announcer.takes_part(node_id)
        voting = self.serving.answer_query(node_id, query)
        if isinstance(query, PushQuery):
            self.follower.offer(query.container, node_id)
        elif (block_id := as_id(query.container_id)) is not None:
            # The asker wants to know of the height above its last block.
            self.follower.seek(BlockPlace(query.requested_height - 1, block_id), node_id)
        return voting

    @override
    def connected(self, node_id: NodeID) -> None:
        self.announcer.connected(node_id)
        super().connected(node_id)
        self._poller.hurry()

    @override
    def disconnected(self, node_id: NodeID) -> None:
        self.announcer.disconnected(node_id)
        super().disconnected(node_id)

    @override
    def _work(self) -> list[Callable[[], Awaitable[None]]]:
        return [
            self.follower.run,
            self._poller.run,
            self._caller.run,
            self.announcer.run,
            self._return_when_behind,
        ]

    async def _return_when_behind(self) -> None:
        """Bootstrap anew whenever too much is missing, but not all the time."""
        while True:
            if self.head.following:  # else it failed on the way
                await self.follower.behind.wait()
            self.follower.behind.clear()
            if self._bootstrap.has_beacons:
                await self._bootstrap.run()
            self._follow()
            await asyncio.sleep(self._shared.config.sync_repeat)

    @override
    def _follow(self) -> None:
        if not self.head.following:
            self.announcer.begin()
            super()._follow()
            self._poller.hurry()

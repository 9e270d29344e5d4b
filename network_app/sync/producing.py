"""A chain whose blocks this node makes alone: it tells of them, and answers what is asked about them."""

from collections.abc import Awaitable, Callable

from typing_extensions import override

from network_app.ports import DONE, Chain
from network_app.sync.announcing import Announcer
from network_app.sync.handler import ChainHandler, Shared
from network_app.sync.serving import Query
from primitives.ids import NodeID


class ProducingHandler(ChainHandler):
    """A chain that this node decides on: its vote is all that the others wait for (`chainvm.consensus`)."""

    def __init__(self, chain: Chain, shared: Shared) -> None:
        super().__init__(chain, shared)
        self._announcer = Announcer(self.head, self.requests, shared.choice, shared.config)

    @override
    def blocks_accepted(self, height: int | None) -> None:
        self._announcer.blocks_accepted(height)

    @override
    def blocks_waiting(self) -> None:
        """Do nothing: makers of blocks make them by themselves."""

    @override
    def query(self, node_id: NodeID, query: Query) -> Awaitable[None]:
        """Answer with what is accepted; nobody else's block can be."""
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
        if not self.head.following:
            self._announcer.begin()
            super()._follow()

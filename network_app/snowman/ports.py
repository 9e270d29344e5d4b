"""The engine's interfaces to a chain, the network and the validators (snowman.md 8)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from chainvm.port import Block
from network_app.snowman.topological import VoteDecision
from primitives.ids import ID, NodeID

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class Chits:
    """A node's preferred and last accepted blocks."""

    preferred_id: ID
    preferred_id_at_height: ID
    """The preferred block at the requested height."""
    accepted_id: ID
    accepted_height: int


class EngineVM(Protocol[B]):
    """A chain as the engine sees it: `chainvm.port.ChainVM` behind threads."""

    async def parse(self, raw: bytes) -> B | None:
        """Parse a block; return None for bytes that are not a block."""

    async def get_block(self, block_id: ID) -> B | None:
        """Return a processing or accepted block; None if the block is unknown."""

    async def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted one."""

    async def build(self) -> B | None:
        """Build a block on the preferred one; return None if that is not possible."""

    async def verify(self, block: B) -> bool:
        """Verify a block against its parent; return whether it is processing now."""

    async def options(self, block: B) -> Sequence[B]:
        """Return the two options of a proposal; an empty sequence for other blocks."""

    async def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on."""

    async def decide(self, decisions: Sequence[VoteDecision]) -> None:
        """Accept and reject processing blocks, in order. Any exception ends the engine."""


class Sender(Protocol):
    """Sends messages; those to this node itself are delivered like any other."""

    def send_get(self, node_id: NodeID, request_id: int, block_id: ID) -> None:
        """Request a block."""

    def send_push_query(
        self, node_ids: Iterable[NodeID], request_id: int, raw: bytes, height: int
    ) -> None:
        """Query the preferences of nodes and send them the bytes of a block."""

    def send_pull_query(
        self, node_ids: Iterable[NodeID], request_id: int, block_id: ID, height: int
    ) -> None:
        """Query the preferences of nodes, also at a height, and send them the ID of a block."""

    def send_chits(self, node_id: NodeID, request_id: int, chits: Chits) -> None:
        """Answer a query with this node's preferences."""


class Validators(Protocol):
    """The current validators of the chain's subnet, including this node, and their connections."""

    def is_validator(self, node_id: NodeID) -> bool:
        """Return whether a node is a validator."""

    def weight(self, node_id: NodeID | None) -> int:
        """Return a validator's stake in nAVAX; None means this node; 0 for other nodes."""

    def connected_share(self) -> float:
        """Return the connected share of the stake, 0 to 1."""

    def sample(self, k: int) -> Counter[NodeID] | None:
        """Draw k units of stake; see `sampling.sample`."""

    def random_connected(self) -> NodeID | None:
        """Draw one of the other connected validators; return None if no other is connected."""

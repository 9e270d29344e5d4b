"""What the engine asks of a chain, of the network and of the validators (snowman.md 8)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from chainvm.port import Block
from network_app.snowman.topological import Decision
from primitives.ids import ID, NodeID

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, slots=True)
class Chits:
    """What a node prefers and has accepted."""

    preferred_id: ID
    preferred_id_at_height: ID
    """At the height that was asked for."""
    accepted_id: ID
    accepted_height: int


class EngineVM(Protocol[B]):
    """A chain as the engine sees it: `chainvm.port.ChainVM` behind threads."""

    async def parse(self, raw: bytes) -> B | None:
        """Read a block; None of bytes that are none."""

    async def get_block(self, block_id: ID) -> B | None:
        """Return a processing or an accepted block; None for one that is neither."""

    async def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted one."""

    async def build(self) -> B | None:
        """Build a block on the preferred one; None when it cannot."""

    async def verify(self, block: B) -> bool:
        """Verify a block on its parent; say whether it is processing now."""

    async def options(self, block: B) -> Sequence[B]:
        """Return the blocks of which one must follow a proposal; none of a block that is no proposal."""

    async def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on."""

    async def decide(self, decisions: Sequence[Decision]) -> None:
        """Accept and reject processing blocks, in order. What it raises is fatal to the engine."""


class Sender(Protocol):
    """Sends messages; those to this node itself come back as any other."""

    def send_get(self, node_id: NodeID, request_id: int, block_id: ID) -> None:
        """Ask for a block."""

    def send_push_query(
        self, node_ids: Iterable[NodeID], request_id: int, raw: bytes, height: int
    ) -> None:
        """Ask what is preferred, and tell of a block: its bytes."""

    def send_pull_query(
        self, node_ids: Iterable[NodeID], request_id: int, block_id: ID, height: int
    ) -> None:
        """Ask what is preferred, at this height too, and tell of a block."""

    def send_chits(self, node_id: NodeID, request_id: int, chits: Chits) -> None:
        """Answer what is preferred."""


class Validators(Protocol):
    """The current validators of the chain's subnet, this node included, and who of them is connected."""

    def is_validator(self, node_id: NodeID) -> bool:
        """Say whether a node validates."""

    def weight(self, node_id: NodeID | None) -> int:
        """Return a validator's stake in nAVAX, this node's own for None; 0 of any other node."""

    def connected_share(self) -> float:
        """Return how much of the stake is connected, 0 to 1."""

    def sample(self, k: int) -> Counter[NodeID] | None:
        """Draw k units of stake; see `sampling.sample`."""

    def random_connected(self) -> NodeID | None:
        """Draw one of the other validators that are connected; None where there is none."""

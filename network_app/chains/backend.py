"""Interface of a chain for the network, besides its VM. Its calls block, so they run in threads."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from chainvm.port import Block
from network_app.chains.outer_blocks import UnwrappedBlock
from network_app.ports import TransactionSource
from primitives.ids import ID

B = TypeVar("B", bound=Block)


class BuildTiming(NamedTuple):
    """When a chain's blocks are built, if the validators vote."""

    minimum_delay: int
    """Seconds between a block and its child."""
    allow_empty: bool = False
    """Whether blocks without transactions are built."""


class ChainBackend(Protocol[B]):
    """A chain of this node."""

    @property
    def timing(self) -> BuildTiming:
        """When its blocks are built, by the settings."""

    def blocks(self, first: int, last: int, size: int) -> list[UnwrappedBlock]:
        """Return accepted blocks; see `outer_blocks.AcceptedBlocks`."""

    def read(self, block: B) -> B:
        """Parse the rest of a partially parsed block, without reading the state. Raises InvalidBlock."""

    def is_proposal(self, block: B) -> bool:
        """Return whether a block is accepted together with one of its options."""

    def transactions_in(self, block: B) -> int:
        """Return the number of transactions in a completely parsed block."""

    @property
    def more_transactions(self) -> Mapping[int, TransactionSource]:
        """The pools besides that of the usual transactions, by the number of their gossip handler."""

    def state_summary(self) -> bytes | None:
        """Return the summary of a state that a fresh peer may ask for; None: the chain has no summaries."""

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of pending transactions, newest last."""

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the bytes of pending transactions."""

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID."""

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Add transactions that peers have accepted to the pool; return each ID or the reason for rejection."""

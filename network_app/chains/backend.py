"""What the network needs of a chain besides its VM. Blocking: for threads."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from chainvm.port import Block
from network_app.chains.outer_blocks import AcceptedBlock
from primitives.ids import ID

B = TypeVar("B", bound=Block)


class ChainBackend(Protocol[B]):
    """A chain of this node."""

    @property
    def refused(self) -> type[Exception]:
        """The class of the reasons for which a block is refused."""

    def blocks(self, first: int, last: int, size: int) -> list[AcceptedBlock]:
        """Return accepted blocks; see `outer_blocks.AcceptedBlocks`."""

    def read(self, block: B) -> B:
        """Read the rest of a block that was parsed, without looking at the state. Raises `refused`."""

    def is_proposal(self, block: B) -> bool:
        """Say whether a block is accepted with one of its options."""

    def transactions_in(self, block: B) -> int:
        """Return how many transactions a block has that was read."""

    def waiting(self, limit: int) -> list[ID]:
        """Return IDs of transactions that wait, newest last."""

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' bytes."""

    def transaction_id(self, raw: bytes) -> ID:
        """Return the ID by which a transaction is known."""

    def issue(self, raws: Sequence[bytes], *, now: int) -> list[ID | Exception]:
        """Take transactions in that peers have acknowledged, or say why not."""

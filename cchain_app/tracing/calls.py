"""Filters and outcomes of frames, for searches by rows or by execution.

Rules: tracing.md 12 (trace_filter) and 13 (a contract's creator).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.evm import failures
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import Frame
from cchain_app.tracing.parity import PlacedFrame, placed
from primitives.evm import Address, Hash

SHOWN_FAILURES: Final = (None, failures.REVERTED)
"""With these errors a creation's entry contains its address; with any other error it has no result."""


@dataclass(frozen=True, slots=True)
class PartialFrame:
    """The progress of recording the calls of a block that takes longer than one turn."""

    block: Hash
    position: int
    """The index of the next transaction."""
    place: int
    """The index of the next row among the block's rows."""
    singly: int
    """Transactions before this index are recorded one by one, because their recording was too large together."""
    state: PendingState
    """The state before the next transaction."""


class CallFilter(NamedTuple):
    """A filter of frames; without addresses it matches all."""

    senders: frozenset[Address] = frozenset()
    """Callers and creators; for a SELFDESTRUCT the contract."""
    recipients: frozenset[Address] = frozenset()
    """Called accounts, created contracts, and recipients of a SELFDESTRUCT's balance."""
    intersection: bool = False
    """If both are given: whether a frame must match both of them, not just one."""

    @property
    def authors(self) -> frozenset[Address] | None:
        """Recipients of the rewards that match (rewards have no sender); None if all rewards match."""
        if not self.senders and not self.recipients:
            return None
        return frozenset() if self.intersection and self.senders else self.recipients

    def matches(self, frame: Frame) -> bool:
        """Return whether a frame matches."""
        matching = []
        if self.senders:
            matching.append(frame.sender in self.senders)
        if self.recipients:
            matching.append(_recipient(frame) in self.recipients)
        return all(matching) if self.intersection or not matching else any(matching)


def _recipient(frame: Frame) -> Address | None:
    if frame.type.startswith("CREATE") and frame.error not in SHOWN_FAILURES:
        return None
    return frame.to


def outcomes(frames: Sequence[PlacedFrame]) -> Iterator[bool]:
    """Yield for each frame whether it succeeded, which requires that its outer frames succeeded."""
    around: list[bool] = []
    for frame in frames:
        del around[frame.frame.depth :]
        succeeded = frame.frame.error is None and (not around or around[-1])
        around.append(succeeded)
        yield succeeded


def creator_of(created: Address, frames: Sequence[Frame]) -> Address | None:
    """Return the creator of a contract's last creation in a transaction; None if the transaction did not create it."""
    shown = placed(frames)
    creators = [
        item.frame.sender
        for item, succeeded in zip(shown, outcomes(shown), strict=True)
        if succeeded and item.frame.to == created and item.frame.type.startswith("CREATE")
    ]
    return creators[-1] if creators else None

"""Which frames somebody looks for, and what became of them: for searches, by rows or by execution alike.

Rules: tracing.md 12 (trace_filter) and 13 (who created a contract).
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
"""With these a creation's entry names its address; with any other nothing came of it."""


@dataclass(frozen=True, slots=True)
class HalfRecorded:
    """How far the calls of a block are recorded which takes longer than one turn."""

    block: Hash
    position: int
    """Of the transaction that comes next."""
    place: int
    """Of the row that comes next, among the block's."""
    singly: int
    """Transactions before this position are recorded one by one: together they were too large."""
    state: PendingState
    """Before the next transaction."""


class CallFilter(NamedTuple):
    """Which frames are looked for; without addresses all."""

    senders: frozenset[Address] = frozenset()
    """Who calls or creates; of a SELFDESTRUCT the contract."""
    recipients: frozenset[Address] = frozenset()
    """Who is called, what is created, who gets the balance of a SELFDESTRUCT."""
    intersection: bool = False
    """Whether a frame must match both where both are given; else one will do."""

    @property
    def authors(self) -> frozenset[Address] | None:
        """Whose rewards match, since nobody sends them; None: everybody's."""
        if not self.senders and not self.recipients:
            return None
        return frozenset() if self.intersection and self.senders else self.recipients

    def matches(self, frame: Frame) -> bool:
        """Say whether a frame is one of them."""
        found = []
        if self.senders:
            found.append(frame.sender in self.senders)
        if self.recipients:
            found.append(_recipient(frame) in self.recipients)
        return all(found) if self.intersection or not found else any(found)


def _recipient(frame: Frame) -> Address | None:
    if frame.type.startswith("CREATE") and frame.error not in SHOWN_FAILURES:
        return None
    return frame.to


def outcomes(frames: Sequence[PlacedFrame]) -> Iterator[bool]:
    """Yield of each frame whether neither it nor one around it failed."""
    around: list[bool] = []
    for one in frames:
        del around[one.frame.depth :]
        succeeded = one.frame.error is None and (not around or around[-1])
        around.append(succeeded)
        yield succeeded


def creator_of(created: Address, frames: Sequence[Frame]) -> Address | None:
    """Return who created a contract in a transaction with these frames, the last time; None if nobody did."""
    shown = placed(frames)
    creators = [
        one.frame.sender
        for one, succeeded in zip(shown, outcomes(shown), strict=True)
        if succeeded and one.frame.to == created and one.frame.type.startswith("CREATE")
    ]
    return creators[-1] if creators else None

"""The chain's time, and the gas that accumulates with it."""

from dataclasses import dataclass
from typing import Protocol, Self

from typing_extensions import override

from platform_app.state.facet import FacetDiff


@dataclass(frozen=True, slots=True)
class FeeState:
    """The inputs of dynamic fees (pchain.md 6.3), in gas."""

    capacity: int = 0
    excess: int = 0


class ClockState(Protocol):
    """The reads of this facet."""

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""


@dataclass(frozen=True, slots=True)
class ClockChanges:
    """New values; None means unchanged."""

    timestamp: int | None
    fee_state: FeeState | None


class ClockDiff(FacetDiff[ClockState]):
    """Changes of time and gas."""

    __slots__ = ("_fee_state", "_timestamp")

    def __init__(self, parent: ClockState) -> None:
        super().__init__(parent)
        self._timestamp: int | None = None
        self._fee_state: FeeState | None = None

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self._parent.timestamp() if self._timestamp is None else self._timestamp

    def fee_state(self) -> FeeState:
        """Return gas capacity and excess."""
        return self._parent.fee_state() if self._fee_state is None else self._fee_state

    def set_timestamp(self, timestamp: int) -> None:
        """Set the chain's time, in Unix seconds."""
        self._timestamp = timestamp

    def set_fee_state(self, fee_state: FeeState) -> None:
        """Set gas capacity and excess."""
        self._fee_state = fee_state

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        if self._timestamp is not None:
            into.set_timestamp(self._timestamp)
        if self._fee_state is not None:
            into.set_fee_state(self._fee_state)

    @override
    def changes(self) -> ClockChanges:
        """Return all changes relative to the parent."""
        return ClockChanges(self._timestamp, self._fee_state)

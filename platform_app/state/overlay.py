"""The staker sets of a diff: changed stakers on top of those of the parent state. Used by `diff` only."""

import heapq
from collections.abc import Iterable, Iterator
from operator import attrgetter

from platform_app.state.staker import Staker
from primitives.ids import ID, NodeID

_Seat = tuple[ID, NodeID]
_ORDER = attrgetter("order")


class StakerOverlay:
    """Stakers that were put or removed in this diff, by transaction, by validator, and in order."""

    __slots__ = ("_delegators", "_last", "_left", "_ordered", "_validators")

    def __init__(self) -> None:
        self._last: dict[ID, Staker] = {}
        self._left: set[ID] = set()
        self._validators: dict[_Seat, Staker | None] = {}
        self._delegators: dict[_Seat, dict[ID, Staker]] = {}
        self._ordered: dict[bool, list[Staker]] = {}

    def put(self, staker: Staker) -> None:
        """Put a staker into the set that its priority names, and remove it from the other set."""
        seat = (staker.subnet_id, staker.node_id)
        self._last[staker.tx_id] = staker
        self._left.discard(staker.tx_id)
        if staker.priority.is_delegator:
            self._delegators.setdefault(seat, {})[staker.tx_id] = staker
        else:
            self._validators[seat] = staker
        self._ordered.clear()

    def remove(self, staker: Staker) -> None:
        """Remove a staker from its set."""
        seat = (staker.subnet_id, staker.node_id)
        self._last[staker.tx_id] = staker
        self._left.add(staker.tx_id)
        if staker.priority.is_delegator:
            self._delegators.get(seat, {}).pop(staker.tx_id, None)
        else:
            self._validators[seat] = None
        self._ordered.clear()

    def __contains__(self, tx_id: ID) -> bool:
        return tx_id in self._last

    def staker(self, tx_id: ID) -> Staker | None:
        """Return a staker that was put in this diff and has not left."""
        return None if tx_id in self._left else self._last.get(tx_id)

    def decides_validator(self, subnet_id: ID, node_id: NodeID) -> bool:
        """Return whether the node's validator record on the subnet changed in this diff."""
        return (subnet_id, node_id) in self._validators

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return the validator that was put in this diff and has not left."""
        return self._validators.get((subnet_id, node_id))

    def delegators(
        self, subnet_id: ID, node_id: NodeID, below: Iterable[Staker]
    ) -> Iterator[Staker]:
        """Iterate over a validator's delegators: the unchanged ones of `below`, and those put in this diff."""
        yield from (staker for staker in below if staker.tx_id not in self._last)
        yield from self._delegators.get((subnet_id, node_id), {}).values()

    def walk(self, below: Iterator[Staker], *, pending: bool) -> Iterator[Staker]:
        """Iterate over one of the two sets in staker order, as lazily as `below`."""
        if not self._last:
            return below
        unchanged = (staker for staker in below if staker.tx_id not in self._last)
        return heapq.merge(unchanged, self._sorted(pending=pending), key=_ORDER)

    def present(self) -> tuple[Staker, ...]:
        """Return the stakers that were put in this diff and have not left."""
        return tuple(staker for tx_id, staker in self._last.items() if tx_id not in self._left)

    def left(self) -> tuple[Staker, ...]:
        """Return the stakers that have left, with their last values."""
        return tuple(staker for tx_id, staker in self._last.items() if tx_id in self._left)

    def _sorted(self, *, pending: bool) -> list[Staker]:
        if pending not in self._ordered:
            held = (staker for staker in self.present() if staker.priority.is_pending == pending)
            self._ordered[pending] = sorted(held, key=_ORDER)
        return self._ordered[pending]

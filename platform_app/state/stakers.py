"""Stakers and their order, and the staker sets: pending and current, with accrued delegation rewards.

Weights are in the smallest unit of the staked asset, times in Unix seconds (pchain.md 5.4).
"""

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from operator import attrgetter
from typing import Protocol, Self

from typing_extensions import override

from platform_app.state.facets import FacetDiff
from primitives.ids import ID, NodeID


class Priority(IntEnum):
    """The order of stakers whose next change is due in the same second (pchain.md 5.4)."""

    PRIMARY_DELEGATOR_SCHEDULED_PENDING = 1
    """Added by AddDelegatorTx."""
    PRIMARY_VALIDATOR_PENDING = 2
    PRIMARY_DELEGATOR_PENDING = 3
    """Added by AddPermissionlessDelegatorTx."""
    SUBNET_VALIDATOR_PENDING = 4
    """A validator of a permissionless subnet."""
    SUBNET_DELEGATOR_PENDING = 5
    PERMISSIONED_VALIDATOR_PENDING = 6
    PERMISSIONED_VALIDATOR_CURRENT = 7
    SUBNET_DELEGATOR_CURRENT = 8
    SUBNET_VALIDATOR_CURRENT = 9
    PRIMARY_DELEGATOR_CURRENT = 10
    PRIMARY_VALIDATOR_CURRENT = 11

    @property
    def is_pending(self) -> bool:
        """Whether stakers of this priority have not started yet."""
        return self <= Priority.PERMISSIONED_VALIDATOR_PENDING

    @property
    def is_delegator(self) -> bool:
        """Whether the staker delegates to a validator."""
        return self in _DELEGATORS

    @property
    def is_permissioned(self) -> bool:
        """Whether the validator was admitted by a subnet's owner; such stakers earn no reward."""
        return self in {
            Priority.PERMISSIONED_VALIDATOR_PENDING,
            Priority.PERMISSIONED_VALIDATOR_CURRENT,
        }

    @property
    def as_current(self) -> "Priority":
        """The priority that a pending staker has once it is current."""
        return _CURRENT[self]


_DELEGATORS = {
    Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING,
    Priority.PRIMARY_DELEGATOR_PENDING,
    Priority.SUBNET_DELEGATOR_PENDING,
    Priority.SUBNET_DELEGATOR_CURRENT,
    Priority.PRIMARY_DELEGATOR_CURRENT,
}
_CURRENT = {
    Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING: Priority.PRIMARY_DELEGATOR_CURRENT,
    Priority.PRIMARY_VALIDATOR_PENDING: Priority.PRIMARY_VALIDATOR_CURRENT,
    Priority.PRIMARY_DELEGATOR_PENDING: Priority.PRIMARY_DELEGATOR_CURRENT,
    Priority.SUBNET_VALIDATOR_PENDING: Priority.SUBNET_VALIDATOR_CURRENT,
    Priority.SUBNET_DELEGATOR_PENDING: Priority.SUBNET_DELEGATOR_CURRENT,
    Priority.PERMISSIONED_VALIDATOR_PENDING: Priority.PERMISSIONED_VALIDATOR_CURRENT,
}


@dataclass(frozen=True, slots=True)
class Staker:
    """One record of the staker sets. `public_key` is the BLS key, 48 bytes, or None."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    priority: Priority
    public_key: bytes | None = None

    @property
    def next_time(self) -> int:
        """The time of the staker's next change: its start while pending, its end while current."""
        return self.start if self.priority.is_pending else self.end

    @property
    def order(self) -> tuple[int, int, bytes]:
        """The key of the total order of stakers."""
        return (self.next_time, int(self.priority), bytes(self.tx_id))

    def promoted(self, *, potential_reward: int) -> Self:
        """Return the staker as a member of the current set."""
        return replace(self, priority=self.priority.as_current, potential_reward=potential_reward)


@dataclass(frozen=True, slots=True)
class AutoRenewal:
    """The terms on which a current validator is renewed, and the rewards that it has restaked (etna.md 9)."""

    next_period: int
    """Seconds; 0 if it leaves at the end of the present period."""
    compound_shares: int
    """The part of its rewards that is restaked at the end of the present period, in millionths."""
    accrued_validation_rewards: int = 0
    """Restaked rewards for its own stake, which are part of its weight."""
    accrued_delegatee_rewards: int = 0
    """Restaked shares of its delegators' rewards, which are part of its weight too."""


_ValidatorKey = tuple[ID, NodeID]
_ORDER = attrgetter("order")


class Stakers(Protocol):
    """The reads of this facet."""

    def get(self, tx_id: ID) -> Staker | None:
        """Return the current or pending staker that a transaction added."""

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return a node's validator record on a subnet, current or pending; there is at most one."""

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        """Return the delegators of a validator, current and pending, in any order."""

    def current(self) -> Iterator[Staker]:
        """Iterate over the current set in staker order (next to leave first)."""

    def pending(self) -> Iterator[Staker]:
        """Iterate over the pending set in staker order (next to start first)."""

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        """Return the delegation rewards that a current validator has accrued so far."""

    def auto_renewal(self, validator_tx_id: ID) -> AutoRenewal | None:
        """Return the terms on which a current validator is renewed; None if it leaves at its end."""


@dataclass(frozen=True, slots=True)
class StakerChanges:
    """Changes of the staker sets, each tuple in the order of events."""

    present: tuple[Staker, ...]
    """Stakers that are new, moved from pending to current, or renewed; the priority says which set they are in now."""
    left: tuple[Staker, ...]
    """Removed stakers with their last values: with a pending priority they never became current. A staker
    that the same diff added appears only here."""
    delegatee_rewards: Mapping[ID, int]
    """New accrued delegation rewards by the validator's transaction."""
    auto_renewals: Mapping[ID, AutoRenewal]
    """New terms of auto-renewed validators by the transactions that added them."""

    def renewed(self, added: Container[ID]) -> list[Staker]:
        """Return the auto-renewed validators that begin another period, in the order of events.

        Args:
            added: The transactions of the same blocks; a validator that one of them added begins its first period.
        """
        return [
            staker
            for staker in self.present
            if staker.tx_id in self.auto_renewals and staker.tx_id not in added
        ]

    def __bool__(self) -> bool:
        return bool(self.present or self.left or self.delegatee_rewards or self.auto_renewals)


class StakerDiff(FacetDiff[Stakers]):
    """Changes of the staker sets, by transaction, by validator, and in order."""

    __slots__ = (
        "_auto_renewals", "_delegatee_rewards", "_delegators", "_last", "_left", "_ordered", "_validators",
    )  # fmt: skip

    def __init__(self, parent: Stakers) -> None:
        super().__init__(parent)
        self._last: dict[ID, Staker] = {}
        self._left: set[ID] = set()
        self._validators: dict[_ValidatorKey, Staker | None] = {}
        self._delegators: dict[_ValidatorKey, dict[ID, Staker]] = {}
        self._ordered: dict[bool, list[Staker]] = {}
        self._delegatee_rewards: dict[ID, int] = {}
        self._auto_renewals: dict[ID, AutoRenewal] = {}

    def get(self, tx_id: ID) -> Staker | None:
        """Return the current or pending staker that a transaction added."""
        if tx_id in self._left:
            return None
        return self._last.get(tx_id) or self._parent.get(tx_id)

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return a node's validator record on a subnet, current or pending."""
        key = (subnet_id, node_id)
        if key in self._validators:
            return self._validators[key]
        return self._parent.validator(subnet_id, node_id)

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        """Iterate over the delegators of a validator, current and pending, in any order."""
        yield from self._unchanged(self._parent.delegators(subnet_id, node_id))
        yield from self._delegators.get((subnet_id, node_id), {}).values()

    def current(self) -> Iterator[Staker]:
        """Iterate over the current set in staker order. Do not change stakers meanwhile."""
        return self._merged(self._parent.current(), pending=False)

    def pending(self) -> Iterator[Staker]:
        """Iterate over the pending set in staker order. Do not change stakers meanwhile."""
        return self._merged(self._parent.pending(), pending=True)

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        """Return the delegation rewards that a current validator has accrued so far."""
        reward = self._delegatee_rewards.get(validator_tx_id)
        return self._parent.delegatee_reward(validator_tx_id) if reward is None else reward

    def auto_renewal(self, validator_tx_id: ID) -> AutoRenewal | None:
        """Return the terms on which a current validator is renewed; None if it leaves at its end."""
        known = self._auto_renewals.get(validator_tx_id)
        return self._parent.auto_renewal(validator_tx_id) if known is None else known

    def put(self, staker: Staker) -> None:
        """Put a staker into the current or the pending set, according to its priority.

        A pending staker that is put as current leaves the pending set, and a renewed one takes the place of its last
        period. A staker that has left cannot come back, because no transaction is accepted twice.
        """
        key = (staker.subnet_id, staker.node_id)
        self._last[staker.tx_id] = staker
        self._left.discard(staker.tx_id)
        if staker.priority.is_delegator:
            self._delegators.setdefault(key, {})[staker.tx_id] = staker
        else:
            self._validators[key] = staker
        self._ordered.clear()

    def remove(self, staker: Staker) -> None:
        """Remove a staker from its set."""
        key = (staker.subnet_id, staker.node_id)
        self._last[staker.tx_id] = staker
        self._left.add(staker.tx_id)
        if staker.priority.is_delegator:
            self._delegators.get(key, {}).pop(staker.tx_id, None)
        else:
            self._validators[key] = None
        self._ordered.clear()

    def has_removed_validator(self, subnet_id: ID, node_id: NodeID) -> bool:
        """Return whether this diff removes a node's current validator from a subnet, which the parent has."""
        before = self._parent.validator(subnet_id, node_id)
        return before is not None and not before.priority.is_pending and before.tx_id in self._left

    def set_delegatee_reward(self, validator_tx_id: ID, amount: int) -> None:
        """Set the delegation rewards that a current validator has accrued so far."""
        self._delegatee_rewards[validator_tx_id] = amount

    def set_auto_renewal(self, validator_tx_id: ID, terms: AutoRenewal) -> None:
        """Set the terms on which a current validator is renewed."""
        self._auto_renewals[validator_tx_id] = terms

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        # Removed stakers come first: a new validator may take the place of a removed one.
        for tx_id in self._left_in_order():
            into.remove(self._last[tx_id])
        for staker in self._present():
            into.put(staker)
        for tx_id, amount in self._delegatee_rewards.items():
            into.set_delegatee_reward(tx_id, amount)
        for tx_id, terms in self._auto_renewals.items():
            into.set_auto_renewal(tx_id, terms)

    @override
    def changes(self) -> StakerChanges:
        """Return all changes relative to the parent."""
        return StakerChanges(
            present=tuple(self._present()),
            left=tuple(self._last[tx_id] for tx_id in self._left_in_order()),
            delegatee_rewards=dict(self._delegatee_rewards),
            auto_renewals=dict(self._auto_renewals),
        )

    def _present(self) -> Iterator[Staker]:
        """Iterate over the stakers that were put in this diff and have not left."""
        return (staker for tx_id, staker in self._last.items() if tx_id not in self._left)

    def _left_in_order(self) -> Iterator[ID]:
        return (tx_id for tx_id in self._last if tx_id in self._left)

    def _unchanged(self, stakers: Iterable[Staker]) -> Iterator[Staker]:
        return (staker for staker in stakers if staker.tx_id not in self._last)

    def _merged(self, below: Iterator[Staker], *, pending: bool) -> Iterator[Staker]:
        """Iterate over one of the two sets in staker order, as lazily as `below`."""
        if not self._last:
            return below
        return heapq.merge(self._unchanged(below), self._sorted(pending=pending), key=_ORDER)

    def _sorted(self, *, pending: bool) -> list[Staker]:
        if pending not in self._ordered:
            held = (staker for staker in self._present() if staker.priority.is_pending == pending)
            self._ordered[pending] = sorted(held, key=_ORDER)
        return self._ordered[pending]

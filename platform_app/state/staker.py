"""A staker: one staking transaction in the pending or the current set, and the order of stakers.

Weights are in the smallest unit of the staked asset, times in Unix seconds (pchain.md 5.4).
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self

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

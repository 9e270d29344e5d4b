"""Cached validators and delegators; `selectors.stakers` reads them from rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from platform_app.memory.versioned import StakerMemory, StakerVersion
from primitives.ids import ID, NodeID
from utxo.components import OutputOwners

SUBNETS = 64
"""The number of subnets whose current validators are cached."""
NODES = 4096
"""The number of validators whose current delegators are cached."""
SETS = 32
"""The number of validator sets at other heights that are cached."""
HEIGHTS = 4
"""The number of heights for which the validator sets of all subnets are cached."""


class DelegatorRecord(NamedTuple):
    """Stake added to a validator; times in Unix seconds."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    rewards_owner: OutputOwners | None


class ValidatorRecord(NamedTuple):
    """A validator with all fields of its record; times in Unix seconds."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    rewards_owner: OutputOwners | None
    """The owner of the rewards for its own stake; None for permissioned validators of subnets."""
    delegatee_reward: int
    """Its accrued share of its delegators' rewards."""
    shares: int | None
    """Delegation fee in millionths; None if the validator accepts no delegators."""
    public_key: bytes | None
    proof_of_possession: bytes | None
    delegation_rewards_owner: OutputOwners | None
    delegator_count: int = 0
    delegator_weight: int = 0


@dataclass(frozen=True, slots=True)
class CurrentSet:
    """The current validators of a subnet in staker order."""

    validators: tuple[ValidatorRecord, ...]
    by_node: Mapping[NodeID, ValidatorRecord]
    weight: int
    """The total weight, delegators included."""

    def __len__(self) -> int:
        return len(self.validators)


class Member(NamedTuple):
    """A validator at a height."""

    weight: int
    """The weight including its delegators'."""
    public_key: bytes | None
    """Its BLS key on the Primary Network."""


Members = Mapping[NodeID, Member]
"""The validators of a subnet at a height."""


class StakerMemories(NamedTuple):
    """A chain's caches of stakers."""

    current: StakerMemory[ID, CurrentSet]
    """Current validators, by subnet."""
    delegators: StakerMemory[tuple[ID, NodeID], tuple[DelegatorRecord, ...]]
    """Current delegators, by subnet and validator."""
    sets: StakerMemory[tuple[int, ID], Members]
    """Validators of a subnet, by height."""
    subnets: StakerMemory[int, Mapping[ID, Members]]
    """Validators of all created subnets, by height."""

    @classmethod
    def empty(cls, version: Callable[[], StakerVersion]) -> Self:
        """Return empty caches; `version` returns the version of the rows at the moment of the call."""
        return cls(
            StakerMemory(SUBNETS, version),
            StakerMemory(NODES, version),
            StakerMemory(SETS, version),
            StakerMemory(HEIGHTS, version),
        )

"""Who validates and who delegates, as it is remembered; `selectors.stakers` reads it from rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from platform_app.memory.versioned import StakerMemory, Version
from platform_app.txs.components import OutputOwners
from primitives.ids import ID, NodeID

SUBNETS = 64
"""Of so many subnets the present validators are remembered."""
NODES = 4096
"""Of so many validators the present delegators are remembered."""
SETS = 32
"""So many sets of other heights are remembered."""
HEIGHTS = 4
"""Of so many heights the sets of all subnets are remembered."""


class Delegator(NamedTuple):
    """Stake added to a validator; times in Unix seconds."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    rewards_owner: OutputOwners | None


class Validator(NamedTuple):
    """A validator with all that its record shows; times in Unix seconds."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    rewards_owner: OutputOwners | None
    """Of its own stake; None for permissioned validators of subnets."""
    delegatee_reward: int
    """Its share of what its delegators have earned so far."""
    shares: int | None
    """Delegation fee in millionths; None where nobody can delegate."""
    public_key: bytes | None
    proof_of_possession: bytes | None
    delegation_rewards_owner: OutputOwners | None
    delegator_count: int = 0
    delegator_weight: int = 0


@dataclass(frozen=True, slots=True)
class CurrentSet:
    """The present validators of a subnet in staker order."""

    validators: tuple[Validator, ...]
    by_node: Mapping[NodeID, Validator]
    weight: int
    """Of all, delegators included."""

    def __len__(self) -> int:
        return len(self.validators)


class Member(NamedTuple):
    """A validator at a height."""

    weight: int
    """Its delegators' included."""
    public_key: bytes | None
    """Its BLS key on the Primary Network."""


Members = Mapping[NodeID, Member]
"""Who validated a subnet at a height."""


class StakerMemories(NamedTuple):
    """What a chain remembers of stakers."""

    current: StakerMemory[ID, CurrentSet]
    """Present validators, by subnet."""
    delegators: StakerMemory[tuple[ID, NodeID], tuple[Delegator, ...]]
    """Present delegators, by subnet and validator."""
    sets: StakerMemory[tuple[int, ID], Members]
    """Validators of a subnet, by height."""
    subnets: StakerMemory[int, Mapping[ID, Members]]
    """Validators of all created subnets, by height."""

    @classmethod
    def empty(cls, version: Callable[[], Version]) -> Self:
        """Return memories that hold nothing; `version` says what answers of this moment are as of."""
        return cls(
            StakerMemory(SUBNETS, version),
            StakerMemory(NODES, version),
            StakerMemory(SETS, version),
            StakerMemory(HEIGHTS, version),
        )

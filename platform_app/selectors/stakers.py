"""Who validates and who delegates: now, soon, and at any height.

The present is in memory (`memory`); it costs one small question however long the history is. What
rows say of heights is read by `members`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from chaindb import sql
from platform_app.apps import platform_chain
from platform_app.selectors import chain, members
from platform_app.selectors.members import Members
from platform_app.selectors.memory import StakerMemory, version
from platform_app.store import rows
from platform_app.store import uptime as uptime_rows
from platform_app.store.uptime import Uptime
from platform_app.txs.components import OutputOwners
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

SUBNETS = 64
"""Of so many subnets the present validators are remembered."""
NODES = 4096
"""Of so many validators the present delegators are remembered."""
SETS = 32
"""So many sets of other heights are remembered."""
HEIGHTS = 4
"""Of so many heights the sets of all subnets are remembered."""

_VALIDATOR = """
SELECT tx_id, node_id, subnet_id, weight, start_time, end_time, potential_reward, rewards_owner,
       delegatee_reward, shares, public_key, proof_of_possession, delegation_rewards_owner
FROM platform_app_staker
"""
_DELEGATOR = """
SELECT tx_id, node_id, subnet_id, weight, start_time, end_time, potential_reward, rewards_owner
FROM platform_app_staker
"""
_CURRENT = (
    _VALIDATOR
    + "WHERE phase < 3 AND NOT is_delegator AND phase = 2 AND subnet_id = %s "
    + "ORDER BY end_time, priority, tx_id"
)
_DELEGATED = """
SELECT node_id, COUNT(*), SUM(CAST(weight AS BIGINT)) FROM platform_app_staker
WHERE phase < 3 AND is_delegator AND phase = 2 AND subnet_id = %s
GROUP BY node_id
"""
_DELEGATORS = (
    _DELEGATOR
    + "WHERE phase < 3 AND is_delegator AND phase = 2 AND subnet_id = %s AND node_id = %s "
    + "ORDER BY end_time, priority, tx_id"
)
_PENDING = (
    _VALIDATOR
    + "WHERE phase = 1 AND NOT is_delegator AND subnet_id = %s "
    + "ORDER BY start_time, priority, tx_id"
)
_PENDING_DELEGATORS = (
    _DELEGATOR
    + "WHERE phase = 1 AND is_delegator AND subnet_id = %s ORDER BY start_time, priority, tx_id"
)


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


class PendingSet(NamedTuple):
    """Who has a start in the future on a subnet, in staker order."""

    validators: tuple[Validator, ...]
    delegators: tuple[Delegator, ...]


class _Memory(NamedTuple):
    current: StakerMemory[ID, CurrentSet]
    delegators: StakerMemory[tuple[ID, NodeID], tuple[Delegator, ...]]
    sets: StakerMemory[tuple[int, ID], Members]
    subnets: StakerMemory[int, Mapping[ID, Members]]


@cache
def memory() -> _Memory:
    """Return what this process remembers of stakers."""
    return _Memory(
        StakerMemory(SUBNETS), StakerMemory(NODES), StakerMemory(SETS), StakerMemory(HEIGHTS)
    )


def current_validators(subnet_id: ID = PRIMARY_NETWORK_ID) -> CurrentSet:
    """Return who validates a subnet now; nobody for a subnet that does not exist.

    Raises:
        NoGenesis: The database holds no chain.
    """
    return memory().current.get(subnet_id, lambda: _load_current(subnet_id))


def current_delegators(subnet_id: ID, node_id: NodeID) -> tuple[Delegator, ...]:
    """Return who delegates to a validator now, in staker order.

    Raises:
        NoGenesis: The database holds no chain.
    """
    seat = (subnet_id, node_id)
    return memory().delegators.get(
        seat, lambda: tuple(map(_delegator, sql.rows(_DELEGATORS, seat)))
    )


def pending_stakers(subnet_id: ID = PRIMARY_NETWORK_ID) -> PendingSet:
    """Return who is going to validate a subnet or to delegate there."""
    return PendingSet(
        tuple(map(_validator, sql.rows(_PENDING, (subnet_id,)))),
        tuple(map(_delegator, sql.rows(_PENDING_DELEGATORS, (subnet_id,)))),
    )


def validators_at(height: int, subnet_id: ID = PRIMARY_NETWORK_ID) -> Members | None:
    """Return who validated a subnet after the block at a height, or None above the tip.

    Raises:
        NoGenesis: The database holds no chain.
    """
    if height > chain.tip().height:
        return None
    # Since the last change of a staker every height has the same set.
    return _set(min(height, version().stakers_height), subnet_id)


def all_validators_at(height: int) -> dict[ID, Members] | None:
    """Return who validated the Primary Network, and each other subnet that had validators then.

    None above the tip, as in `validators_at`; however many subnets there are, few questions.

    Raises:
        NoGenesis: The database holds no chain.
    """
    if height > chain.tip().height:
        return None
    height = min(height, version().stakers_height)
    primary = _set(height, PRIMARY_NETWORK_ID)
    others = memory().subnets.get(height, lambda: _load_others_at(height, primary))
    return {PRIMARY_NETWORK_ID: primary, **others}


def uptimes(node_ids: Iterable[NodeID] | None = None) -> dict[NodeID, Uptime]:
    """Return how long validators of the Primary Network were online: these nodes' or all."""
    return {one.node_id: one for one in uptime_rows.uptimes(platform_chain().db, node_ids)}


def tracking() -> bool:
    """Say whether uptimes are tracked: until the first peer ever, everybody counts as online."""
    return uptime_rows.tracking(platform_chain().db) is not None


def connected_nodes() -> frozenset[NodeID]:
    """Return which nodes were connected when somebody looked last, validators or not."""
    return frozenset(uptime_rows.connected(platform_chain().db))


def _load_current(subnet_id: ID) -> CurrentSet:
    delegated = {
        bytes(node_id): (count, int(weight))
        for node_id, count, weight in sql.rows(_DELEGATED, (subnet_id,))
    }
    nobody = (0, 0)
    validators = tuple(
        _validator(row, *delegated.get(bytes(row[1]), nobody))
        for row in sql.rows(_CURRENT, (subnet_id,))
    )
    return CurrentSet(
        validators,
        {one.node_id: one for one in validators},
        sum(one.weight + one.delegator_weight for one in validators),
    )


def _set(height: int, subnet_id: ID) -> Members:
    return memory().sets.get((height, subnet_id), lambda: _load_at(height, subnet_id))


def _load_at(height: int, subnet_id: ID) -> Members:
    found = members.of_subnet(subnet_id, height)
    if subnet_id == PRIMARY_NETWORK_ID or not found:
        return found
    return _with_keys(found, _set(height, PRIMARY_NETWORK_ID))


def _load_others_at(height: int, primary: Members) -> Mapping[ID, Members]:
    found = members.of_created_subnets(height)
    return {subnet_id: _with_keys(of, primary) for subnet_id, of in found.items()}


def _with_keys(found: Members, primary: Members) -> Members:
    """Return validators of a subnet with their keys of the Primary Network."""
    return {
        node_id: member._replace(public_key=primary[node_id].public_key)
        if node_id in primary
        else member
        for node_id, member in found.items()
    }


def _validator(row: tuple[Any, ...], count: int = 0, delegated: int = 0) -> Validator:
    delegatee_reward, shares, public_key, proof, delegation_owner = row[8:]
    return Validator(
        *_columns(row[:8]), int(delegatee_reward), shares, _bytes(public_key), _bytes(proof),
        _owner(delegation_owner), count, delegated,
    )  # fmt: skip


def _delegator(row: tuple[Any, ...]) -> Delegator:
    return Delegator(*_columns(row))


def _columns(
    row: tuple[Any, ...],
) -> tuple[ID, NodeID, ID, int, int, int, int, OutputOwners | None]:
    """Return what validators and delegators have in common."""
    tx_id, node_id, subnet_id, weight, start, end, reward, owner = row
    return (
        ID(tx_id), NodeID(node_id), ID(subnet_id), int(weight), start, end, int(reward),
        _owner(owner),
    )  # fmt: skip


def _owner(data: Any) -> OutputOwners | None:
    return None if data is None else rows.owners_of(bytes(data))


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)

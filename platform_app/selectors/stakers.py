"""Validators and delegators: current, pending, and at any height.

The current ones come from the chain's cache (`memory.stakers`); checking it costs one small query, however long the
history is. `members` reads the sets at other heights from rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from platform_app.chain import PlatformChain
from platform_app.memory.stakers import (
    CurrentSet,
    DelegatorRecord,
    Member,
    Members,
    RenewalRecord,
    ValidatorRecord,
)
from platform_app.store import rows
from platform_app.store import uptime as uptime_rows
from platform_app.store.uptime import Uptime
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.warp import CanonicalSet, WarpError, canonical_set
from utxo.components import OutputOwners

_AT = """
SELECT subnet_id, node_id, weight, public_key FROM platform_app_staker
WHERE phase < 3 AND NOT is_delegator AND phase = 2 AND subnet_id {which} AND joined_height <= %s
UNION ALL
SELECT subnet_id, node_id, weight, public_key FROM platform_app_staker
WHERE phase = 3 AND subnet_id {which} AND left_height > %s AND joined_height <= %s
  AND NOT is_delegator
UNION ALL
SELECT s.subnet_id, s.node_id, p.weight, s.public_key
FROM platform_app_renewedperiod p JOIN platform_app_staker s ON s.tx_id = p.staker_id
WHERE s.subnet_id {which} AND p.left_height > %s AND p.joined_height <= %s
"""
_DELEGATED_AT = """
SELECT subnet_id, node_id, SUM(weight) FROM (
  SELECT subnet_id, node_id, CAST(weight AS BIGINT) AS weight FROM platform_app_staker
  WHERE phase < 3 AND is_delegator AND phase = 2 AND subnet_id {which} AND joined_height <= %s
  UNION ALL
  SELECT subnet_id, node_id, CAST(weight AS BIGINT) FROM platform_app_staker
  WHERE phase = 3 AND subnet_id {which} AND left_height > %s AND joined_height <= %s
    AND is_delegator
) AS delegations GROUP BY subnet_id, node_id
"""
_L1_AT = """
SELECT subnet_id, node_id, weight, public_key FROM platform_app_l1weight
WHERE subnet_id {which} AND from_height <= %s AND (until_height IS NULL OR until_height > %s)
"""
_ONE_SUBNET = "= %s"
_CREATED_SUBNETS = "IN (SELECT subnet_id FROM platform_app_subnet)"


def of_subnet(chain: PlatformChain, subnet_id: ID, height: int) -> Members:
    """Return the validators of a subnet, or of the Primary Network, after the block at a height."""
    return _members(chain, _ONE_SUBNET, (subnet_id,), height).get(subnet_id, {})


def of_created_subnets(chain: PlatformChain, height: int) -> Mapping[ID, Members]:
    """Return the validators at a height of all subnets that had any, without the Primary Network."""
    return _members(chain, _CREATED_SUBNETS, (), height)


def _members(
    chain: PlatformChain, which: str, subnets: tuple[ID, ...], height: int
) -> dict[ID, dict[NodeID, Member]]:
    place = (*subnets, height, *subnets, height, height)
    with_renewed = (*place, *subnets, height, height)
    delegated = {
        (bytes(subnet_id), bytes(node_id)): int(weight)
        for subnet_id, node_id, weight in chain.db.rows(_DELEGATED_AT.format(which=which), place)
    }
    members: defaultdict[ID, dict[NodeID, Member]] = defaultdict(dict)
    for subnet_id, node_id, weight, key in chain.db.rows(_AT.format(which=which), with_renewed):
        stake = int(weight) + delegated.get((bytes(subnet_id), bytes(node_id)), 0)
        public_key = None if key is None else bytes(key)
        members[ID(bytes(subnet_id))][NodeID(bytes(node_id))] = Member(stake, public_key)
    # Inactive validators of an L1 share the empty node ID, under which their weights are added up (etna.md 8).
    l1s = chain.db.rows(_L1_AT.format(which=which), (*subnets, height, height))
    for subnet, node_id, weight, key in l1s:
        beside, node = members[ID(bytes(subnet))], NodeID(bytes(node_id))
        before = beside[node].weight if node in beside else 0
        beside[node] = Member(before + int(weight), None if key is None else bytes(key))
    return dict(members)


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
_RENEWALS = """
SELECT a.staker_id, a.authority, a.next_period, a.auto_compound_shares,
       a.accrued_validation_rewards, a.accrued_delegatee_rewards
FROM platform_app_autorenewedvalidator a JOIN platform_app_staker s ON s.tx_id = a.staker_id
WHERE s.phase < 3 AND NOT s.is_delegator AND s.phase = 2 AND s.subnet_id = %s
"""
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


class UnfinalizedHeight(StrEnum):
    """Why there are no validators at a height."""

    MESSAGE = (
        "failed to get validator set at {requested}: failed to fetch validator set at unfinalized "
        "height with SubnetID = {subnet_id}: current P-chain height ({current}) < requested "
        "P-Chain height ({requested})"
    )


class PendingSet(NamedTuple):
    """The stakers of a subnet that start in the future, in staker order."""

    validators: tuple[ValidatorRecord, ...]
    delegators: tuple[DelegatorRecord, ...]


def current_validators(chain: PlatformChain, subnet_id: ID = PRIMARY_NETWORK_ID) -> CurrentSet:
    """Return the current validators of a subnet; an empty set if the subnet does not exist.

    Raises:
        NoGenesis: The database holds no chain.
    """
    return chain.stakers.current.get(subnet_id, lambda: _load_current(chain, subnet_id))


def current_delegators(
    chain: PlatformChain, subnet_id: ID, node_id: NodeID
) -> tuple[DelegatorRecord, ...]:
    """Return the current delegators of a validator, in staker order.

    Raises:
        NoGenesis: The database holds no chain.
    """
    key = (subnet_id, node_id)
    return chain.stakers.delegators.get(
        key, lambda: tuple(map(_delegator, chain.db.rows(_DELEGATORS, key)))
    )


def pending_stakers(chain: PlatformChain, subnet_id: ID = PRIMARY_NETWORK_ID) -> PendingSet:
    """Return the pending validators and delegators of a subnet."""
    return PendingSet(
        tuple(map(_validator, chain.db.rows(_PENDING, (subnet_id,)))),
        tuple(map(_delegator, chain.db.rows(_PENDING_DELEGATORS, (subnet_id,)))),
    )


def validators_at(
    chain: PlatformChain, height: int, subnet_id: ID = PRIMARY_NETWORK_ID
) -> Members | None:
    """Return the validators of a subnet after the block at a height; None above the tip.

    Raises:
        NoGenesis: The database holds no chain.
    """
    if height > chain.tip().height:
        return None
    # All heights since the last change of a staker have the same set.
    return _set(chain, min(height, chain.stakers_version().stakers_height), subnet_id)


def current_members(chain: PlatformChain, subnet_id: ID = PRIMARY_NETWORK_ID) -> Members:
    """Return the validators of a subnet after the last accepted block, those of an L1 included.

    The inactive validators of an L1 are one member with the empty node ID (etna.md 8).

    Raises:
        NoGenesis: The database holds no chain.
    """
    return validators_at(chain, chain.tip().height, subnet_id) or {}


def all_validators_at(chain: PlatformChain, height: int) -> dict[ID, Members] | None:
    """Return the validators at a height of the Primary Network, and of each other subnet that had any.

    None above the tip, as in `validators_at`. The number of queries does not depend on the number of subnets.

    Raises:
        NoGenesis: The database holds no chain.
    """
    if height > chain.tip().height:
        return None
    height = min(height, chain.stakers_version().stakers_height)
    primary = _set(chain, height, PRIMARY_NETWORK_ID)
    others = chain.stakers.subnets.get(height, lambda: _load_others_at(chain, height, primary))
    return {PRIMARY_NETWORK_ID: primary, **others}


def signers_at(chain: PlatformChain, subnet_id: ID, height: int | None) -> CanonicalSet:
    """Return the validators of a subnet that sign warp messages at a height; None means the last accepted one.

    Raises:
        WarpError: The height is above the last accepted block; the weights do not fit into 64 bits.
    """
    current = chain.tip().height
    members = validators_at(chain, current if height is None else height, subnet_id)
    if members is None:
        raise WarpError(
            UnfinalizedHeight.MESSAGE, subnet_id=subnet_id, current=current, requested=height
        )
    return canonical_set((member.public_key, member.weight) for member in members.values())


def uptimes(chain: PlatformChain, node_ids: Iterable[NodeID] | None = None) -> dict[NodeID, Uptime]:
    """Return the uptimes of validators of the Primary Network, for these nodes or for all."""
    return {uptime.node_id: uptime for uptime in uptime_rows.uptimes(chain.db, node_ids)}


def tracking(chain: PlatformChain) -> bool:
    """Return whether uptimes are tracked: until the first peer has ever connected, all validators count as online."""
    return uptime_rows.tracking(chain.db) is not None


def tracked_since(chain: PlatformChain) -> int | None:
    """Return when tracking of uptimes began, in Unix seconds; None while they are not tracked."""
    tracking = uptime_rows.tracking(chain.db)
    return None if tracking is None else tracking.began_at


def connected_nodes(chain: PlatformChain) -> frozenset[NodeID]:
    """Return the nodes that were connected at the last check, validators or not."""
    return frozenset(uptime_rows.connected(chain.db))


def _load_current(chain: PlatformChain, subnet_id: ID) -> CurrentSet:
    delegated = {
        bytes(node_id): (count, int(weight))
        for node_id, count, weight in chain.db.rows(_DELEGATED, (subnet_id,))
    }
    no_delegations = (0, 0)
    renewals = _renewals(chain) if subnet_id == PRIMARY_NETWORK_ID else {}
    validators = tuple(
        _validator(row, *delegated.get(bytes(row[1]), no_delegations), renewals.get(bytes(row[0])))
        for row in chain.db.rows(_CURRENT, (subnet_id,))
    )
    return CurrentSet(
        validators,
        {validator.node_id: validator for validator in validators},
        sum(validator.weight + validator.delegator_weight for validator in validators),
    )


def _renewals(chain: PlatformChain) -> dict[bytes, RenewalRecord]:
    """Return the terms of all current auto-renewed validators, by the transactions that added them."""
    return {
        bytes(tx_id): RenewalRecord(
            rows.owners_of(bytes(authority)), period, shares, sum(map(int, restaked))
        )
        for tx_id, authority, period, shares, *restaked in chain.db.rows(
            _RENEWALS, (PRIMARY_NETWORK_ID,)
        )
    }


def _set(chain: PlatformChain, height: int, subnet_id: ID) -> Members:
    return chain.stakers.sets.get((height, subnet_id), lambda: _load_at(chain, height, subnet_id))


def _load_at(chain: PlatformChain, height: int, subnet_id: ID) -> Members:
    members = of_subnet(chain, subnet_id, height)
    if subnet_id == PRIMARY_NETWORK_ID or not members:
        return members
    return _with_keys(members, _set(chain, height, PRIMARY_NETWORK_ID))


def _load_others_at(chain: PlatformChain, height: int, primary: Members) -> Mapping[ID, Members]:
    by_subnet = of_created_subnets(chain, height)
    return {subnet_id: _with_keys(members, primary) for subnet_id, members in by_subnet.items()}


def _with_keys(members: Members, primary: Members) -> Members:
    """Return validators of a subnet with their BLS keys of the Primary Network."""
    return {
        node_id: member._replace(public_key=primary[node_id].public_key)
        if member.public_key is None and node_id in primary
        else member
        for node_id, member in members.items()
    }


def _validator(
    row: tuple[Any, ...],
    count: int = 0,
    delegated: int = 0,
    renewal: RenewalRecord | None = None,
) -> ValidatorRecord:
    delegatee_reward, shares, public_key, proof, delegation_owner = row[8:]
    return ValidatorRecord(
        *_columns(row[:8]), int(delegatee_reward), shares, _bytes(public_key), _bytes(proof),
        _owner(delegation_owner), count, delegated, renewal,
    )  # fmt: skip


def _delegator(row: tuple[Any, ...]) -> DelegatorRecord:
    return DelegatorRecord(*_columns(row))


def _columns(
    row: tuple[Any, ...],
) -> tuple[ID, NodeID, ID, int, int, int, int, OutputOwners | None]:
    """Return the fields that validators and delegators have in common."""
    tx_id, node_id, subnet_id, weight, start, end, reward, owner = row
    return (
        ID(tx_id), NodeID(node_id), ID(subnet_id), int(weight), start, end, int(reward),
        _owner(owner),
    )  # fmt: skip


def _owner(data: Any) -> OutputOwners | None:
    return None if data is None else rows.owners_of(bytes(data))


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)

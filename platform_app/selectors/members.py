"""Who validated at a height, as rows of stakers say it: of one subnet, or of all in one go.

What is remembered of it, and which keys validators of subnets have, is in `stakers`.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from platform_app.chain import PlatformChain
from platform_app.memory.stakers import Member, Members
from primitives.ids import ID, NodeID

_AT = """
SELECT subnet_id, node_id, weight, public_key FROM platform_app_staker
WHERE phase < 3 AND NOT is_delegator AND phase = 2 AND subnet_id {which} AND joined_height <= %s
UNION ALL
SELECT subnet_id, node_id, weight, public_key FROM platform_app_staker
WHERE phase = 3 AND subnet_id {which} AND left_height > %s AND joined_height <= %s
  AND NOT is_delegator
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
_ONE_SUBNET = "= %s"
_CREATED_SUBNETS = "IN (SELECT subnet_id FROM platform_app_subnet)"


def of_subnet(chain: PlatformChain, subnet_id: ID, height: int) -> Members:
    """Return who validated a subnet, or the Primary Network, after the block at a height."""
    place = (subnet_id, height, subnet_id, height, height)
    return _members(chain, _ONE_SUBNET, place).get(subnet_id, {})


def of_created_subnets(chain: PlatformChain, height: int) -> Mapping[ID, Members]:
    """Return the same of all subnets that had validators, without the Primary Network."""
    return _members(chain, _CREATED_SUBNETS, (height,) * 3)


def _members(
    chain: PlatformChain, which: str, place: tuple[Any, ...]
) -> dict[ID, dict[NodeID, Member]]:
    delegated = {
        (bytes(subnet_id), bytes(node_id)): int(weight)
        for subnet_id, node_id, weight in chain.db.rows(_DELEGATED_AT.format(which=which), place)
    }
    found: defaultdict[ID, dict[NodeID, Member]] = defaultdict(dict)
    for subnet_id, node_id, weight, key in chain.db.rows(_AT.format(which=which), place):
        stake = int(weight) + delegated.get((bytes(subnet_id), bytes(node_id)), 0)
        public_key = None if key is None else bytes(key)
        found[ID(bytes(subnet_id))][NodeID(bytes(node_id))] = Member(stake, public_key)
    return dict(found)

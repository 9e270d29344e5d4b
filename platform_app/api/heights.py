"""Sets of validators at any height, and samples of the present one."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from itertools import accumulate
from secrets import SystemRandom
from typing import Any, Final

from platform_app.api.chains import proposed_height
from platform_app.api.errors import refused
from platform_app.api.params import Proposed
from platform_app.api.wire import Json
from platform_app.selectors import chain, stakers, subnets
from platform_app.selectors.stakers import Member
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

_FLAGS: Final = 0xE0
"""Bits of the first byte of a compressed BLS key that say how it is compressed."""
_SIGN: Final = 0x20
"""The one of them that tells the greater of the two points from the other."""

_random: Final = SystemRandom()


def get_validators_at(height: int | Proposed, subnet_id: ID) -> Json:
    """platform.getValidatorsAt: who validated a subnet after the block at a height.

    Unspecified: the set is a member of the result (gaps.md 3); weights include delegators.
    """
    return {"validators": {str(one): _member(of) for one, of in _at(height, subnet_id).items()}}


def get_all_validators_at(height: int | Proposed) -> Json:
    """platform.getAllValidatorsAt: the canonical sets of all subnets at a height.

    Unspecified: of other subnets than the Primary Network only those that had validators.
    """
    shown = {str(PRIMARY_NETWORK_ID): _canonical(_at(height, PRIMARY_NETWORK_ID))}
    for subnet in subnets.subnets():
        members = _at(height, subnet.subnet_id)
        if members:
            shown[str(subnet.subnet_id)] = _canonical(members)
    return {"validatorSets": shown}


def sample_validators(size: int, subnet_id: ID) -> Json:
    """platform.sampleValidators: validators drawn by weight, sorted by node ID.

    Unspecified: units of weight are drawn without putting them back, so a node can come several
    times; delegators count for their validator.
    """
    return {"validators": [str(one) for one in _sample(size, subnet_id)]}


def _sample(size: int, subnet_id: ID) -> list[NodeID]:
    present = stakers.current_validators(subnet_id)
    if size == 0:
        return []
    if not present.validators:
        raise refused(f"sampling {subnet_id} errored with missing validators")
    if size > present.weight:
        raise refused(f"sampling {subnet_id} errored with insufficient weight")
    bounds = list(accumulate(one.weight + one.delegator_weight for one in present.validators))
    units = _random.sample(range(present.weight), size)
    return sorted(present.validators[bisect_right(bounds, unit)].node_id for unit in units)


def _at(height: int | Proposed, subnet_id: ID) -> Mapping[NodeID, Member]:
    wanted = proposed_height() if isinstance(height, Proposed) else height
    members = stakers.validators_at(wanted, subnet_id)
    if members is None:
        raise refused(
            f"failed to get validator set at {wanted}: validator set height not yet finalized with "
            f"SubnetID = {subnet_id}: current P-chain height ({chain.tip().height}) < requested "
            f"P-Chain height ({wanted})"
        )
    return members


def _member(member: Member) -> Json:
    key = member.public_key
    return {
        "publicKey": None if key is None else "0x" + key.hex(),
        "weight": str(member.weight),
    }


def _canonical(members: Mapping[NodeID, Member]) -> Json:
    """Return a set as signatures of it are counted: by key; nodes without one have only weight."""
    by_key: defaultdict[bytes, list[NodeID]] = defaultdict(list)
    for node_id, member in members.items():
        if member.public_key is not None:
            by_key[member.public_key].append(node_id)
    shown: list[dict[str, Any]] = [
        {
            "publicKey": "0x" + key.hex(),
            "weight": str(sum(members[one].weight for one in by_key[key])),
            "nodeIDs": [str(one) for one in sorted(by_key[key])],
        }
        for key in sorted(by_key, key=_uncompressed_order)
    ]
    total = sum(member.weight for member in members.values())
    return {"validators": shown, "totalWeight": str(total)}


def _uncompressed_order(key: bytes) -> tuple[bytes, int]:
    """Return what sorts compressed keys as their uncompressed forms would."""
    return bytes([key[0] & ~_FLAGS & 0xFF]) + key[1:], key[0] & _SIGN

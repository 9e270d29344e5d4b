"""Current and pending validators, and stake: limits, totals, the stake of addresses, rewards."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from platform_app.api import l1, params, presence, records
from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.records import Piece
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json, encoded
from platform_app.executor.staking import greatest_weight
from platform_app.memory.stakers import ValidatorRecord
from platform_app.selectors import accepted, outputs, stakers
from primitives.checksummed import TextEncoding
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.uint64 import MAX

_encode: Final = msgspec.json.Encoder().encode


def get_current_validators(rpc: PlatformRpc, subnet_id: ID, node_ids: Sequence[NodeID]) -> Raw:
    """platform.getCurrentValidators: the current validators of a subnet, all or those of given nodes.

    Unspecified: delegators are listed if exactly one node is given. Validators are in staker order, and
    unknown nodes are left out. A node's uptime on the Primary Network is shown on other subnets, too. Uptime is
    the specification's fraction, and with the reference's parameters its percentage. Validators of an L1 come
    after the permissioned ones, in the order of their node IDs.
    """
    present = stakers.current_validators(rpc.chain, subnet_id)
    pieces = rpc.records.pieces_of(subnet_id, present)
    if node_ids:
        chosen = [pieces[fromkey] for fromkey in dict.fromkeys(node_ids) if fromkey in pieces]
    else:
        chosen = list(pieces.values())
    if not node_ids and subnet_id == PRIMARY_NETWORK_ID:
        presences = rpc.presences.of_all(present)
    else:
        presences = presence.of_nodes(rpc.chain, map(_node, chosen))
    delegators = b""
    if len(set(node_ids)) == 1 and chosen and chosen[0].validator.shares is not None:
        node_id = node_ids[0]
        delegating = stakers.current_delegators(rpc.chain, subnet_id, node_id)
        delegators = rpc.records.delegators_text(subnet_id, node_id, delegating)
    in_percent = rpc.chain.answers_as_reference
    shown = (
        rpc.records.record(staker, presences.of(_node(staker)), delegators, in_percent=in_percent)
        for staker in chosen
    )
    pieces_of_l1 = map(_encode, l1.records_of(rpc, subnet_id, node_ids))
    return Raw(b'{"validators":[%b]}' % b",".join((*shown, *pieces_of_l1)))


def get_pending_validators(rpc: PlatformRpc, subnet_id: ID, node_ids: Sequence[NodeID]) -> Json:
    """platform.getPendingValidators: the pending validators and delegators of a subnet.

    Unspecified: if nodes are given, delegators are listed only for those of them that are pending validators,
    as in the reference.
    """
    pending = stakers.pending_stakers(rpc.chain, subnet_id)
    validators, delegators = pending.validators, pending.delegators
    if node_ids:
        wanted = set(node_ids)
        validators = tuple(validator for validator in validators if validator.node_id in wanted)
        listed = {validator.node_id for validator in validators}
        delegators = tuple(delegator for delegator in delegators if delegator.node_id in listed)
    connected = presence.connected_nodes(rpc.chain)
    return {
        "validators": [_pending(validator, connected) for validator in validators],
        "delegators": [rpc.records.pending_delegator(delegator) for delegator in delegators],
    }


def _node(piece: Piece) -> NodeID:
    return piece.validator.node_id


def _pending(validator: ValidatorRecord, connected: Collection[NodeID]) -> Json:
    return records.pending_validator(validator, connected=validator.node_id in connected)


MAX_ADDRESSES: Final = 256


def get_staking_asset_id(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.getStakingAssetID: the asset that a subnet's validators stake."""
    _check_staked(subnet_id)
    return {"assetID": str(rpc.chain.network().asset_id)}


def get_min_stake(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.getMinStake: the minimum stake of validators and of delegators."""
    _check_staked(subnet_id)
    config = rpc.chain.config
    return {
        "minValidatorStake": str(config.min_validator_stake),
        "minDelegatorStake": str(config.min_delegator_stake),
    }


def get_total_stake(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.getTotalStake: the total weight of a subnet's validators, delegators included."""
    members = stakers.current_members(rpc.chain, subnet_id)
    weight = str(sum(member.weight for member in members.values()))
    return {"stake": weight, "weight": weight}


def get_current_supply(rpc: PlatformRpc, subnet_id: ID) -> Json:
    """platform.getCurrentSupply: the supply of a subnet's asset, potential rewards included."""
    supply = accepted.supply(rpc.chain, subnet_id)
    if supply is None:
        raise refused(f"fetching current supply failed: {NOT_FOUND}")
    return {"supply": str(supply), "height": str(rpc.chain.tip().height)}


def get_stake(
    rpc: PlatformRpc,
    given: Sequence[str],
    validators_only: bool,  # noqa: FBT001
    encoding: TextEncoding,
) -> Json:
    """platform.getStake: the stake of addresses on all subnets, current and pending.

    Unspecified: an output of several owners counts in full, as everywhere in the reference. Outputs are in the order
    of their stakers, current ones before pending ones, as in the reference.
    """
    if len(given) > MAX_ADDRESSES:
        raise refused(
            f"{len(given)} addresses provided but this method can take at most {MAX_ADDRESSES}"
        )
    staked = outputs.stake_of(
        rpc.chain, params.read_all(rpc.chain, given), validators_only=validators_only
    )
    sums: defaultdict[ID, int] = defaultdict(int)
    for output in staked:
        sums[output.asset_id] = min(MAX, sums[output.asset_id] + output.amount)
    return {
        "staked": str(sums.get(rpc.chain.network().asset_id, 0)),
        "stakeds": rpc.amounts(sums),
        "stakedOutputs": encoded((output.raw for output in staked), encoding),
        "encoding": encoding.value,
    }


def get_max_stake_amount(
    rpc: PlatformRpc, subnet_id: ID, node_id: NodeID, start: int, end: int
) -> Json:
    """platform.getMaxStakeAmount: the greatest total stake of a validator during a period.

    Unspecified: for a node that is not a validator during the period it is 0.
    """
    if start > end:
        raise refused("start time must be before end time")
    if start < rpc.chain.tip().timestamp:
        raise refused("start time in the past")
    state = rpc.chain.state()
    validator = state.stakers.validator(subnet_id, node_id)
    if validator is None or start > validator.end or end < validator.start:
        return {"amount": "0"}
    return {"amount": str(greatest_weight(state, validator, start=start, end=end))}


def get_reward_utxos(rpc: PlatformRpc, tx_id: ID, encoding: TextEncoding) -> Json:
    """platform.getRewardUTXOs: the reward outputs of the staker that a transaction added."""
    rewards = outputs.reward_utxos(rpc.chain, tx_id)
    return {
        "numFetched": str(len(rewards)),
        "utxos": encoded(rewards, encoding),
        "encoding": encoding.value,
    }


def _check_staked(subnet_id: ID) -> None:
    """Reject subnets without staking, which are all except the Primary Network."""
    if subnet_id != PRIMARY_NETWORK_ID:
        raise refused(f"failed fetching subnet transformation for {subnet_id}: {NOT_FOUND}")

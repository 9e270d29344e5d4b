"""Current and pending validators. Their records are in `records`, sets at heights in `heights`."""

from collections.abc import Collection, Sequence

from msgspec import Raw

from platform_app.api import presence, records
from platform_app.api.records import Piece
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.memory.stakers import ValidatorRecord
from platform_app.selectors import stakers
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID


def get_current_validators(rpc: PlatformRpc, subnet_id: ID, node_ids: Sequence[NodeID]) -> Raw:
    """platform.getCurrentValidators: the current validators of a subnet, all or those of given nodes.

    Unspecified: delegators are listed if exactly one node is given. Validators are in staker order, and
    unknown nodes are left out. A node's uptime on the Primary Network is shown on other subnets, too. Uptime is
    the specification's fraction, and with the reference's parameters its percentage.
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
        rpc.records.record(item, presences.of(_node(item)), delegators, in_percent=in_percent)
        for item in chosen
    )
    return Raw(b'{"validators":[%b]}' % b",".join(shown))


def get_pending_validators(rpc: PlatformRpc, subnet_id: ID, node_ids: Sequence[NodeID]) -> Json:
    """platform.getPendingValidators: the pending validators and delegators of a subnet.

    Unspecified: if nodes are given, delegators are listed only for those of them that are pending validators,
    as in the reference.
    """
    pending = stakers.pending_stakers(rpc.chain, subnet_id)
    validators, delegators = pending.validators, pending.delegators
    if node_ids:
        wanted = set(node_ids)
        validators = tuple(other for other in validators if other.node_id in wanted)
        found = {validator.node_id for validator in validators}
        delegators = tuple(delegator for delegator in delegators if delegator.node_id in found)
    connected = presence.connected_nodes(rpc.chain)
    return {
        "validators": [_pending(item, connected) for item in validators],
        "delegators": [rpc.records.pending_delegator(entry) for entry in delegators],
    }


def _node(piece: Piece) -> NodeID:
    return piece.validator.node_id


def _pending(validator: ValidatorRecord, connected: Collection[NodeID]) -> Json:
    return records.pending_validator(validator, connected=validator.node_id in connected)

"""A chain that a subnet validates: its directory of validators, and the nodes from which it bootstraps."""

from collections.abc import Mapping

from typing_extensions import override

from network_app.ports import Directory, PeerInfo, ValidatorInfo
from network_app.sync.witnesses import Beacons
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, NodeID


class SubnetDirectory(Directory):
    """A directory in which the validators of a subnet are in the place of the Primary Network's.

    Args:
        directory: The validators of all subnets.
        subnet_id: The subnet.
    """

    def __init__(self, directory: Directory, subnet_id: ID) -> None:
        self._directory = directory
        self._subnet_id = subnet_id

    @override
    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        is_default = subnet_id == PRIMARY_NETWORK_ID
        return self._directory.validators(self._subnet_id if is_default else subnet_id)

    @override
    def uptime_of(self, node_id: NodeID) -> int:
        return self._directory.uptime_of(node_id)


def beacons_of_subnet(
    bootstrappers: Beacons,
    subnet_id: ID,
    *,
    validators: Mapping[NodeID, ValidatorInfo],
    connected: Mapping[NodeID, PeerInfo],
    own: NodeID,
    producer: NodeID | None,
) -> Beacons:
    """Return the nodes from which a chain of a subnet bootstraps.

    They are the producer of all blocks, or the subnet's validators, as in the reference. If there is no other node
    among these, they are the bootstrappers that track the subnet according to their handshake.

    Unspecified: the inactive validators of an L1 do not count. Its set has them under the empty node ID (etna.md 8), to
    which no node can connect, so they would count as a bootstrapper that is never connected.

    Args:
        bootstrappers: Those of the Primary Network; if there are none, no chain bootstraps.
        subnet_id: The subnet.
        validators: Its current validators.
        connected: The connected peers.
        own: This node.
        producer: The block producer; None if the validators vote.
    """
    if not bootstrappers.configured:
        return bootstrappers
    wanted = frozenset(validators if producer is None else [producer]) - {own, EMPTY_NODE_ID}
    if wanted:
        return Beacons(wanted.intersection(connected), len(wanted))
    if own in validators and producer is None:
        return Beacons(frozenset(), 0)
    tracking = frozenset(
        node_id
        for node_id in bootstrappers.connected
        if node_id in connected and subnet_id in connected[node_id].tracked_subnets
    )
    return Beacons(tracking, len(tracking))

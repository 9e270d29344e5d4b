"""Methods about connected peers and the uptime they report (specification 2; pchain.md 8.5)."""

from collections.abc import Sequence

from info_app import selectors
from info_app.go_texts import moment_text
from info_app.selectors import PeerRecord
from platform_app.api.errors import refused
from platform_app.api.wire import Json, four_digits
from primitives.ids import PRIMARY_NETWORK_ID, NodeID


def peers(node_ids: Sequence[NodeID]) -> Json:
    """info.peers: the connected peers, all of them or those among the given nodes."""
    connected = selectors.peers(node_ids)
    return {"numPeers": str(len(connected)), "peers": [_to_json(peer) for peer in connected]}


def uptime() -> Json:
    """info.uptime: this node's uptime as its peers report it, weighted by their stake, in percent."""
    uptime = selectors.uptime()
    if uptime is None:
        raise refused("couldn't get node uptime: node is not a validator")
    return {
        "rewardingStakePercentage": four_digits(uptime.rewarding_stake),
        "weightedAveragePercentage": four_digits(uptime.weighted_average),
    }


def _to_json(peer: PeerRecord) -> Json:
    """Return a peer as JSON; its upgrade time is a plain number, as in the reference."""
    primary = str(PRIMARY_NETWORK_ID)
    others = [subnet_id for subnet_id in peer.tracked_subnets if subnet_id != primary]
    return {
        "ip": peer.ip,
        "publicIP": peer.public_ip,
        "nodeID": str(peer.node_id),
        "version": peer.version,
        "upgradeTime": peer.upgrade_time,
        "lastSent": moment_text(peer.last_sent),
        "lastReceived": moment_text(peer.last_received),
        "observedUptime": str(peer.observed_uptime),
        # Every node tracks the Primary Network, but handshakes do not list it.
        "trackedSubnets": [primary, *others],
        "supportedACPs": list(peer.supported_acps),
        "objectedACPs": list(peer.objected_acps),
        "benched": list(peer.benched),
    }

"""Methods about upgrades: the activated ones, and the validators' opinions on proposed ones."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from info_app import selectors
from info_app import upgrades as rules
from info_app.selectors import PeerRecord
from network_app.apps import node_network
from platform_app.api.wire import Json
from primitives.ids import NodeID


def upgrades() -> Json:
    """info.upgrades: the activation time of each upgrade."""
    return rules.upgrades(node_network().upgrades.epoch_duration)


def acps() -> Json:
    """info.acps: how much stake of connected peers supports and opposes each proposal they name.

    Unspecified: this node has no opinion of its own, so its stake abstains.
    """
    return {"acps": tally(selectors.peers(), selectors.weights())}


def tally(peers: Iterable[PeerRecord], weights: Mapping[NodeID, int]) -> dict[str, Json]:
    """Return the opinions of validating peers by the number of the proposal."""
    supporters: dict[int, list[NodeID]] = defaultdict(list)
    objectors: dict[int, list[NodeID]] = defaultdict(list)
    for peer in peers:
        if peer.node_id not in weights:
            continue
        for number in peer.supported_acps:
            supporters[number].append(peer.node_id)
        for number in peer.objected_acps:
            objectors[number].append(peer.node_id)
    total = sum(weights.values())
    votes = {}
    for number in sorted({*supporters, *objectors}):
        support = sum(weights[supporter] for supporter in supporters[number])
        objection = sum(weights[objector] for objector in objectors[number])
        votes[str(number)] = {
            "supportWeight": str(support),
            "supporters": [str(supporter) for supporter in supporters[number]],
            "objectWeight": str(objection),
            "objectors": [str(objector) for objector in objectors[number]],
            "abstainWeight": str(max(0, total - support - objection)),
        }
    return votes

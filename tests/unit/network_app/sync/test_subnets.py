"""From whom a chain of a subnet bootstraps, and whom the node asks about it."""

from typing import Any

import pytest

from network_app.ports import ValidatorInfo
from network_app.sync.subnets import SubnetDirectory, beacons_of_subnet
from network_app.sync.witnesses import Beacons
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, NodeID

SUBNET, OTHER = ID(b"\x01" * 32), ID(b"\x02" * 32)
OWN, FIRST, SECOND, THIRD = (NodeID(bytes([number]) * 20) for number in range(1, 5))
BOOTSTRAPPERS = Beacons(frozenset({FIRST, SECOND}), 2)


class KnownPeer:
    """What the function reads of a `PeerInfo`."""

    def __init__(self, *tracked: ID) -> None:
        self.tracked_subnets = tracked


def beacons(
    *validators: NodeID,
    producer: NodeID | None = None,
    bootstrappers: Beacons = BOOTSTRAPPERS,
    **changes: Any,
) -> Beacons:
    connected: Any = {
        FIRST: KnownPeer(),
        SECOND: KnownPeer(SUBNET),
        THIRD: KnownPeer(SUBNET),
    } | changes
    return beacons_of_subnet(
        bootstrappers,
        SUBNET,
        validators={one: ValidatorInfo(1, None) for one in validators},
        connected=connected,
        own=OWN,
        producer=producer,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (beacons(FIRST, THIRD, NodeID(b"\x09" * 20)), Beacons(frozenset({FIRST, THIRD}), 3)),
        (beacons(FIRST, EMPTY_NODE_ID), Beacons(frozenset({FIRST}), 1)),
        (beacons(EMPTY_NODE_ID), Beacons(frozenset({SECOND}), 1)),
        (beacons(OWN), Beacons(frozenset(), 0)),
        (beacons(OWN, EMPTY_NODE_ID), Beacons(frozenset(), 0)),
        (beacons(), Beacons(frozenset({SECOND}), 1)),
        (beacons(FIRST, producer=THIRD), Beacons(frozenset({THIRD}), 1)),
        (beacons(OWN, producer=OWN), Beacons(frozenset({SECOND}), 1)),
        (beacons(FIRST, bootstrappers=Beacons(frozenset(), 0)), Beacons(frozenset(), 0)),
    ],
    ids=[
        "the other validators, connected or not",
        "the active validators of an L1",
        "bootstrappers that track the subnet, if all validators are inactive",
        "nobody, if the node alone validates the subnet",
        "nobody, if all other validators are inactive",
        "bootstrappers that track the subnet, if nobody validates it",
        "the producer of all blocks",
        "bootstrappers that track the subnet, for the producer itself",
        "nobody in a node without bootstrappers",
    ],
)
def test_beacons_of_a_subnets_chain(found: Beacons, expected: Beacons) -> None:
    assert found == expected


def test_a_subnets_validators_are_in_the_place_of_the_primary_networks() -> None:
    class Directory:
        def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Any:
            return {subnet_id: None}

        def uptime_of(self, node_id: NodeID) -> int:
            del node_id
            return 99

    directory = SubnetDirectory(Directory(), SUBNET)
    assert set(directory.validators()) == {SUBNET}
    assert set(directory.validators(OTHER)) == {OTHER}
    assert directory.uptime_of(OWN) == 99
